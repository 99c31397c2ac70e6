// What a box and its programs see of the host's files: copies of mounts, and the files that a run reads and writes.
#include "reeve-box.h"

#include <linux/mount.h>
#include <sys/mman.h>

enum { INPUT_COPIED_BYTES_MAX = 64 * 1024 };

int copy_mount(const char *path, uint64_t attributes) {
  struct mount_attr attr = {.attr_set = attributes | MOUNT_ATTR_NOSUID, .propagation = MS_PRIVATE};
  int fd = (int)syscall(SYS_open_tree, AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
  if (fd < 0) return failed("open_tree(\"%s\")", path);
  if (syscall(SYS_mount_setattr, fd, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof attr) == 0) return fd;
  return failed("mount_setattr(\"%s\")", path), close(fd), -1;
}

static int reopen(int fd) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  return open(link, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

// A small file as memory that nobody can change any more, or -1: then it is mounted. Without root a program would own it,
// and could change its mode and times.
static int copy_input(const char *path) {
  static char bytes[INPUT_COPIED_BYTES_MAX];
  struct stat stat;
  int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), copy = -1, fd = -1;
  if (file >= 0 && fstat(file, &stat) == 0 && S_ISREG(stat.st_mode) && stat.st_size <= INPUT_COPIED_BYTES_MAX &&
      read(file, bytes, sizeof bytes) == stat.st_size) copy = memfd_create("stdin", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (copy >= 0 && write(copy, bytes, (size_t)stat.st_size) == stat.st_size && fchmod(copy, 0444) == 0 &&
      fcntl(copy, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) == 0) fd = reopen(copy);
  if (file >= 0) close(file);
  if (copy >= 0) close(copy);
  return fd;
}

// A program can open its input again through /proc/self/fd, and may own the file: only a mount that is read-only keeps
// it as it is. (And one of that file alone does not tell its name.) Before such a mount is gone the kernel waits for all
// processors, so a small file is copied.
int open_input(const char *path, int *mount) {
  struct stat stat;
  int fd = privileged && lstat(path, &stat) == 0 && S_ISREG(stat.st_mode) ? copy_input(path) : -1;
  if (fd >= 0) return fd;
  if ((*mount = copy_mount(path, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV)) < 0) return -1;
  fd = reopen(*mount);
  return fd < 0 ? failed("open(\"%s\")", path) : fd;
}

int open_output_folder(const char *path) { return copy_mount(path, MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC); }
