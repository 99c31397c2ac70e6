// What a submission might try. Each attack is a function; the test runs one by its name and knows which verdict it must get.
// Where nothing but a refusal is at stake, the program says what was not refused and ends with 1.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int leaks;

static void refused(const char *what, long result) {
  if (result < 0) return;
  printf("%s was not refused\n", what);
  leaks++;
}

static void spin(void) {
  for (volatile unsigned long i = 0;; i++) continue;
}

static void fill(size_t bytes) { memset(mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1, bytes); }

// ---- taking more than its share

static void fork_bomb(void) {
  for (;;) fork();
}

static void *wait_for_ever(void *unused) { return pause(), unused; }

static void threads(void) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 16384);
  int count = 0;
  for (pthread_t thread; count < 100000 && pthread_create(&thread, &attributes, wait_for_ever, NULL) == 0;) count++;
  printf("%d", count);
}

static void daemons(void) { // that ignore every signal, in sessions of their own, with a child each
  for (int i = 0; i < 3; i++)
    if (fork() == 0) {
      setsid();
      for (int signal_ = 1; signal_ < 65; signal_++) signal(signal_, SIG_IGN);
      if (fork() == 0) setsid();
      for (;;) pause();
    }
}

static void memory_by_children(void) {
  for (int i = 0; i < 10; i++)
    if (fork() == 0) {
      fill(20 << 20);
      for (;;) pause();
    }
  while (wait(NULL) > 0) continue;
}

static void memory_by_tmpfs(void) {
  static char block[1 << 20];
  int fd = open("/tmp/big", O_CREAT | O_WRONLY, 0600);
  memset(block, 1, sizeof block);
  for (int i = 0; i < 1000; i++)
    if (write(fd, block, sizeof block) < 0) fd = open("/tmp/big2", O_CREAT | O_WRONLY, 0600);
}

static void memory_by_memfd(void) {
  static char block[1 << 20];
  int fd = memfd_create("big", 0);
  signal(SIGXFSZ, SIG_IGN);
  memset(block, 1, sizeof block);
  for (int i = 0; i < 1000; i++)
    if (write(fd, block, sizeof block) < 0 && errno == EFBIG) fd = memfd_create("big", 0); // the old one stays open
}

static void memory_at_once(void) { fill(300 << 20); }

static void output(int fd) {
  static char block[4096];
  signal(SIGXFSZ, SIG_IGN);
  memset(block, 'x', sizeof block);
  for (;;) write(fd, block, sizeof block);
}
static void output_bomb(void) { output(1); }
static void error_bomb(void) { output(2); }

static void sleeps(void) { sleep(1000); }

static void sleeps_ignoring_signals(void) {
  for (int signal_ = 1; signal_ < 65; signal_++) signal(signal_, SIG_IGN);
  for (;;) pause();
}

static void detached_spin(void) { // the program ends; its grandchild would not
  if (fork() == 0) {
    setsid();
    if (fork() == 0) spin();
  }
}

static void spin_by_grandchild(void) {
  if (fork() == 0) {
    setsid();
    if (fork() == 0) spin();
    _exit(0);
  }
  for (;;) pause();
}

static void spin_by_many(void) { // each of them alone uses little
  for (;;) {
    pid_t child = fork();
    if (child == 0) {
      for (volatile unsigned long i = 0; i < 2000000; i++) continue;
      _exit(0);
    }
    waitpid(child, NULL, 0);
  }
}

static int recurse(int depth) {
  volatile char frame[4096];
  frame[0] = (char)depth;
  return recurse(depth + 1) + frame[0];
}
static void stack_overflow(void) { recurse(0); }

// ---- getting out

static void sockets(void) {
  for (int family = 0; family < 64; family++)
    for (int type = SOCK_STREAM; type <= SOCK_PACKET; type++) {
      char what[64];
      int pair[2];
      snprintf(what, sizeof what, "socket(%d, %d)", family, type);
      refused(what, socket(family, type, 0));
      if (family != AF_UNIX) refused(what, socketpair(family, type, 0, pair));
    }
}

static void send_descriptor(int to, int fd) {
  char bytes[CMSG_SPACE(sizeof fd)] __attribute__((aligned(8))) = {0};
  struct iovec part = {"x", 1};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = bytes, .msg_controllen = sizeof bytes};
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  *header = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
  memcpy(CMSG_DATA(header), &fd, sizeof fd);
  sendmsg(to, &message, 0);
}

static void leave_sockets(void) { // each pair holds itself: nothing but the kernel's collector ends it
  for (int i = 0, pair[2]; i < 200 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0; i++) {
    send_descriptor(pair[0], pair[0]);
    send_descriptor(pair[1], pair[1]);
    close(pair[0]);
    close(pair[1]);
  }
}

static void find_sockets(void) {
  char text[4096] = "";
  int fd = open("/proc/self/net/sockstat", O_RDONLY);
  refused("no count of sockets", fd >= 0 && read(fd, text, sizeof text - 1) > 0 ? -1 : 0);
  refused("a socket of another box", strncmp(text, "sockets: used 0\n", 16) == 0 ? -1 : 0);
  fd = open("/proc/self/net/dev", O_RDONLY);
  memset(text, 0, sizeof text);
  refused("no list of interfaces", fd >= 0 && read(fd, text, sizeof text - 1) > 0 ? -1 : 0);
  char *first = strchr(text, ':');
  refused("an interface beside the loopback", first != NULL && strstr(text, "lo:") != NULL && strchr(first + 1, ':') == NULL ? -1 : 0);
}

static void host_files(char **paths) { // the test names files that exist on the host
  static const char *const known[] = {"/etc/shadow", "/etc/hostname", "/etc/hosts", "/etc/ssh", "/root", "/home", "/var", "/opt", "/srv",
      "/sys", "/boot", "/mnt", "/media", "/run", "/dev/mem", "/dev/kmsg", "/dev/sda", "/dev/vda", "/dev/tty", "/dev/pts", "/dev/fuse",
      "/dev/kvm", "/dev/loop0", "/proc/kcore", "/proc/meminfo", "/proc/cmdline", "/proc/sysrq-trigger", "/proc/sys", "/proc/1/root",
      "/proc/1/environ", "/proc/1/fd", "/proc/1/mem", "/proc/1/maps", "/proc/1/cwd/."};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) refused(known[i], open(known[i], O_RDONLY));
  for (; *paths != NULL; paths++) refused(*paths, open(*paths, O_RDONLY));
  refused("a path below /..", open("/../../../../etc/shadow", O_RDONLY));
  refused("a path below /proc/self/root", open("/proc/self/root/../etc/shadow", O_RDONLY));
  refused("a path below /proc/self/cwd", open("/proc/self/cwd/../etc/shadow", O_RDONLY));
}

static void other_processes(void) {
  int seen = 0;
  DIR *proc = opendir("/proc");
  for (struct dirent *entry; (entry = readdir(proc)) != NULL;) seen += atoi(entry->d_name) > 0 && atoi(entry->d_name) != getpid();
  if (seen > 0) refused("seeing other processes", seen);
  for (int pid = 1; pid < 40000; pid++)
    if (pid != getpid() && kill(pid, SIGKILL) == 0 && pid != 1) refused("killing a process", pid);
  refused("getppid is not process 1", getppid() == 1 || getppid() == 0 ? -1 : 0);
  kill(-1, SIGKILL);
  char byte;
  struct iovec local = {&byte, 1}, remote = {(void *)0x400000, 1};
  refused("process_vm_readv", syscall(SYS_process_vm_readv, 1, &local, 1, &remote, 1, 0));
  refused("process_vm_writev", syscall(SYS_process_vm_writev, 1, &local, 1, &remote, 1, 0));
  refused("ptrace attach", ptrace(PTRACE_ATTACH, 1, 0, 0));
  refused("ptrace seize", ptrace(PTRACE_SEIZE, 1, 0, 0));
  refused("ptrace me", ptrace(PTRACE_TRACEME, 0, 0, 0));
  refused("pidfd_getfd", syscall(438, syscall(SYS_pidfd_open, 1, 0), 0, 0));
  refused("kcmp", syscall(SYS_kcmp, 1, getpid(), 0, 0, 0));
  struct rlimit none = {0, 0};
  refused("prlimit of process 1", prlimit(1, RLIMIT_NOFILE, &none, NULL));
}

static void writing(void) {
  static const char *const places[] = {"/new", "/usr/new", "/usr/bin/new", "/work/new", "/etc/new", "/dev/new", "/proc/new", "/lib/new"};
  static const char *const files[] = {"/etc/passwd", "/usr/bin/env", "/work/attacks", "/proc/self/oom_score_adj", "/proc/self/uid_map",
      "/proc/self/setgroups", "/proc/self/mem", "/proc/1/oom_score_adj"};
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    refused(places[i], open(places[i], O_CREAT | O_WRONLY, 0600));
    refused(places[i], mkdir(places[i], 0700));
    refused(places[i], symlink("/", places[i]));
    refused(places[i], mknod(places[i], S_IFIFO | 0600, 0));
  }
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    refused(files[i], open(files[i], O_WRONLY));
    refused(files[i], open(files[i], O_RDWR));
    refused(files[i], unlink(files[i]));
    refused(files[i], chmod(files[i], 0777));
    refused(files[i], rename(files[i], "/tmp/stolen"));
  }
  refused("remounting by a link", link("/etc/passwd", "/tmp/passwd"));
  refused("a device", mknod("/tmp/device", S_IFBLK | 0600, 0x800));
  refused("a character device", mknod("/tmp/memory", S_IFCHR | 0600, 0x101));
}

static void calls(void) {
  char page[4096] = {0};
  struct rlimit more = {RLIM_INFINITY, RLIM_INFINITY};
  refused("mount", mount("none", "/tmp", "tmpfs", 0, NULL));
  refused("mount again", mount("none", "/", NULL, MS_REMOUNT | MS_BIND, NULL));
  refused("umount", umount2("/tmp", MNT_DETACH));
  refused("pivot_root", syscall(SYS_pivot_root, "/tmp", "/tmp"));
  refused("chroot", chroot("/tmp"));
  refused("open_tree", syscall(428, -100, "/", 1));
  refused("fsopen", syscall(430, "tmpfs", 0));
  refused("mount_setattr", syscall(442, -100, "/", 0, page, 32));
  for (unsigned flag = 1U << 7; flag != 0; flag <<= 1)
    if (flag & (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | 0x80)) {
      refused("unshare", unshare((int)flag));
      if (flag == 0x80) continue;
      long child = syscall(SYS_clone, flag | SIGCHLD, NULL, NULL, NULL, NULL);
      if (child == 0) _exit(0);
      refused("clone into a namespace", child);
    }
  uint64_t clone3[11] = {CLONE_NEWUSER, 0, 0, 0, SIGCHLD};
  long child = syscall(435, clone3, sizeof clone3);
  if (child == 0) _exit(0);
  refused("clone3", child);
  refused("setns", setns(open("/proc/self/ns/user", O_RDONLY), 0));
  refused("bpf", syscall(SYS_bpf, BPF_MAP_CREATE, page, sizeof page));
  refused("io_uring", syscall(425, 8, page));
  refused("io_setup", syscall(SYS_io_setup, 8, page));
  refused("keyctl", syscall(SYS_keyctl, 0, -3, 1));
  refused("add_key", syscall(SYS_add_key, "user", "name", "data", 4, -3));
  refused("request_key", syscall(SYS_request_key, "user", "name", "data", -3));
  refused("perf_event_open", syscall(SYS_perf_event_open, page, 0, -1, -1, 0));
  refused("userfaultfd", syscall(SYS_userfaultfd, 0));
  refused("seccomp listener", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, page));
  refused("open_by_handle_at", syscall(SYS_open_by_handle_at, 0, page, 0));
  refused("name_to_handle_at", syscall(SYS_name_to_handle_at, -100, "/", page, page, 0));
  refused("kexec", syscall(SYS_kexec_load, 0, 0, NULL, 0));
  refused("init_module", syscall(SYS_init_module, page, 1, ""));
  refused("finit_module", syscall(SYS_finit_module, 0, "", 0));
  refused("reboot", syscall(SYS_reboot, 0xfee1dead, 672274793, 0, NULL));
  refused("swapon", syscall(SYS_swapon, "/tmp/swap", 0));
  refused("syslog", syscall(SYS_syslog, 3, page, sizeof page));
  refused("sethostname", sethostname("evil", 4));
  refused("settimeofday", settimeofday(&(struct timeval){0, 0}, NULL));
  refused("personality", personality(ADDR_NO_RANDOMIZE) == -1 ? -1 : 0);
  refused("TIOCSTI", ioctl(0, TIOCSTI, "x"));
  refused("setuid(0)", setuid(0));
  refused("setgid(0)", setgid(0));
  refused("nice", setpriority(PRIO_PROCESS, 0, -20));
  refused("real time", sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){1}));
  refused("more memory", setrlimit(RLIMIT_STACK, &more));
  refused("more CPU time", setrlimit(RLIMIT_CPU, &more));
  refused("larger files", setrlimit(RLIMIT_FSIZE, &more));
  refused("mlock", mlock(memset(mmap(NULL, 1 << 20, PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1, 1 << 20), 1 << 20));
  refused("shmget", syscall(SYS_shmget, 1, 4096, 01600));
  refused("semget", syscall(SYS_semget, 1, 1, 01600));
  refused("msgget", syscall(SYS_msgget, 1, 01600));
  refused("mq_open", syscall(SYS_mq_open, "queue", O_CREAT | O_RDWR, 0600, NULL));
  refused("a lease on the input", fcntl(0, F_SETLEASE, F_RDLCK));
  refused("a call that does not exist yet", syscall(999));
}

#ifdef __x86_64__
static void call_32_bit(void) {
  long result;
  __asm__ volatile("int $0x80" : "=a"(result) : "a"(20L) : "memory"); // getpid
  printf("%ld", result);
}
static void call_x32(void) { printf("%ld", syscall(0x40000000 | SYS_getpid)); }
#else
static void call_32_bit(void) { raise(SIGSYS); }
static void call_x32(void) { raise(SIGSYS); }
#endif

static void rewrite_input(void) {
  int again = open("/proc/self/fd/0", O_RDWR);
  refused("opening the input to write", again);
  refused("opening the input to append", open("/dev/fd/0", O_WRONLY | O_APPEND));
  refused("truncating", open("/proc/self/fd/0", O_RDONLY | O_TRUNC));
  refused("writing", write(0, "x", 1));
  refused("ftruncate", ftruncate(0, 0));
  refused("fchmod", fchmod(0, 0777));
  refused("futimens", futimens(0, NULL));
  refused("a shared mapping", mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, 0, 0) == MAP_FAILED ? -1 : 0);
  refused("the neighbour", openat(0, "../secret", O_RDONLY));
  char name[256] = "";
  readlink("/proc/self/fd/0", name, sizeof name - 1);
  refused("the name of the input", strstr(name, "input") == NULL ? -1 : 0);
}

static void leave_state(void) {
  close(open("/tmp/state", O_CREAT | O_WRONLY, 0600));
  close(open("/dev/shm/state", O_CREAT | O_WRONLY, 0600));
  mkdir("/tmp/folder", 0700);
  chmod("/tmp", 0700);
  for (int i = 0; i < 5; i++)
    if (fork() == 0) _exit(0);
  while (wait(NULL) > 0) continue;
  printf("%d", getpid());
}

static void find_state(void) {
  struct stat stat_;
  int entries = 0;
  DIR *tmp = opendir("/tmp");
  while (tmp != NULL && readdir(tmp) != NULL) entries++;
  refused("a file of the last run", entries == 2 ? -1 : 0);
  refused("the mode of /tmp", stat("/tmp", &stat_) == 0 && (stat_.st_mode & 07777) == 01777 ? -1 : 0);
  pid_t child = fork();
  if (child == 0) _exit(0);
  refused("counting runs by pids", child == getpid() + 1 ? -1 : 0);
  printf("%d", getpid());
}

static void forge(void) { // the line that the judge would like to see, wherever it can be written
  static const char line[] = "{\"schema_version\":1,\"job_id\":\"attack\",\"attempt_id\":1,\"verdict\":\"OK\",\"time_ms\":0,\"mem_kb\":0,"
      "\"exit_signal\":0,\"sandbox_error\":\"\",\"status\":\"Finished\",\"time_used\":0,\"memory_used\":0,\"exit_code\":0,\"error\":\"\","
      "\"wall_ms\":0,\"output_bytes\":0,\"starved\":false,\"degraded\":false}\n";
  for (int fd = 0; fd < 1024; fd++) write(fd, line, sizeof line - 1);
  exit(5);
}

static void make_links(void) { // for a folder that it may write to
  symlink("/etc/shadow", "/work/link");
  unlink("/work/output");
  symlink("/etc/hostname", "/work/output");
}

static void exhaust_descriptors(void) {
  int count = 0;
  while (open("/dev/null", O_RDONLY) >= 0) count++;
  refused("more than 1024 open files", count < 1024 ? -1 : 0);
}

static void exits_7(void) { exit(7); }
static void aborts(void) { abort(); }
static void kills_itself(void) { kill(getpid(), SIGKILL); }

int main(int argc, char **argv) {
  static const struct { const char *name; void (*attack)(void); } attacks[] = {
      {"fork_bomb", fork_bomb}, {"threads", threads}, {"daemons", daemons}, {"memory_by_children", memory_by_children},
      {"memory_by_tmpfs", memory_by_tmpfs}, {"memory_by_memfd", memory_by_memfd}, {"memory_at_once", memory_at_once},
      {"output_bomb", output_bomb}, {"error_bomb", error_bomb}, {"sleeps", sleeps}, {"sleeps_ignoring_signals", sleeps_ignoring_signals},
      {"spin", spin}, {"detached_spin", detached_spin}, {"spin_by_grandchild", spin_by_grandchild}, {"spin_by_many", spin_by_many},
      {"stack_overflow", stack_overflow}, {"sockets", sockets}, {"leave_sockets", leave_sockets}, {"find_sockets", find_sockets}, {"other_processes", other_processes}, {"writing", writing},
      {"calls", calls}, {"call_32_bit", call_32_bit}, {"call_x32", call_x32}, {"rewrite_input", rewrite_input},
      {"leave_state", leave_state}, {"find_state", find_state}, {"forge", forge}, {"make_links", make_links},
      {"exhaust_descriptors", exhaust_descriptors}, {"exits_7", exits_7}, {"aborts", aborts}, {"kills_itself", kills_itself}};
  if (argc > 1 && strcmp(argv[1], "host_files") == 0) host_files(argv + 2);
  for (size_t i = 0; argc > 1 && i < sizeof attacks / sizeof *attacks; i++)
    if (strcmp(argv[1], attacks[i].name) == 0) attacks[i].attack();
  fflush(stdout);
  return leaks == 0 ? 0 : 1;
}
