// Attacks on what boxes share with each other and with the host: disk blocks, limits per user id, names of the host.
// As in attacks.c, each is a function; where only a refusal is at stake, the program prints what was not refused and exits with 1.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

static int leaks;

static void refused(const char *what, long result) {
  if (result < 0) return;
  printf("%s was not refused\n", what);
  leaks++;
}

static void at_most(const char *what, long value, long limit) {
  if (value <= limit) return;
  printf("%s: %ld, expected at most %ld\n", what, value, limit);
  leaks++;
}

static long blocks_of(int fd) {
  struct stat stat;
  return fstat(fd, &stat) == 0 ? (long)stat.st_blocks * 512 : 0;
}

// ---- disk

static void fallocate_keep_size(void) { // FALLOC_FL_KEEP_SIZE: beyond RLIMIT_FSIZE, and not seen in st_size
  refused("fallocate(KEEP_SIZE)", syscall(SYS_fallocate, 1, 1, 0L, 6L << 30));
  at_most("blocks of the output", blocks_of(1), 1 << 20);
}

static void fallocate_zero_range(void) {
  refused("fallocate(ZERO_RANGE)", syscall(SYS_fallocate, 1, 0x10, 0L, 1L << 30));
  refused("fallocate(ZERO_RANGE | KEEP_SIZE)", syscall(SYS_fallocate, 1, 0x11, 0L, 1L << 30));
  at_most("blocks of the output", blocks_of(1), 1 << 20);
}

static void fallocate_error_file(void) {
  refused("fallocate of standard error", syscall(SYS_fallocate, 2, 1, 0L, 1L << 30));
  at_most("blocks of standard error", blocks_of(2), 1 << 20);
}

static void reserve_by_ioctl(void) { // FS_IOC_RESVSP and its kin do what fallocate does
  static const unsigned requests[] = {0x40305828, 0x4030582a, 0x40305839};
  struct { short type, whence; long start, length; int system; unsigned pid; int pad[4]; } space = {0, 0, 0, 1L << 30, 0, 0, {0}};
  for (unsigned i = 0; i < 3; i++) refused("reserving space by ioctl", ioctl(1, requests[i], &space));
  at_most("blocks of the output", blocks_of(1), 1 << 20);
}

static void clone_blocks(void) {
  refused("ioctl(FICLONE)", ioctl(1, 0x40049409, 0));
  long range[4] = {0, 0, 0, 0};
  refused("ioctl(FICLONERANGE)", ioctl(1, 0x4020940d, range));
}

static void file_flags(void) {
  int flags = 0x10 | 0x20; // immutable, append only
  refused("ioctl(FS_IOC_SETFLAGS)", ioctl(1, 0x40086602, &flags));
  char attributes[28] = {0};
  refused("ioctl(FS_IOC_FSSETXATTR)", ioctl(1, 0x401c5820, attributes));
}

static void many_files(void) { // in a folder that it may write to
  static char block[1 << 20];
  char name[64];
  memset(block, 'x', sizeof block);
  for (int i = 0; i < 100000; i++) {
    snprintf(name, sizeof name, "/work/file-%d", i);
    int fd = open(name, O_CREAT | O_WRONLY, 0644);
    for (int n = 0; n < 8; n++) (void)!write(fd, block, sizeof block);
    close(fd);
  }
}

static void hidden_files(void) { // where nobody can list them
  static char block[1 << 20];
  memset(block, 'x', sizeof block);
  mkdir("/work/hidden", 0700);
  int folder = open("/work/hidden", O_DIRECTORY);
  int fd = openat(folder, "file", O_CREAT | O_WRONLY, 0600);
  chmod("/work/hidden", 0);
  for (int n = 0; n < 200; n++) (void)!write(fd, block, sizeof block);
}

static void deep_folders(void) {
  char name[251] = {0}; // and a path that is longer than the kernel takes
  memset(name, 'd', sizeof name - 1);
  for (int i = 0; i < 100 && mkdir(name, 0755) == 0 && chdir(name) == 0; i++) continue;
}

static void sparse_output(void) { // a large size without blocks is output all the same
  (void)!ftruncate(1, 3 << 20);
}

static void unlinked_output(void) {
  refused("unlink of the output", unlink("/proc/self/fd/1"));
  (void)!write(1, "still here", 10);
}

static void unreadable_output(void) { // so that the judge cannot read it
  fchmod(1, 0);
  chmod("/proc/self/fd/1", 0);
  (void)!write(1, "wrong", 5);
}

static void attributes_of_output(void) { // disk that no size and no folder shows
  static char value[60000];
  memset(value, 'x', sizeof value);
  char name[32];
  for (int size = 10; size <= (int)sizeof value; size *= 10) {
    snprintf(name, sizeof name, "user.a%d", size);
    refused("fsetxattr of the output", fsetxattr(1, name, value, (size_t)size, 0));
    refused("setxattr of the output", setxattr("/proc/self/fd/1", name, value, (size_t)size, 0));
    refused("setxattr of the folder", setxattr("/work", name, value, (size_t)size, 0));
    refused("lsetxattr of the folder", lsetxattr("/work", name, value, (size_t)size, 0));
  }
}

// ---- limits that the kernel keeps per user id

static void hog_pipes(void) { // pages of pipes are counted per user: those of others must not shrink
  int ends[2], ready[2];
  refused("growing a pipe", pipe(ready) == 0 ? fcntl(ready[1], F_SETPIPE_SZ, 1 << 20) : 0);
  for (int i = 0; i < 8; i++) { // more than the 64 MB that a user may have before new pipes get a page or two
    if (fork() != 0) continue;
    for (int pipes = 0; pipes < 500 && pipe(ends) == 0; pipes++) continue;
    (void)!write(ready[1], "x", 1);
    pause();
  }
  for (int i = 0; i < 8; i++) (void)!read(ready[0], ends, 1);
  (void)!write(1, "taken", 5);
  pause();
}

static void measure_pipe(void) {
  int ends[2];
  if (pipe(ends) != 0) return;
  printf("%d", fcntl(ends[1], F_GETPIPE_SZ));
}

static void hog_signals(void) {
  sigset_t all;
  union sigval value = {0};
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, NULL);
  long queued = 0;
  while (queued < 100000 && sigqueue(getpid(), SIGRTMIN, value) == 0) queued++;
  at_most("signals queued", queued, 256);
}

static void hog_timers(void) { // a timer holds a queued signal
  long made = 0;
  for (timer_t timer; made < 100000 && timer_create(CLOCK_REALTIME, NULL, &timer) == 0;) made++;
  at_most("timers", made, 256);
}

static void hog_locked_memory(void) {
  void *room = mmap(NULL, 16 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  refused("mlock of 16 MB", mlock(room, 16 << 20));
}

static void hog_epoll(void) {
  long made = 0;
  while (made < 100000 && syscall(SYS_epoll_create1, 0) >= 0) made++;
  at_most("descriptors", made, 1024);
}

static void hog_queues(void) {
  refused("mq_open", syscall(SYS_mq_open, "queue", O_CREAT | O_RDWR, 0600, NULL));
  struct rlimit limit;
  getrlimit(RLIMIT_MSGQUEUE, &limit);
  at_most("bytes of message queues", (long)limit.rlim_max, 0);
}

static void core_dump(void) { // to a handler of the host's
  struct rlimit limit;
  getrlimit(RLIMIT_CORE, &limit);
  at_most("core size", (long)limit.rlim_max, 1);
  if (limit.rlim_max != 1) puts("a piped core handler would run");
  abort();
}

static void raise_limits(void) {
  static const int resources[] = {RLIMIT_CORE, RLIMIT_FSIZE, RLIMIT_SIGPENDING, RLIMIT_MSGQUEUE, RLIMIT_NOFILE};
  struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
  for (unsigned i = 0; i < sizeof resources / sizeof *resources; i++) refused("raising a limit", setrlimit(resources[i], &limit));
}

// ---- names and state of the host

static void names_of_outputs(void) { // neither host name, pid nor folder
  char link[64], path[4096];
  for (int fd = 1; fd <= 2; fd++) {
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length < 0 ? 0 : length] = 0;
    printf("%s\n", path);
  }
}

static void walk_from_output(void) { // up from where its output is
  static const char *const paths[] = {"/proc/self/fd/1/..", "/proc/self/fd/1/../../..", "/proc/self/fd/2/.."};
  for (unsigned i = 0; i < 3; i++) refused(paths[i], open(paths[i], O_RDONLY));
  refused("openat from the output", openat(1, "..", O_RDONLY));
  refused("fchdir to the output", fchdir(1));
}

static void reopen_output(void) { // to read, truncate or map it: nothing of another run is in it
  int fd = open("/proc/self/fd/1", O_RDWR);
  if (fd >= 0) refused("a larger file than allowed", ftruncate(fd, 1L << 40));
}

static void kernel_clues(void) {
  static const char *const files[] = {"/proc/kallsyms", "/proc/kcore", "/proc/modules", "/proc/mounts/..", "/proc/sys/kernel/core_pattern",
      "/proc/sysrq-trigger", "/proc/timer_list", "/proc/keys", "/sys/kernel", "/proc/1/root", "/proc/1/environ", "/proc/self/mem/.."};
  for (unsigned i = 0; i < sizeof files / sizeof *files; i++) refused(files[i], open(files[i], O_RDONLY));
}

static void loud_neighbours(void) { // more processes than cores, until the time is up
  for (int i = 0; i < 15; i++)
    if (fork() == 0)
      for (;;) continue;
  for (;;) continue;
}

static void exec_from_tmp(void) { // a program that it wrote itself stays under the same limits
  char path[] = "/tmp/copy";
  int from = open("/proc/self/exe", O_RDONLY), to = open(path, O_CREAT | O_WRONLY, 0755);
  static char block[1 << 16];
  for (ssize_t n; (n = read(from, block, sizeof block)) > 0;) (void)!write(to, block, (size_t)n);
  close(to);
  char *arguments[] = {path, "fallocate_keep_size", NULL}, *none[] = {NULL};
  execve(path, arguments, none);
  refused("running a program of its own", -1);
}

static void vfork_storm(void) {
  for (int i = 0; i < 2000; i++) {
    pid_t child = vfork();
    if (child == 0) _exit(0);
    if (child > 0) waitpid(child, NULL, 0);
  }
}

static void stopped(void) { // stops itself: only the wall clock notices
  raise(SIGSTOP);
}

int main(int argc, char **argv) {
  static const struct { const char *name; void (*attack)(void); } attacks[] = {{"fallocate_keep_size", fallocate_keep_size},
      {"fallocate_zero_range", fallocate_zero_range}, {"fallocate_error_file", fallocate_error_file}, {"reserve_by_ioctl", reserve_by_ioctl},
      {"clone_blocks", clone_blocks}, {"file_flags", file_flags}, {"many_files", many_files}, {"hidden_files", hidden_files},
      {"deep_folders", deep_folders}, {"sparse_output", sparse_output}, {"unlinked_output", unlinked_output},
      {"unreadable_output", unreadable_output}, {"attributes_of_output", attributes_of_output}, {"hog_pipes", hog_pipes},
      {"measure_pipe", measure_pipe}, {"hog_signals", hog_signals}, {"hog_timers", hog_timers}, {"hog_locked_memory", hog_locked_memory},
      {"hog_epoll", hog_epoll}, {"hog_queues", hog_queues}, {"core_dump", core_dump}, {"raise_limits", raise_limits},
      {"names_of_outputs", names_of_outputs}, {"walk_from_output", walk_from_output}, {"reopen_output", reopen_output},
      {"kernel_clues", kernel_clues}, {"loud_neighbours", loud_neighbours}, {"exec_from_tmp", exec_from_tmp},
      {"vfork_storm", vfork_storm}, {"stopped", stopped}};
  for (size_t i = 0; argc > 1 && i < sizeof attacks / sizeof *attacks; i++)
    if (strcmp(argv[1], attacks[i].name) == 0) attacks[i].attack();
  fflush(stdout);
  return leaks == 0 ? 0 : 1;
}
