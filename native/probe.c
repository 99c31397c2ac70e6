// Tries, from inside a box, what the sandbox promises to prevent; the driver runs it before it trusts the sandbox.
// `escape HOSTFILE` says on standard output what succeeded and should not have.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSES_TRIED = 100 };

static int leaks;

static void must_fail(const char *what, long result) {
  if (result < 0) return;
  printf("%s succeeded. ", what);
  leaks++;
}

static int escape(const char *host_file) {
  must_fail("opening a file of the host", open(host_file, O_RDONLY));
  must_fail("opening /etc/shadow", open("/etc/shadow", O_RDONLY));
  must_fail("writing to /usr", open("/usr/reeve-probe", O_WRONLY | O_CREAT, 0600));
  must_fail("writing to /work", open("/work/reeve-probe", O_WRONLY | O_CREAT, 0600));
  must_fail("writing to /", mkdir("/reeve-probe", 0700));
  must_fail("a socket", socket(AF_INET, SOCK_STREAM, 0));
  must_fail("a Unix socket", socket(AF_UNIX, SOCK_STREAM, 0));
  must_fail("mount", mount("none", "/tmp", "tmpfs", 0, NULL));
  must_fail("unshare", unshare(CLONE_NEWUSER));
  must_fail("becoming root", setuid(0));
  must_fail("ptrace", ptrace(PTRACE_TRACEME, 0, 0, 0));
  must_fail("signalling another process", kill(1, SIGKILL) == 0 && kill(1, 0) != 0 ? 0 : -1);
  must_fail("an open descriptor of the helper", fcntl(3, F_GETFD));
  if (getpid() > 9) printf("pid %d: not a pid namespace of its own. ", getpid()), leaks++;
  return leaks == 0 ? 0 : 1;
}

static int processes(void) { // 0 if the limit of fewer than PROCESSES_TRIED holds
  for (int i = 0; i < PROCESSES_TRIED; i++) {
    pid_t pid = fork();
    if (pid < 0) return 0;
    if (pid == 0) pause();
  }
  return 1;
}

static void touch(size_t bytes) {
  volatile char *memory = malloc(bytes);
  for (size_t i = 0; memory != NULL && i < bytes; i += 4096) memory[i] = 1;
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  if (strcmp(what, "escape") == 0) return escape(argc > 2 ? argv[2] : "/");
  if (strcmp(what, "processes") == 0) return processes();
  if (strcmp(what, "spin") == 0) for (volatile unsigned long i = 0;; i++) continue;
  if (strcmp(what, "output") == 0) for (signal(SIGXFSZ, SIG_IGN);;) if (write(1, what, 6) != 6) return 0;
  if (strcmp(what, "memory") == 0) touch(1 << 28);
  return 0;
}
