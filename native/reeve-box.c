// reeve-box: runs programs that nobody trusts, and says what became of them. One process per slot; the judge's
// TypeScript drives it. Its theory of operation:
//
//   driver ──stdin──► helper ──socket──► first process of a box ──fork──► a run
//          ◄─stdout──        ◄─────────                            cgroup, limits, filter, execve
//
//   The driver writes one JSON object a line: open a box, run a program in it, close the box; and the helper answers
//   with one. Before a run it may name a series of tests: then the program runs on one after the other, with one answer
//   each, for as long as it ends normally and writes the test's answer to the byte. The driver judges what differs, and
//   begins another series with what is left. SIGUSR1 kills what runs. A box (box.c) is made once per submission and is what is slow to make:
//   namespaces, a read-only file system of its own, no network. A run is a fork of the box's first process: a fresh
//   /tmp, nobody's id, no capability, a filter on its system calls (seccomp.c), and a cgroup that counts all its
//   processes (cgroup.c). When the program ends, the rest of them are killed and waited for; then the run is over.
//
//   The helper is outside and watches: CPU time of the whole cgroup, wall-clock time less what the program waited for a
//   core, output, memory. It sleeps until the next limit could be reached. Whoever reaches one is killed by a pidfd.
//
//   The program writes to the files given to it and to nothing else: no descriptor of the helper or the driver is ever
//   in the box. What fails before the program runs is told through memory shared until execve, and is a System Error;
//   what happens afterwards is the program's. Verdicts, the first that applies: SE (the sandbox failed), OLE (bytes
//   written), MLE (killed for memory, or its static data alone is too big), TLE (CPU time), TLE (wall clock), RE (exit
//   code or signal), OK.
//
//   Death. The end of stdin (the driver is gone) kills the run and ends the helper; the helper's death kills the box's
//   first process (PDEATHSIG), whose death kills the rest (pid namespace). The driver removes the cgroups of a helper
//   that could not.
#include "reeve-box.h"

#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <time.h>

#define MS 1000000LL // in nanoseconds
enum {
  TICK_MS = 50, // how often output and memory are looked at
  STEP_US = 300, // and CPU time, close to its limit
  KILL_WAIT_MS = 5000, // for a killed run to be gone
  PATIENCE = 3, // times the limit of wall-clock time, for a program that waits for a core
  COMPARED_BYTES_MAX = 64 * 1024,
};

struct trouble trouble;
static struct box box = {-1, -1, -1};
static int64_t cores;
static volatile sig_atomic_t kill_requested;

static void request_kill(int signal) { kill_requested = signal; }

int failed(const char *format, ...) {
  int err = errno;
  va_list arguments;
  if (trouble.err != 0) return -1; // a consequence of the first
  trouble.err = err == 0 ? EIO : err;
  va_start(arguments, format);
  vsnprintf(trouble.call, sizeof trouble.call, format, arguments);
  va_end(arguments);
  return -1;
}

int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 * MS + now.tv_nsec;
}

// A number in a file of /proc.
static int64_t proc_number(const char *folder, int id, const char *file, const char *format) {
  char path[64], line[256];
  long long number = -1;
  snprintf(path, sizeof path, "/proc/%s%d%s", folder, id, file);
  FILE *opened = fopen(path, "re");
  while (opened != NULL && number < 0 && fgets(line, sizeof line, opened) != NULL) sscanf(line, format, &number);
  if (opened != NULL) fclose(opened);
  return number;
}

int64_t task_waited_ns(int task) { return proc_number("", task, "/schedstat", "%*d %lld"); }

// What was done, or what error which call met instead. The driver knows the names of errors.
static void answer(const char *word) {
  printf("{\"%s\":%d", trouble.err == 0 ? word : "errno", trouble.err == 0 ? 1 : trouble.err);
  if (trouble.err != 0) printf(",\"call\":"), json_print(trouble.call);
  puts("}");
  fflush(stdout);
}

enum end { BY_ITSELF, OUTPUT, MEMORY, CPU_TIME, WALL_CLOCK, STARVED, REQUEST };

struct watch {
  int64_t cpu_ns, wall_ns, output_bytes, disk_bytes, processes; // limits
  struct box_message ended;
  struct usage usage;
  enum end end; // what the helper ended it for
  int fds[PASSED_FDS_MAX], input_mount, pidfd, pid;
  int64_t began, killed_at, waited_ns;
};

static int64_t size_of(int fd) { // -1: it is no regular file
  struct stat stat;
  return fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) ? stat.st_size : -1;
}

// Outputs of a box are mostly in one folder, which is kept open.
static struct { char path[PATH_MAX]; int fd; } outputs = {"", -1};

static int folder_of(const char *path) {
  const char *end = strrchr(path, '/');
  size_t length = end == NULL ? 0 : (size_t)(end - path);
  if (length == 0 || length >= sizeof outputs.path) return errno = ENAMETOOLONG, failed("open(\"%s\")", path);
  if (outputs.fd >= 0 && strlen(outputs.path) == length && strncmp(outputs.path, path, length) == 0) return outputs.fd;
  if (outputs.fd >= 0) close(outputs.fd);
  memcpy(outputs.path, path, length);
  outputs.path[length] = 0;
  return outputs.fd = open_output_folder(outputs.path);
}

// A FIFO is opened without waiting: whoever connects two programs holds both its ends until both have started.
static int open_output(const char *path) {
  const int flags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  int folder = folder_of(path);
  const char *name = strrchr(path, '/') + 1;
  int fd = folder < 0 ? -1 : openat(folder, name, flags, 0644);
  if (fd < 0 && errno == ENXIO) { // nobody reads it any more: the program will hear by SIGPIPE
    int reader = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    fd = openat(folder, name, flags, 0644);
    close(reader);
  }
  if (fd < 0) return failed("open(\"%s\")", path);
  // Through a descriptor of its own: ext4 writes a truncated file to the disk at the next close, while it is still empty.
  if (size_of(fd) > 0) {
    int emptied = openat(folder, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    if (emptied < 0 || ftruncate(emptied, 0) != 0) failed("ftruncate(\"%s\")", path);
    close(emptied);
  }
  return fd;
}

static int open_files(const struct json *command, const char *input, struct watch *watch) {
  static const char *const names[] = {"stdin", "stdout", "stderr"};
  for (int i = 0; i < 3; i++) {
    const char *path = i == 0 ? input : *json_list(command, names[i]);
    int fd = path == NULL ? open("/dev/null", O_RDWR | O_CLOEXEC) : -1;
    if (path != NULL) fd = i == 0 ? open_input(path, &watch->input_mount) : open_output(path);
    if (fd < 0 || fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK) != 0) return failed("open %s", names[i]);
    watch->fds[i] = fd;
  }
  return 0;
}

static void end_run(struct watch *watch, enum end why) {
  if (watch->end == BY_ITSELF) watch->end = why;
  if (watch->killed_at != 0 || watch->pidfd < 0) return;
  syscall(SYS_pidfd_send_signal, watch->pidfd, SIGKILL, NULL, 0);
  watch->killed_at = now_ns();
}

// The kernel adds a running program's time to its cgroup only at a tick; the program's own clock is always exact.
static int64_t cpu_used_ns(struct watch *watch) {
  struct timespec time;
  clockid_t clock;
  int64_t counted = cgroup_cpu_ns();
  if (watch->pid == 0) watch->pid = (int)proc_number("self/fdinfo/", watch->pidfd, "", "Pid: %lld");
  if (watch->pid <= 0 || clock_getcpuclockid(watch->pid, &clock) != 0) return counted;
  if (clock_gettime(clock, &time) != 0) return counted;
  int64_t exact = time.tv_sec * 1000 * MS + time.tv_nsec;
  return exact > counted ? exact : counted;
}

static int64_t output_of(const struct watch *watch) {
  int64_t out = size_of(watch->fds[1]), err = size_of(watch->fds[2]), more = out > err ? out : err;
  return more < 0 ? 0 : more;
}

static bool wrote_too_much(const struct watch *watch) {
  if (output_of(watch) > watch->output_bytes) return true;
  return box.work >= 0 && watch->disk_bytes > 0 && disk_bytes(box.work) > watch->disk_bytes;
}

// For how long no limit can be reached.
static int64_t pause_of(const struct watch *watch, int64_t cpu_left, int64_t wall_left) {
  int64_t pause = cpu_left / (cores < watch->processes ? cores : watch->processes);
  if (wall_left < pause) pause = wall_left;
  if (pause > TICK_MS * MS) return TICK_MS * MS;
  return pause < STEP_US * 1000 ? STEP_US * 1000 : pause;
}

// Looks at every limit, and says when to look again.
static int64_t check(struct watch *watch) {
  struct usage usage = {0};
  fflush(stdout); // reports of a series wait for the next one, but not for long
  cgroup_usage(&usage);
  int64_t cpu_left = watch->cpu_ns - cpu_used_ns(watch);
  int64_t wall = now_ns() - watch->began, wall_left = watch->wall_ns - wall;
  if (wrote_too_much(watch)) end_run(watch, OUTPUT);
  if (usage.out_of_memory) end_run(watch, MEMORY);
  if (cpu_left < 0) end_run(watch, CPU_TIME);
  if (wall_left < 0) {
    int64_t waited = cgroup_version == CGROUP_NONE ? task_waited_ns(watch->pid) : cgroup_waited_ns();
    if (waited > watch->waited_ns) watch->waited_ns = waited; // its tasks come and go
    wall_left += watch->waited_ns;
    if (wall_left < 0) end_run(watch, WALL_CLOCK);
    else if (wall > PATIENCE * watch->wall_ns) end_run(watch, STARVED);
  }
  return pause_of(watch, cpu_left, wall_left);
}

static void wait_for_end(struct watch *watch) {
  int64_t pause = pause_of(watch, watch->cpu_ns, watch->wall_ns);
  while (watch->killed_at == 0 || now_ns() - watch->killed_at < KILL_WAIT_MS * MS) {
    struct pollfd ends[] = {{box.socket, POLLIN, 0}, {watch->end == REQUEST ? -1 : 0, POLLRDHUP, 0}};
    struct timespec timeout = {pause / (1000 * MS), pause % (1000 * MS)};
    int heard = ppoll(ends, 2, &timeout, NULL);
    if (ends[0].revents != 0) {
      if (!box_receive(&box, &watch->ended, &watch->pidfd)) break;
      if (watch->ended.what == BOX_ENDED) return;
      if (watch->end != BY_ITSELF) end_run(watch, watch->end); // decided before it could be killed
    }
    if (kill_requested || ends[1].revents != 0) end_run(watch, REQUEST); // or the driver is gone
    if (heard <= 0 && watch->pidfd >= 0) pause = check(watch);
  }
  errno = ECHILD;
  failed("wait for the first process of the box");
  box_close(&box);
}

static const struct verdict {
  const char *word, *status;
} SE = {"SE", "System Error"}, OLE = {"OLE", "Output Limit Exceeded"}, MLE = {"MLE", "Memory Limit Exceeded"},
  TLE = {"TLE", "Time Limit Exceeded"}, RE = {"RE", "Runtime Error"}, OK = {"OK", "Finished"};

static struct verdict verdict_of(const struct watch *watch, bool broken) {
  if (broken) return SE;
  if (watch->end == OUTPUT || wrote_too_much(watch)) return OLE;
  if (watch->usage.out_of_memory) return MLE;
  if (watch->usage.cpu_ns > watch->cpu_ns || watch->end >= CPU_TIME) return TLE; // or the wall clock's
  return watch->ended.status != 0 ? RE : OK;
}

// Judge JSON v1 (docs/judge.md, B): the fields in their order, then their older names, then what Reeve adds.
static void report(const struct json *command, const struct watch *watch, bool same) {
  int status = watch->ended.status, signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  char error[512] = "";
  if (trouble.err != 0) snprintf(error, sizeof error, "%s: errno %d", trouble.call, trouble.err);
  else if (watch->end == REQUEST) strcpy(error, "killed on request");
  else if (watch->usage.killed_by_machine) strcpy(error, "the machine ran out of memory");
  struct verdict verdict = verdict_of(watch, *error != 0);

  long long time_ms = watch->usage.cpu_ns / MS, mem_kb = watch->usage.memory_bytes / 1024;
  printf("{\"schema_version\":1,\"job_id\":");
  json_print(*json_list(command, "job_id"));
  printf(",\"attempt_id\":%lld,\"verdict\":\"%s\"", (long long)json_number(command, "attempt_id"), verdict.word);
  printf(",\"time_ms\":%lld,\"mem_kb\":%lld,\"exit_signal\":%d,\"sandbox_error\":", time_ms, mem_kb, signal);
  json_print(error);
  printf(",\"status\":\"%s\",\"time_used\":%lld,\"memory_used\":%lld", verdict.status, time_ms, mem_kb);
  printf(",\"exit_code\":%d,\"error\":", signal != 0 ? 128 + signal : WEXITSTATUS(status));
  json_print(error);
  printf(",\"wall_ms\":%lld,\"output_bytes\":%lld", (long long)watch->ended.wall_ns / MS, (long long)output_of(watch));
  printf(",\"starved\":%s,\"degraded\":%s,\"same\":%s}\n", watch->end == STARVED ? "true" : "false",
      cgroup_version == CGROUP_NONE ? "true" : "false", same ? "true" : "false");
}

// What was written to a file may still be in the page cache and charged to the run. That is no memory of the program's,
// and the kernel takes it back at the limit; but what was resident in it at once counts in any case.
static int64_t without_output(const struct watch *watch) {
  int64_t charged = watch->usage.memory_bytes, own = charged - output_of(watch), resident = watch->ended.rss_bytes;
  return own > resident ? own : charged < resident ? charged : resident;
}

// Whether a small output is the answer, to the byte.
static bool is_answer(const char *output, const char *answer, int64_t output_bytes) {
  static char wrote[COMPARED_BYTES_MAX], expected[COMPARED_BYTES_MAX];
  if (output == NULL || answer == NULL || output_bytes > COMPARED_BYTES_MAX) return false;
  int left = openat(folder_of(output), strrchr(output, '/') + 1, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  int right = open(answer, O_RDONLY | O_CLOEXEC);
  bool same = left >= 0 && right >= 0 && size_of(left) == output_bytes && size_of(right) == output_bytes &&
      read(left, wrote, sizeof wrote) == output_bytes && read(right, expected, sizeof expected) == output_bytes &&
      memcmp(wrote, expected, (size_t)output_bytes) == 0;
  close(left);
  close(right);
  return same;
}

// Says whether the program ended normally and wrote the answer.
static bool run_test(const struct json *command, const char *line, const char *input, const char *answer) {
  int64_t memory_bytes = json_number(command, "memory_bytes");
  struct watch watch = {.fds = {-1, -1, -1}, .input_mount = -1, .pidfd = -1,
      .cpu_ns = json_number(command, "cpu_ms") * MS, .wall_ns = json_number(command, "wall_ms") * MS,
      .output_bytes = json_number(command, "output_bytes"), .disk_bytes = json_number(command, "disk_bytes"),
      .processes = json_number(command, "processes")};
  int joins = -1;
  bool same = false;
  trouble.err = 0;
  if (*json_list(command, "argv") == NULL || watch.processes < 1) errno = EINVAL, failed("run without a program");
  if (box.pid < 0) errno = ENOENT, failed("run without an open box");
  if (json_number(command, "static_bytes") > memory_bytes) watch.usage.out_of_memory = true; // there is no need to try
  else if (trouble.err == 0 && open_files(command, input, &watch) == 0 &&
           (joins = cgroup_begin(memory_bytes, watch.processes, watch.fds + 3)) >= 0) {
    watch.began = now_ns();
    bool sent = box_send(box.socket, line, strlen(line) + 1, watch.fds, 3 + joins) == 0;
    for (int i = 0; i < 3; i++)
      if (size_of(watch.fds[i]) < 0) close(watch.fds[i]), watch.fds[i] = -1; // or a FIFO would never end
    if (sent) wait_for_end(&watch);
    watch.usage = (struct usage){.cpu_ns = watch.ended.cpu_ns, .memory_bytes = watch.ended.rss_bytes};
    cgroup_usage(&watch.usage);
    watch.usage.memory_bytes = without_output(&watch);
    if (trouble.err == 0) trouble = watch.ended.trouble;
  }
  for (int i = 1; i < 3; i++) // without root the program owns its output, and may have made it unreadable
    if (!privileged && size_of(watch.fds[i]) >= 0) fchmod(watch.fds[i], 0644);
  if (trouble.err == 0 && verdict_of(&watch, watch.end == REQUEST || watch.usage.killed_by_machine).word == OK.word)
    same = is_answer(*json_list(command, "stdout"), answer, size_of(watch.fds[1]));
  report(command, &watch, same);
  if (!same) fflush(stdout); // the driver waits for it
  for (int i = 0; i < 3; i++) close(watch.fds[i]);
  close(watch.pidfd);
  close(watch.input_mount); // which takes a while, and the driver has its answer
  return same;
}

// Pairs of an input and its answer, for the next run.
static struct { char line[LINE_BYTES_MAX]; struct json command; } series;

static void run_command(const struct json *command, const char *line) {
  char **test = json_list(&series.command, "tests");
  kill_requested = 0; // it was for an earlier run
  if (test[0] == NULL) run_test(command, line, *json_list(command, "stdin"), NULL);
  for (; test[0] != NULL && test[1] != NULL; test += 2)
    if (!run_test(command, line, test[0], test[1])) break;
  fflush(stdout);
  series.command.count = 0;
}

static void obey(char *line) {
  static struct json command;
  static char copy[LINE_BYTES_MAX]; // parsing is in place, and the box wants it, too
  strcpy(copy, line);
  trouble.err = 0;
  const char *cmd = json_parse(line, &command) ? *json_list(&command, "cmd") : NULL, *what = cmd == NULL ? "" : cmd;
  if (strcmp(what, "run") == 0) return run_command(&command, copy);
  if (strcmp(what, "series") == 0 && json_parse(strcpy(series.line, copy), &series.command)) return; // the run answers
  if (strcmp(what, "open") != 0 && strcmp(what, "close") != 0) errno = EBADMSG, failed("understand the command");
  box_close(&box);
  if (strcmp(what, "open") == 0) box_open(&box, &command);
  answer(what);
}

int main(int argc, char **argv) {
  static char line[LINE_BYTES_MAX];
  if (argc < 2) return fputs("usage: reeve-box 0 | 1 MEMORY CPUACCT PIDS | 2 FOLDER (version of cgroups)\n", stderr), 2;
  cgroup_version = (enum cgroup_version)atoi(argv[1]);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGUSR1, request_kill);
  umask(022);
  prctl(PR_SET_TIMERSLACK, 1);
  cores = sysconf(_SC_NPROCESSORS_ONLN);
  if (seccomp_prepare() == 0 && box_start() == 0) cgroup_start(argv + 2);
  answer("ready");
  if (trouble.err == 0)
    while (fgets(line, sizeof line, stdin) != NULL) obey(line);
  box_close(&box);
  cgroup_stop(argv + 2);
  return 0;
}
