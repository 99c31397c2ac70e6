// Preloaded into PostgreSQL: every flush to the disk takes FLUSH_MS longer, as on a disk without a write cache of its own. The
// flush itself is done as well.
#include <dlfcn.h>
#include <errno.h>
#include <time.h>

static int slowly(const char *name, int fd) {
  int (*flush)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
  struct timespec left = {.tv_sec = FLUSH_MS / 1000, .tv_nsec = (FLUSH_MS % 1000) * 1000000L};
  while (nanosleep(&left, &left) == -1 && errno == EINTR) {
  }
  return flush(fd);
}

int fsync(int fd) { return slowly("fsync", fd); }
int fdatasync(int fd) { return slowly("fdatasync", fd); }
