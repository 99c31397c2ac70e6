// The network namespace of boxes: empty, and nobody in them has a right over it. Making and removing one costs a
// millisecond, so where it may (root) a helper keeps one, in which its boxes are born one after the other. Whatever had a
// socket in the last box is dead. A socket that the kernel has not taken apart yet shows in the count, and then the next
// box gets a new namespace. Elsewhere each box is born with one of its own.
#include "reeve-box.h"

#include <sched.h>

static const char *const current = "/proc/thread-self/ns/net";
static int own = -1, host = -1;

// To leave the kept one it takes a right over the helper's own, which root in a container may not have.
bool network_start(void) {
  host = privileged ? open(current, O_RDONLY | O_CLOEXEC) : -1;
  return host >= 0 && setns(host, CLONE_NEWNET) == 0;
}

static bool has_sockets(void) {
  char line[64] = "";
  FILE *file = fopen("/proc/thread-self/net/sockstat", "re");
  bool empty = file != NULL && fgets(line, sizeof line, file) != NULL && strcmp(line, "sockets: used 0\n") == 0;
  if (file != NULL) fclose(file);
  return !empty;
}

static int renew(void) {
  if (own >= 0) close(own);
  own = -1;
  if (unshare(CLONE_NEWNET) != 0) return failed("unshare(CLONE_NEWNET)");
  own = open(current, O_RDONLY | O_CLOEXEC);
  return own >= 0 ? 0 : failed("open(\"%s\")", current);
}

int network_enter(void) {
  if (own < 0) return renew();
  if (setns(own, CLONE_NEWNET) != 0) return failed("setns(CLONE_NEWNET)");
  return has_sockets() ? renew() : 0;
}

void network_leave(void) {
  if (setns(host, CLONE_NEWNET) != 0) failed("setns(CLONE_NEWNET)");
}
