// A box: its namespaces, its file system, and its first process, which forks each run.
//
// The helper makes detached, read-only copies of mounts of the host; the first is a folder that the driver has prepared
// as a root, with a place for each of the others. A process born in new namespaces (user, pid, mount, ipc, uts) and in an
// empty network (network.c) makes it its root, hangs in the rest, and lets go of the host's. It is process 1 of the box:
// whatever loses its parent falls to it, and when it dies, or the helper does, the kernel kills the rest.
//
// With the right to do so (root) it has one id of the host and the programs another, and neither is root. Each helper
// uses a pair of its own, because the kernel limits pipes, signals and more per id: a program must not use up the share
// of another box. Without the right, both have the user's own id, which all boxes share; the first process is protected
// by being process 1, by not being dumpable, and by the filter.
#include "reeve-box.h"

#include <grp.h>
#include <linux/capability.h>
#include <linux/mount.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>

// <sys/mount.h>, which declares these, cannot be included together with <linux/mount.h>.
extern int mount(const char *source, const char *target, const char *type, unsigned long flags, const void *options);
extern int umount2(const char *target, int flags);
enum { LAZILY = 2 /* MNT_DETACH */, OPEN_FILES_MAX = 1024, CPU_BACKSTOP_S = 2, SIGNALS_PENDING_MAX = 256 };
// The kernel runs a piped core handler even at 0; at 1 it does not, and 1 byte is too little for a file.
enum { NO_CORE = 1 };
// A pair of ids per helper, by its pid; or one pair for all in a container that has no ids so high.
enum { OWN_IDS = 1000000000, SHARED_IDS = 65533 };
enum { START_STACK_BYTES = 64 * 1024 };
enum { SOCKET = 0, LAST_PID = 1 }; // descriptors of the first process, which has no other use for them

bool privileged;
int box_root_id;
static int box_user_id; // on the host
static struct { const char *target; int fd; } binds[BINDS_MAX];
static int bind_count, uid, gid; // of the helper
static bool keeps_network;

static int put_file(const char *path, const char *text) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0 || write(fd, text, strlen(text)) < 0) failed("write(\"%s\")", path);
  if (fd >= 0) close(fd);
  return trouble.err == 0 ? 0 : -1;
}

static int map_ids(int pid, int inside) {
  char path[64], map[128];
  snprintf(path, sizeof path, "/proc/%d/setgroups", pid);
  if (!privileged && put_file(path, "deny") != 0) return -1;
  for (int group = 0; group < 2; group++) {
    snprintf(path, sizeof path, "/proc/%d/%s_map", pid, group ? "gid" : "uid");
    if (privileged) snprintf(map, sizeof map, "0 %d 1\n%d %d 1\n", box_root_id, BOX_USER_ID, box_user_id);
    else snprintf(map, sizeof map, "%d %d 1\n", inside, group ? gid : uid);
    if (put_file(path, map) != 0) return -1;
  }
  return 0;
}

static bool has_ids(const char *map, long first) {
  long inside, outside, count;
  bool found = false;
  FILE *file = fopen(map, "re");
  while (file != NULL && !found && fscanf(file, "%ld %ld %ld", &inside, &outside, &count) == 3)
    found = first >= inside && first + 1 < inside + count;
  if (file != NULL) fclose(file);
  return found;
}

static void choose_ids(void) {
  int own = OWN_IDS + 2 * (int)getpid();
  bool mapped = has_ids("/proc/self/uid_map", own) && has_ids("/proc/self/gid_map", own);
  box_root_id = mapped ? own : SHARED_IDS;
  box_user_id = box_root_id + 1;
}

// A mount namespace of its own, and the right to copy mounts in it: as root, or as the owner of a user namespace.
int box_start(void) {
  uid = (int)geteuid(), gid = (int)getegid();
  privileged = uid == 0 && unshare(CLONE_NEWNS) == 0;
  choose_ids();
  keeps_network = network_start();
  if (!privileged && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return failed("unshare(CLONE_NEWUSER | CLONE_NEWNS)");
  if (!privileged && map_ids(getpid(), uid) != 0) return -1;
  return mount("none", "/", NULL, MS_SLAVE | MS_REC, NULL) == 0 ? 0 : failed("mount(\"/\", MS_SLAVE)");
}

// Triples: what it is, the path on the host, the path in the box.
static int add_binds(struct box *box, const struct json *command) {
  bind_count = 0;
  for (char **word = json_list(command, "mounts"); word[0] != NULL && word[1] != NULL; word += 3) {
    bool is_work = strcmp(word[2], "/work") == 0, is_device = strcmp(word[0], "device") == 0;
    uint64_t attributes = is_device ? MOUNT_ATTR_NOEXEC : MOUNT_ATTR_NODEV;
    if (strcmp(word[0], "writable") != 0) attributes |= MOUNT_ATTR_RDONLY;
    if (bind_count == BINDS_MAX) return errno = E2BIG, failed("show more than %d paths", BINDS_MAX);
    if (is_work && privileged && chown(word[1], box_user_id, box_user_id) != 0) return failed("chown(\"%s\")", word[1]);
    if (is_work && strcmp(word[0], "writable") == 0) box->work = open(word[1], O_DIRECTORY | O_CLOEXEC);
    if ((binds[bind_count].fd = copy_mount(word[1], attributes)) < 0) return -1;
    binds[bind_count++].target = word[2];
  }
  return bind_count > 0 ? 0 : (errno = EINVAL, failed("open a box without mounts"));
}

static int fork_into(uint64_t flags, int cgroup, int *pidfd) {
  struct clone_args arguments = {.flags = flags | CLONE_PIDFD, .pidfd = (uintptr_t)pidfd, .exit_signal = SIGCHLD};
  if (cgroup >= 0) arguments.flags |= CLONE_INTO_CGROUP, arguments.cgroup = (unsigned)cgroup;
  return (int)syscall(SYS_clone3, &arguments, sizeof arguments);
}

union control { // room for file descriptors beside a message
  struct cmsghdr header;
  char bytes[CMSG_SPACE(sizeof(int) * PASSED_FDS_MAX)];
};

int box_send(int to, const void *bytes, size_t size, const int *fds, int count) {
  union control control = {0};
  size_t fd_bytes = sizeof(int) * (size_t)count;
  struct iovec part = {(void *)(uintptr_t)bytes, size};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  if (count > 0) {
    message.msg_control = control.bytes;
    message.msg_controllen = CMSG_SPACE(fd_bytes);
    control.header = (struct cmsghdr){CMSG_LEN(fd_bytes), SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA(&control.header), fds, fd_bytes);
  }
  return sendmsg(to, &message, MSG_NOSIGNAL) < 0 ? failed("sendmsg between helper and box") : 0;
}

static ssize_t receive_message(int from, void *room, size_t size, int *fds, int *count) {
  union control control;
  struct iovec part = {room, size};
  struct msghdr message = {NULL, 0, &part, 1, &control, sizeof control, 0};
  ssize_t length = recvmsg(from, &message, MSG_CMSG_CLOEXEC);
  struct cmsghdr *header = length < 0 ? NULL : CMSG_FIRSTHDR(&message);
  *count = header == NULL ? 0 : (int)((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
  if (*count > 0) memcpy(fds, CMSG_DATA(header), sizeof(int) * (size_t)*count);
  return length;
}

// ---- inside the box, up to its first process

static int build_root(void) {
  if (mount("none", "/", NULL, MS_PRIVATE | MS_REC, NULL) != 0) return failed("mount(\"/\", MS_PRIVATE)");
  for (int i = 0; i < bind_count; i++) {
    const char *place = i == 0 ? "/tmp" : binds[i].target + 1; // the root goes to any folder, the rest into it
    if (syscall(SYS_move_mount, binds[i].fd, "", AT_FDCWD, place, MOVE_MOUNT_F_EMPTY_PATH) != 0)
      return failed("move_mount(\"%s\")", binds[i].target);
    if (i == 0 && fchdir(binds[0].fd) != 0) return failed("fchdir to the box's root");
  }
  if (mount("proc", "proc", "proc", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, "subset=pid,hidepid=invisible") != 0)
    return failed("mount(proc)");
  if (syscall(SYS_pivot_root, ".", ".") != 0) return failed("pivot_root");
  if (umount2(".", LAZILY) != 0 || chdir("/") != 0) return failed("umount the host's root");
  return sethostname("box", 3) == 0 ? 0 : failed("sethostname");
}

static void limit(int resource, int64_t value) { // never above what the helper has: that would be refused
  struct rlimit now;
  getrlimit(resource, &now);
  if ((rlim_t)value < now.rlim_max) now.rlim_max = (rlim_t)value;
  now.rlim_cur = now.rlim_max;
  if (setrlimit(resource, &now) != 0) failed("setrlimit(%d)", resource);
}

static void set_limits(const struct json *command) {
  limit(RLIMIT_CPU, json_number(command, "cpu_ms") / 1000 + CPU_BACKSTOP_S);
  limit(RLIMIT_FSIZE, json_number(command, "file_bytes"));
  limit(RLIMIT_STACK, json_number(command, "stack_bytes"));
  limit(RLIMIT_CORE, NO_CORE);
  limit(RLIMIT_SIGPENDING, SIGNALS_PENDING_MAX);
  limit(RLIMIT_MSGQUEUE, 0);
  limit(RLIMIT_NOFILE, OPEN_FILES_MAX);
  limit(RLIMIT_MEMLOCK, 64 * 1024);
  if (cgroup_version != CGROUP_NONE) return;
  limit(RLIMIT_AS, json_number(command, "memory_bytes"));
  limit(RLIMIT_NPROC, json_number(command, "processes") + 1); // the box's first process has the same user
}

static void become_nobody(void) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct none[2] = {{0}, {0}};
  const int id = BOX_USER_ID;
  if (privileged && (setresgid(id, id, id) != 0 || setresuid(id, id, id) != 0)) failed("setresuid");
  if (syscall(SYS_capset, &header, none) != 0) failed("capset");
}

// What the forked process says before it becomes the program: afterwards it has no way to.
static struct trouble *before_program;

struct start { const struct json *command; const int *fds; int fd_count; };

static int become_program(void *argument) {
  const struct start *start = argument;
  const struct json *command = start->command;
  const int *fds = start->fds, fd_count = start->fd_count;
  char **argv = json_list(command, "argv");
  environ = json_list(command, "env");
  setsid();
  for (int i = 3; cgroup_version == CGROUP_V1 && i < fd_count; i++)
    if (write(fds[i], "0", 1) != 1) failed("write(tasks) in the run's cgroup");
  for (int i = 0; i < 3; i++)
    if (dup2(fds[i], i) < 0) failed("dup2");
  if (syscall(SYS_close_range, 3, ~0U, 0) != 0) failed("close_range");
  set_limits(command);
  become_nobody();
  if (chdir("/work") != 0) failed("chdir(\"/work\")");
  if (trouble.err == 0 && seccomp_install() == 0) {
    execvp(argv[0], argv);
    failed("execve(\"%.200s\")", argv[0]);
  }
  *before_program = trouble;
  _exit(127);
}

// The program's process uses the memory of this one until it executes the program, and this one waits for that: copying the
// memory and throwing the copy away cost a tenth of a run. With v2 it is born in its cgroup, which only a fork can do here.
static int start_program(struct start *start, int *pidfd) {
  static char stack[START_STACK_BYTES] __attribute__((aligned(16)));
  int program;
  if (cgroup_version == CGROUP_V2) {
    program = fork_into(0, start->fds[3], pidfd);
    return program == 0 ? become_program(start) : program;
  }
  program = clone(become_program, stack + sizeof stack, CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, start, pidfd);
  prctl(PR_SET_DUMPABLE, 0); // whoever changes its ids sets it for the memory that it uses
  return program;
}

static void add_usage(struct box_message *ended, const struct rusage *usage) {
  ended->cpu_ns += (usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000000LL;
  ended->cpu_ns += (usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) * 1000LL;
  if (usage->ru_maxrss * 1024 > ended->rss_bytes) ended->rss_bytes = usage->ru_maxrss * 1024;
}

// Until the program ends; then everybody else is killed at once and waited for.
static void wait_for_all(int program, struct box_message *ended) {
  struct rusage usage;
  int status;
  for (int pid = 0; pid != program;)
    if ((pid = wait4(-1, &status, 0, &usage)) > 0) add_usage(ended, &usage);
  ended->status = status;
  ended->wall_ns += now_ns();
  // Orphans become children of this process: where it has none, nobody is left. (`kill` would look at the whole machine.)
  if (waitid(P_ALL, 0, NULL, WEXITED | WNOHANG | WNOWAIT) != 0 && errno == ECHILD) return;
  kill(-1, SIGKILL);
  while (wait4(-1, &status, 0, &usage) > 0) add_usage(ended, &usage);
}

static void run(char *line, const int *fds, int fd_count) {
  static struct json command;
  struct box_message reply = {.what = BOX_STARTED};
  char options[96];
  int pidfd = -1, program = -1;
  before_program->err = 0;
  if (!json_parse(line, &command)) errno = EBADMSG, failed("parse the command in the box");
  // A new /tmp for each run. Its size is the memory limit, to which what is in it is charged.
  snprintf(options, sizeof options, "mode=1777,nr_inodes=100k,size=%s", *json_list(&command, "memory_bytes"));
  if (mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, options) != 0) failed("mount(\"/tmp\")");
  if (pwrite(LAST_PID, "1", 1, 0) != 1) failed("write(ns_last_pid)"); // the same pids in every run
  reply.wall_ns = -now_ns();
  if (trouble.err == 0) program = start_program(&(struct start){&command, fds, fd_count}, &pidfd);
  for (int i = 0; i < fd_count; i++) close(fds[i]);
  if (program < 0) failed("clone(run)");
  else {
    box_send(SOCKET, &reply, sizeof reply, &pidfd, 1);
    close(pidfd);
    wait_for_all(program, &reply);
    if (trouble.err == 0) trouble = *before_program;
  }
  reply.what = BOX_ENDED;
  reply.trouble = trouble;
  box_send(SOCKET, &reply, sizeof reply, NULL, 0);
  trouble.err = 0;
  // The kernel waits for all processors before a mount is gone. The helper has its answer, and the next run comes after this.
  if (umount2("/tmp", LAZILY) != 0) failed("umount(\"/tmp\")");
}

static _Noreturn void first_process(int socket) {
  static char line[LINE_BYTES_MAX];
  struct box_message ready = {.what = BOX_READY};
  int fds[PASSED_FDS_MAX], count;
  if (dup2(socket, SOCKET) < 0 || dup2(open("/dev/null", O_RDWR), STDERR_FILENO) < 0) failed("dup2");
  if (dup2(open("/proc/sys/kernel/ns_last_pid", O_WRONLY), LAST_PID) < 0) dup2(STDERR_FILENO, LAST_PID); // no such file
  if (receive_message(SOCKET, line, 1, fds, &count) != 1) _exit(1); // until the ids are mapped
  if (privileged && (setgroups(0, NULL) != 0 || setresgid(0, 0, 0) != 0 || setresuid(0, 0, 0) != 0))
    failed("setresuid(0)");
  prctl(PR_SET_PDEATHSIG, SIGKILL); // after the change of ids, which forgets it
  prctl(PR_SET_DUMPABLE, 0);
  for (int capability = 0; prctl(PR_CAPBSET_DROP, capability) == 0; capability++) continue;
  signal(SIGPIPE, SIG_DFL);
  before_program = mmap(NULL, sizeof *before_program, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (before_program == MAP_FAILED) failed("mmap");
  if (trouble.err == 0) build_root();
  syscall(SYS_close_range, 3, ~0U, 0); // what the helper had open is none of the box's business
  ready.trouble = trouble;
  box_send(SOCKET, &ready, sizeof ready, NULL, 0);
  while (ready.trouble.err == 0 && receive_message(SOCKET, line, sizeof line, fds, &count) > 0) run(line, fds, count);
  _exit(0); // and with it goes whatever is left inside
}

void box_open(struct box *box, const struct json *command) {
  uint64_t namespaces = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS;
  int ends[2] = {-1, -1}, pidfd = -1;
  if (!keeps_network) namespaces |= CLONE_NEWNET;
  struct box_message ready;
  if (add_binds(box, command) == 0 && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) failed("socketpair");
  if (trouble.err == 0 && keeps_network) network_enter();
  if (trouble.err == 0 && (box->pid = fork_into(namespaces, cgroup_box_fd, &pidfd)) == 0)
    close(ends[0]), first_process(ends[1]); // closed so that the helper's death can be seen
  if (keeps_network) network_leave();
  if (trouble.err == 0 && box->pid < 0) failed("clone3(new namespaces)");
  box->socket = ends[0];
  for (int i = 0; i < bind_count; i++) close(binds[i].fd);
  close(ends[1]);
  close(pidfd);
  if (trouble.err == 0 && map_ids(box->pid, BOX_USER_ID) == 0 && box_send(box->socket, "", 1, NULL, 0) == 0) {
    if (box_receive(box, &ready, &pidfd)) trouble = ready.trouble;
    else failed("start the first process of a box");
  }
  if (trouble.err != 0) box_close(box);
}

bool box_receive(struct box *box, struct box_message *message, int *pidfd) {
  int fds[PASSED_FDS_MAX], count;
  if (receive_message(box->socket, message, sizeof *message, fds, &count) != sizeof *message) return false;
  if (count > 0) *pidfd = fds[0];
  return true;
}

void box_close(struct box *box) { // as often as you like
  if (box->socket >= 0) close(box->socket);
  if (box->pid > 0 && kill(box->pid, SIGKILL) == 0) waitpid(box->pid, NULL, 0);
  if (box->work >= 0) close(box->work);
  box->pid = box->socket = box->work = -1;
}
