// What a writable folder takes on disk. Blocks are counted, not sizes: a file may have more of them than its size says.
#include "reeve-box.h"

#include <dirent.h>

enum { DEPTH_MAX = 16, ENTRIES_MAX = 20000 };

// Takes the descriptor. A program that hides files from the count, or makes too many to count, is over any limit.
static int64_t count(int fd, int depth, int *entries) {
  DIR *folder = fd < 0 ? NULL : fdopendir(fd);
  int64_t bytes = 0;
  if (folder == NULL) return fd >= 0 ? close(fd), INT64_MAX : INT64_MAX;
  for (struct dirent *entry; (entry = readdir(folder)) != NULL && bytes < INT64_MAX;) {
    struct stat stat;
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    if (++*entries > ENTRIES_MAX || depth == DEPTH_MAX) bytes = INT64_MAX;
    else if (fstatat(dirfd(folder), entry->d_name, &stat, AT_SYMLINK_NOFOLLOW) != 0) continue; // removed this moment
    else if (!S_ISDIR(stat.st_mode)) bytes += (int64_t)stat.st_blocks * 512;
    else {
      int64_t inside = count(openat(dirfd(folder), entry->d_name, O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), depth + 1, entries);
      bytes = inside == INT64_MAX ? INT64_MAX : bytes + inside;
    }
  }
  closedir(folder);
  return bytes;
}

int64_t disk_bytes(int folder) {
  int entries = 0;
  return count(openat(folder, ".", O_DIRECTORY | O_CLOEXEC), 0, &entries);
}
