// A box: its namespaces, its file system, and its first process, which forks each run.
//
// The helper makes detached, read-only copies of mounts of the host. A process born in new namespaces (user, pid,
// mount, ipc, uts, net) hangs them into an empty tmpfs, makes that its root and lets go of the host's. It is process 1
// of the box: whatever loses its parent falls to it, and when it dies, or the helper does, the kernel kills the rest.
//
// With the right to do so (root) it has one id of the host and the programs another, and neither is root. Without, both
// have the user's own, and it is protected by being process 1, by not being dumpable, and by the filter.
#include "reeve-box.h"

#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/mount.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

// <sys/mount.h>, which declares these, cannot be included together with <linux/mount.h>.
extern int mount(const char *source, const char *target, const char *type, unsigned long flags, const void *options);
extern int umount2(const char *target, int flags);
enum { LAZILY = 2 /* MNT_DETACH */, OPEN_FILES_MAX = 1024, LOCKED_BYTES_MAX = 65536, CPU_BACKSTOP_S = 2 };

static bool privileged;
static struct bind {
  const char *target;
  int fd;
  bool is_folder;
} binds[BINDS_MAX];
static int bind_count;

bool box_privileged(void) { return privileged; }

// ---- the helper's side

static int put_file(const char *path, const char *text) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0 || write(fd, text, strlen(text)) < 0) failed("write(\"%s\")", path);
  if (fd >= 0) close(fd);
  return trouble.err == 0 ? 0 : -1;
}

static int map_ids(int pid, int inside, int uid, int gid) {
  char path[64], map[128];
  snprintf(path, sizeof path, "/proc/%d/setgroups", pid);
  if (!privileged && put_file(path, "deny") != 0) return -1;
  for (int group = 0; group < 2; group++) {
    snprintf(path, sizeof path, "/proc/%d/%s_map", pid, group ? "gid" : "uid");
    if (privileged) snprintf(map, sizeof map, "0 %d 1\n%d %d 1\n", BOX_ROOT_ID, BOX_USER_ID, BOX_USER_ID);
    else snprintf(map, sizeof map, "%d %d 1\n", inside, group ? gid : uid);
    if (put_file(path, map) != 0) return -1;
  }
  return 0;
}

// A mount namespace of its own, and the right to copy mounts in it: as root, or as the owner of a user namespace.
int box_start(void) {
  int uid = (int)geteuid(), gid = (int)getegid();
  privileged = uid == 0 && unshare(CLONE_NEWNS) == 0;
  if (!privileged && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return failed("unshare(CLONE_NEWUSER | CLONE_NEWNS)");
  if (!privileged && map_ids(getpid(), uid, uid, gid) != 0) return -1;
  return mount("none", "/", NULL, MS_SLAVE | MS_REC, NULL) == 0 ? 0 : failed("mount(\"/\", MS_SLAVE)");
}

static int copy_mount(const char *path, uint64_t attributes) {
  struct mount_attr attr = {.attr_set = attributes | MOUNT_ATTR_NOSUID, .propagation = MS_PRIVATE};
  int fd = (int)syscall(SYS_open_tree, AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
  if (fd < 0) return failed("open_tree(\"%s\")", path);
  if (syscall(SYS_mount_setattr, fd, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof attr) == 0) return fd;
  failed("mount_setattr(\"%s\")", path);
  return close(fd), -1;
}

// A program can open its input again through /proc/self/fd, and may own the file: only a mount that is read-only keeps
// it as it is. (And one of that file alone does not tell its name.)
int open_input(const char *path) {
  char link[64];
  int copy = copy_mount(path, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV);
  if (copy < 0) return -1;
  snprintf(link, sizeof link, "/proc/self/fd/%d", copy);
  int fd = open(link, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) failed("open(\"%s\")", path);
  close(copy);
  return fd;
}

static int add_bind(const char *source, const char *target, uint64_t attributes) {
  struct stat stat;
  if (bind_count == BINDS_MAX) return errno = E2BIG, failed("show more than %d paths", BINDS_MAX);
  int fd = copy_mount(source, attributes);
  if (fd < 0) return -1;
  binds[bind_count++] = (struct bind){target, fd, fstat(fd, &stat) == 0 && S_ISDIR(stat.st_mode)};
  return 0;
}

static int add_binds(const struct json *command) {
  const uint64_t read_only = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV;
  const char *work = json_text(command, "work");
  int count;
  char **paths = json_list(command, "read_only", &count);
  for (int i = 0; i + 1 < count; i += 2)
    if (add_bind(paths[i], paths[i + 1], read_only) != 0) return -1;
  for (char **device = json_list(command, "devices", &count); *device != NULL; device++)
    if (add_bind(*device, *device, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC) != 0) return -1;
  if (work == NULL) return errno = EINVAL, failed("open a box without work");
  if (privileged && chown(work, BOX_USER_ID, BOX_USER_ID) != 0) return failed("chown(\"%s\")", work);
  return add_bind(work, "/work", json_number(command, "writable") ? MOUNT_ATTR_NODEV : read_only);
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

static int send_message(int to, const void *bytes, size_t size, const int *fds, int count) {
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
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  ssize_t length = recvmsg(from, &message, MSG_CMSG_CLOEXEC);
  struct cmsghdr *header = length < 0 ? NULL : CMSG_FIRSTHDR(&message);
  *count = header == NULL ? 0 : (int)((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
  if (*count > 0) memcpy(fds, CMSG_DATA(header), sizeof(int) * (size_t)*count);
  return length;
}

static _Noreturn void first_process(int socket, const struct json *command);

int box_open(struct box *box, const struct json *command) {
  const uint64_t namespaces = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET;
  int ends[2] = {-1, -1}, pidfd = -1, uid = (int)geteuid(), gid = (int)getegid();
  struct box_message ready;
  bind_count = 0;
  if (add_binds(command) == 0 && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) failed("socketpair");
  if (trouble.err == 0 && (box->pid = fork_into(namespaces, cgroup_box_fd(), &pidfd)) == 0) {
    close(ends[0]); // so that the helper's death can be seen
    first_process(ends[1], command);
  }
  if (trouble.err == 0 && box->pid < 0) failed("clone3(new namespaces)");
  box->socket = ends[0];
  for (int i = 0; i < bind_count; i++) close(binds[i].fd);
  close(ends[1]);
  close(pidfd);
  if (trouble.err == 0 && map_ids(box->pid, BOX_USER_ID, uid, gid) == 0 &&
      send_message(box->socket, "", 1, NULL, 0) == 0) {
    if (box_receive(box, &ready, &pidfd)) trouble = ready.trouble;
    else failed("start the first process of a box");
  }
  if (trouble.err == 0) return 0;
  box_close(box);
  return -1;
}

int box_run(struct box *box, const char *command, const int *fds, int fd_count) {
  return send_message(box->socket, command, strlen(command) + 1, fds, fd_count);
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
  box->pid = box->socket = -1;
}

// ---- inside: building the root

// A place for a mount or a link, relative to the new root, with its parents.
static int make_place(const char *absolute, char *path, bool is_folder) {
  snprintf(path, PATH_MAX, "%s", absolute + 1);
  for (char *slash = strchr(path, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
    *slash = 0;
    if (mkdir(path, 0755) != 0 && errno != EEXIST) return failed("mkdir(\"/%s\") in the box", path);
    *slash = '/';
  }
  if (is_folder ? mkdir(path, 0755) == 0 || errno == EEXIST : mknod(path, S_IFREG | 0644, 0) == 0) return 0;
  return failed("create %s in the box", absolute);
}

static int build_root(const struct json *command) {
  struct mount_attr read_only = {.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV};
  char path[PATH_MAX];
  int count;
  if (mount("none", "/", NULL, MS_PRIVATE | MS_REC, NULL) != 0) return failed("mount(\"/\", MS_PRIVATE)");
  if (mount("tmpfs", "/tmp", "tmpfs", 0, "size=1m,nr_inodes=4k,mode=755") != 0) return failed("mount(tmpfs)");
  if (chdir("/tmp") != 0) return failed("chdir(\"/tmp\")");
  for (struct bind *bind = binds; bind < binds + bind_count; bind++) {
    if (make_place(bind->target, path, bind->is_folder) != 0) return -1;
    if (syscall(SYS_move_mount, bind->fd, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) != 0)
      return failed("move_mount(\"%s\")", bind->target);
  }
  char **links = json_list(command, "links", &count);
  for (int i = 0; i + 1 < count; i += 2) {
    if (make_place(links[i + 1], path, false) != 0) return -1;
    if (unlink(path) != 0 || symlink(links[i], path) != 0) return failed("symlink(\"%s\")", links[i + 1]);
  }
  if (make_place("/proc", path, true) != 0 || make_place("/tmp", path, true) != 0) return -1;
  if (mount("proc", "proc", "proc", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, "subset=pid,hidepid=invisible") != 0)
    return failed("mount(proc)");
  if (syscall(SYS_pivot_root, ".", ".") != 0) return failed("pivot_root");
  if (umount2(".", LAZILY) != 0 || chdir("/") != 0) return failed("umount the host's root");
  if (syscall(SYS_mount_setattr, AT_FDCWD, "/", 0, &read_only, sizeof read_only) != 0)
    return failed("mount_setattr(\"/\")");
  return sethostname("box", 3) == 0 ? 0 : failed("sethostname");
}

// A new /tmp for each run. Its size is the memory limit, to which what is in it is charged.
static void mount_tmp(int64_t size) {
  char options[96];
  snprintf(options, sizeof options, "mode=1777,nr_inodes=100k,size=%lld", (long long)size);
  if (mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, options) != 0) failed("mount(\"/tmp\")");
}

// ---- inside: a run

static void limit(int resource, int64_t value) { // never above what the helper has: that would be refused
  struct rlimit now;
  getrlimit(resource, &now);
  if ((rlim_t)value < now.rlim_max) now.rlim_max = (rlim_t)value;
  now.rlim_cur = now.rlim_max;
  if (setrlimit(resource, &now) != 0) failed("setrlimit(%d)", resource);
}

static void set_limits(const struct json *command) {
  int64_t file = json_number(command, "file_bytes"), output = json_number(command, "output_bytes");
  limit(RLIMIT_CPU, json_number(command, "cpu_ms") / 1000 + CPU_BACKSTOP_S);
  limit(RLIMIT_FSIZE, file > output ? file : output + 1);
  limit(RLIMIT_STACK, json_number(command, "stack_bytes"));
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_NOFILE, OPEN_FILES_MAX);
  limit(RLIMIT_MEMLOCK, LOCKED_BYTES_MAX);
  limit(RLIMIT_MSGQUEUE, 0);
  if (cgroup_version() != CGROUP_NONE) return;
  limit(RLIMIT_AS, json_number(command, "memory_bytes"));
  limit(RLIMIT_NPROC, json_number(command, "processes"));
}

static void become_nobody(void) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct none[2] = {{0}, {0}};
  const unsigned id = BOX_USER_ID;
  if (privileged && (setresgid(id, id, id) != 0 || setresuid(id, id, id) != 0)) failed("setresuid");
  if (syscall(SYS_capset, &header, none) != 0) failed("capset");
}

// What the forked process says before it becomes the program: afterwards it has no way to.
static struct trouble *before_program;

static _Noreturn void become_program(const struct json *command, const int *fds, int fd_count) {
  int count;
  char **argv = json_list(command, "argv", &count);
  environ = json_list(command, "env", &count);
  setsid();
  for (int i = 3; cgroup_version() == CGROUP_V1 && i < fd_count; i++)
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

static void add_usage(struct box_message *ended, const struct rusage *usage) {
  ended->cpu_ns += (usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000000LL;
  ended->cpu_ns += (usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) * 1000LL;
  if (usage->ru_maxrss * 1024 > ended->rss_bytes) ended->rss_bytes = usage->ru_maxrss * 1024;
}

// Until the program ends; then everybody else is killed at once and waited for.
static void wait_for_all(int program, struct box_message *ended) {
  struct rusage usage;
  int status;
  for (int pid = 0; pid != program;) {
    pid = wait4(-1, &status, 0, &usage);
    if (pid > 0) add_usage(ended, &usage);
  }
  ended->status = status;
  ended->wall_ns += now_ns();
  kill(-1, SIGKILL);
  while (wait4(-1, &status, 0, &usage) > 0) add_usage(ended, &usage);
}

static void run(int socket, char *line, const int *fds, int fd_count, int last_pid) {
  static struct json command;
  struct box_message reply = {.what = BOX_STARTED};
  int pidfd = -1, program = -1;
  before_program->err = 0;
  if (!json_parse(line, &command)) errno = EBADMSG, failed("parse the command in the box");
  mount_tmp(json_number(&command, "memory_bytes"));
  if (last_pid >= 0 && pwrite(last_pid, "1", 1, 0) != 1) failed("write(ns_last_pid)"); // the same pids in every run
  reply.wall_ns = -now_ns();
  if (trouble.err == 0) program = fork_into(0, cgroup_version() == CGROUP_V2 ? fds[3] : -1, &pidfd);
  if (program == 0) become_program(&command, fds, fd_count);
  for (int i = 0; i < fd_count; i++) close(fds[i]);
  if (program < 0) failed("clone3(run)");
  else {
    send_message(socket, &reply, sizeof reply, &pidfd, 1);
    close(pidfd);
    wait_for_all(program, &reply);
    if (trouble.err == 0) trouble = *before_program;
  }
  if (umount2("/tmp", LAZILY) != 0) failed("umount(\"/tmp\")");
  reply.what = BOX_ENDED;
  reply.trouble = trouble;
  send_message(socket, &reply, sizeof reply, NULL, 0);
  trouble.err = 0;
}

// What the helper had open is none of the box's business.
static void close_others(int one, int other) {
  int low = other >= 3 && other < one ? other : one, high = other > one ? other : one;
  if (low > 3) syscall(SYS_close_range, 3, low - 1, 0);
  if (high > low + 1) syscall(SYS_close_range, low + 1, high - 1, 0);
  syscall(SYS_close_range, high + 1, ~0U, 0);
}

static _Noreturn void first_process(int socket, const struct json *command) {
  static char line[LINE_BYTES_MAX];
  struct box_message ready = {.what = BOX_READY};
  int fds[PASSED_FDS_MAX], count, null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int i = 0; i < 3; i++) dup2(null, i);
  if (receive_message(socket, line, 1, fds, &count) != 1) _exit(1); // until the ids are mapped
  if (privileged && (setgroups(0, NULL) != 0 || setresgid(0, 0, 0) != 0 || setresuid(0, 0, 0) != 0))
    failed("setresuid(0)");
  prctl(PR_SET_PDEATHSIG, SIGKILL); // after the change of ids, which forgets it
  prctl(PR_SET_DUMPABLE, 0);
  for (int capability = 0; prctl(PR_CAPBSET_DROP, capability) == 0; capability++) continue;
  signal(SIGPIPE, SIG_DFL);
  signal(SIGUSR1, SIG_DFL);
  umask(022);
  seccomp_prepare();
  int last_pid = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC); // not every kernel has it
  before_program = mmap(NULL, sizeof *before_program, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (before_program == MAP_FAILED) failed("mmap");
  if (trouble.err == 0) build_root(command);
  close_others(socket, last_pid);
  ready.trouble = trouble;
  send_message(socket, &ready, sizeof ready, NULL, 0);
  while (trouble.err == 0 && receive_message(socket, line, sizeof line, fds, &count) > 0)
    run(socket, line, fds, count, last_pid);
  _exit(0); // and with it goes whatever is left inside
}
