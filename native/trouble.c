#include "reeve-box.h"

#include <stdarg.h>
#include <time.h>

struct trouble trouble;

int failed(const char *format, ...) {
  int err = errno;
  if (trouble.err == 0) { // what fails afterwards is a consequence
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(trouble.call, sizeof trouble.call, format, arguments);
    va_end(arguments);
    trouble.err = err == 0 ? EIO : err;
  }
  return -1;
}

const char *error_name(int err) {
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 32)
  const char *name = strerrorname_np(err);
  if (name != NULL) return name;
#endif
  return strerror(err);
}

int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

int64_t task_waited_ns(int task) {
  char path[64];
  long long ran, waited = 0;
  snprintf(path, sizeof path, "/proc/%d/schedstat", task);
  FILE *file = fopen(path, "re");
  if (file != NULL && fscanf(file, "%lld %lld", &ran, &waited) != 2) waited = 0;
  if (file != NULL) fclose(file);
  return waited;
}
