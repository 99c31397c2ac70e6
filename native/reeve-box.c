// reeve-box: runs programs that nobody trusts, and says what became of them. One process per slot; the judge's TypeScript drives it.
//
// Theory of operation
//
//   driver ──stdin──► helper ──socket──► first process of a box ──fork──► a run
//          ◄─stdout──        ◄─────────                           cgroup, limits, filter, execve
//
//   The driver writes one JSON object a line: open a box, run a program in it, kill what runs, close the box. The helper answers
//   each but `kill` with one line. A box (box.c) is set up once per submission and is what is slow to make: namespaces, a read-only
//   file system of its own, no network. A run is a fork of the box's first process, which gives the child a fresh /tmp, makes
//   it nobody with no capability and a filter on its system calls (seccomp.c), and lets it become the program in a cgroup that counts
//   all its processes (cgroup.c). When the program ends, the rest of its processes are killed and waited for, and only then is the run
//   over.
//
//   The helper is outside and watches: CPU time of the whole cgroup, wall-clock time less the time that the program waited for a
//   core, size of the output, memory. It sleeps until the next limit could be reached at the earliest. A limit that was reached ends
//   the program by a pidfd; the box's first process does the rest.
//
//   Who may say what. The program writes to the files given to it and to nothing else: no descriptor of the helper or the
//   driver is ever in the box. What fails before the program runs is reported through memory shared only until execve, and
//   is a System Error; what happens afterwards is the program's.
//
//   Verdicts, the first that applies: SE (the sandbox failed), OLE (bytes written), MLE (the kernel killed for memory, or the
//   static data alone is too big), TLE (CPU time), TLE (wall clock), RE (exit code or signal), OK.
//
//   Death. The end of stdin (the driver is gone) kills the run and ends the helper; the helper's death kills the box's first
//   process (PDEATHSIG), whose death kills the rest (pid namespace). The driver removes the cgroups of a helper that could not.
#include "reeve-box.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#define MS 1000000LL // in nanoseconds
enum {
  TICK_MS = 50, // how often output and memory are looked at
  STEP_US = 300, // and CPU time, close to its limit
  PEER_WAIT_MS = 10000, // for the other end of a FIFO
  KILL_WAIT_MS = 5000, // for a killed run to be gone
  PATIENCE = 3, // times the limit of wall-clock time, for a program that waits for a core
};

static struct box box = {-1, -1};
static bool stdin_ended;

// ---- lines

static char lines[LINE_BYTES_MAX];
static size_t used; // of lines

static void read_lines(void) {
  ssize_t length = used == sizeof lines ? 0 : read(0, lines + used, sizeof lines - used);
  if (length > 0) used += (size_t)length;
  else if (length == 0 || errno != EINTR) stdin_ended = true; // or a line that is too long: the driver is broken
}

static void take(size_t length) { memmove(lines, lines + length, used -= length); }

// The next whole line, copied: more may arrive while it is obeyed.
static char *next_line(void) {
  static char line[LINE_BYTES_MAX];
  char *end = memchr(lines, '\n', used);
  if (end == NULL) return NULL;
  *end = 0;
  memcpy(line, lines, (size_t)(end - lines) + 1);
  take((size_t)(end - lines) + 1);
  return line;
}

static void answer(const char *word) { // opened, closed, or what went wrong instead
  if (trouble.err == 0) printf("{\"%s\":true}\n", word);
  else {
    printf("{\"failed\":{\"call\":");
    json_print(stdout, trouble.call);
    printf(",\"error\":\"%s\"}}\n", error_name(trouble.err));
  }
  fflush(stdout);
}

// ---- the files of a run

static mode_t type_of(int fd, int64_t *size) {
  struct stat stat;
  if (fd < 0 || fstat(fd, &stat) != 0) return 0;
  if (size != NULL && S_ISREG(stat.st_mode)) *size = stat.st_size;
  return stat.st_mode & S_IFMT;
}

static int open_output(const char *path) { // a FIFO that nobody reads yet: -1, and no trouble
  if (path == NULL) path = "/dev/null";
  int fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
  if (fd < 0 && errno != ENXIO) failed("open(\"%s\")", path);
  if (type_of(fd, NULL) == S_IFREG && ftruncate(fd, 0) != 0) failed("ftruncate(\"%s\")", path);
  return fd;
}

static bool has_writer(int fifo) { // now or before; nothing is taken out of it
  struct pollfd end = {.fd = fifo, .events = POLLIN};
  int scratch[2];
  if (poll(&end, 1, 0) > 0) return true;
  if (pipe2(scratch, O_CLOEXEC) != 0) return false;
  bool found = tee(fifo, scratch[1], 1, SPLICE_F_NONBLOCK) < 0 && errno == EAGAIN;
  close(scratch[0]);
  close(scratch[1]);
  return found;
}

// A program starts when its FIFOs are open at both ends, or it would see an end of file or SIGPIPE. Nothing here blocks, and everyone
// opens the end for reading first, so that two runs that talk to each other do not wait in a circle.
static int open_files(const struct json *command, int *fds) {
  const char *in = json_text(command, "stdin"), *out = json_text(command, "stdout");
  int64_t deadline = now_ns() + PEER_WAIT_MS * MS;
  fds[0] = in == NULL ? open("/dev/null", O_RDONLY | O_CLOEXEC) : open_input(in);
  fds[2] = open_output(json_text(command, "stderr"));
  if (fds[0] < 0 || fds[2] < 0) return failed("open the files of the run");
  bool waits = type_of(fds[0], NULL) == S_IFIFO;
  while (trouble.err == 0) {
    if (fds[1] < 0) fds[1] = open_output(out);
    if (fds[1] >= 0 && (!waits || has_writer(fds[0]))) break;
    if (now_ns() > deadline) errno = ETIMEDOUT, failed("open the other end of %s", fds[1] < 0 ? out : in);
    usleep(STEP_US);
  }
  for (int i = 0; trouble.err == 0 && i < 3; i++)
    if (fcntl(fds[i], F_SETFL, fcntl(fds[i], F_GETFL) & ~O_NONBLOCK) != 0) failed("fcntl(F_SETFL)");
  return trouble.err == 0 ? 0 : -1;
}

// ---- watching a run

enum end { BY_ITSELF, OUTPUT, MEMORY, CPU_TIME, WALL_CLOCK, STARVED, REQUEST };

struct watch {
  struct limits limits;
  struct box_message ended;
  struct usage usage;
  enum end end; // what the helper ended it for
  int fds[PASSED_FDS_MAX], pidfd, pid;
  int64_t began, killed_at, waited_ns;
};

static void end_run(struct watch *watch, enum end why) {
  if (watch->end == BY_ITSELF) watch->end = why;
  if (watch->killed_at != 0 || watch->pidfd < 0) return;
  syscall(SYS_pidfd_send_signal, watch->pidfd, SIGKILL, NULL, 0);
  watch->killed_at = now_ns();
}

static int pid_of(int pidfd) {
  char path[64], line[128];
  int pid = -1;
  snprintf(path, sizeof path, "/proc/self/fdinfo/%d", pidfd);
  FILE *file = fopen(path, "re");
  while (file != NULL && fgets(line, sizeof line, file) != NULL) sscanf(line, "Pid: %d", &pid);
  if (file != NULL) fclose(file);
  return pid;
}

// The kernel adds a running program's time to its cgroup only at a tick; the program's own clock is exact at any moment.
static int64_t cpu_ns(struct watch *watch) {
  struct timespec time;
  clockid_t clock;
  int64_t counted = cgroup_cpu_ns();
  if (watch->pid == 0 && watch->pidfd >= 0) watch->pid = pid_of(watch->pidfd);
  if (watch->pid <= 0 || clock_getcpuclockid(watch->pid, &clock) != 0 || clock_gettime(clock, &time) != 0) return counted;
  int64_t exact = time.tv_sec * 1000 * MS + time.tv_nsec;
  return exact > counted ? exact : counted;
}

static int64_t output_of(const struct watch *watch) {
  int64_t out = 0, err = 0;
  type_of(watch->fds[1], &out);
  type_of(watch->fds[2], &err);
  return out > err ? out : err;
}

// Looks at every limit, and says for how long none can be reached.
static int64_t check(struct watch *watch) {
  const struct limits *limits = &watch->limits;
  int64_t cpu_left = limits->cpu_ms * MS - cpu_ns(watch);
  int64_t wall = now_ns() - watch->began, wall_left = limits->wall_ms * MS - wall;
  if (output_of(watch) > limits->output_bytes) end_run(watch, OUTPUT);
  if (cgroup_out_of_memory()) end_run(watch, MEMORY);
  if (cpu_left < 0) end_run(watch, CPU_TIME);
  if (wall_left < 0) {
    int64_t waited = cgroup_version() == CGROUP_NONE ? task_waited_ns(watch->pid) : cgroup_waited_ns();
    if (waited > watch->waited_ns) watch->waited_ns = waited;
    wall_left += watch->waited_ns;
    if (wall_left < 0) end_run(watch, WALL_CLOCK);
    else if (wall > PATIENCE * limits->wall_ms * MS) end_run(watch, STARVED);
  }
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  int64_t sleep = cpu_left / (cores < limits->processes ? cores : limits->processes);
  if (wall_left < sleep) sleep = wall_left;
  if (sleep > TICK_MS * MS) return TICK_MS * MS;
  return sleep < STEP_US * 1000 ? STEP_US * 1000 : sleep;
}

static void listen_for_kill(struct watch *watch) {
  static const char kill[] = "{\"cmd\":\"kill\"}\n"; // anything else waits for its turn
  read_lines();
  if (stdin_ended) return end_run(watch, REQUEST);
  if (used < sizeof kill - 1 || memcmp(lines, kill, sizeof kill - 1) != 0) return;
  take(sizeof kill - 1);
  end_run(watch, REQUEST);
}

static void wait_for_end(struct watch *watch) {
  int64_t sleep = STEP_US * 1000;
  while (watch->killed_at == 0 || now_ns() - watch->killed_at < KILL_WAIT_MS * MS) {
    struct pollfd ends[] = {{.fd = box.socket, .events = POLLIN}, {.fd = stdin_ended ? -1 : 0, .events = POLLIN}};
    struct timespec timeout = {sleep / (1000 * MS), sleep % (1000 * MS)};
    ppoll(ends, 2, &timeout, NULL);
    if (ends[0].revents != 0) {
      if (!box_receive(&box, &watch->ended, &watch->pidfd)) break;
      if (watch->ended.what == BOX_ENDED) return;
      if (watch->end != BY_ITSELF) end_run(watch, watch->end); // before it could be killed
    }
    if (ends[1].revents != 0) listen_for_kill(watch);
    sleep = watch->pidfd < 0 ? TICK_MS * MS : check(watch);
  }
  errno = ECHILD;
  failed("wait for the first process of the box");
  box_close(&box);
}

// ---- its report

static const char *verdict_of(const struct watch *watch) {
  if (trouble.err != 0 || watch->end == REQUEST || watch->usage.killed_by_machine) return "SE";
  if (output_of(watch) > watch->limits.output_bytes) return "OLE";
  if (watch->usage.out_of_memory) return "MLE";
  if (watch->usage.cpu_ns > watch->limits.cpu_ms * MS || watch->end == CPU_TIME) return "TLE";
  if (watch->end == WALL_CLOCK || watch->end == STARVED) return "TLE";
  return watch->ended.status == 0 ? "OK" : "RE";
}

static const char *status_of(const char *verdict) {
  static const char *const words[][2] = {{"OK", "Finished"}, {"TLE", "Time Limit Exceeded"}, {"MLE", "Memory Limit Exceeded"},
      {"OLE", "Output Limit Exceeded"}, {"RE", "Runtime Error"}, {"SE", "System Error"}};
  int i = 0;
  while (strcmp(words[i][0], verdict) != 0) i++;
  return words[i][1];
}

// Judge JSON v1: the contract's fields in the contract's order, then its older names, then what Reeve adds.
static void report(const struct json *command, const struct watch *watch) {
  const char *verdict = verdict_of(watch), *job_id = json_text(command, "job_id");
  int status = watch->ended.status, signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  int code = signal != 0 ? 128 + signal : WEXITSTATUS(status);
  long long time_ms = watch->usage.cpu_ns / MS, mem_kb = watch->usage.memory_bytes / 1024;
  char error[512] = "";
  if (trouble.err != 0) snprintf(error, sizeof error, "%s: %s", trouble.call, error_name(trouble.err));
  else if (watch->end == REQUEST) strcpy(error, "killed on request");
  else if (watch->usage.killed_by_machine) strcpy(error, "the machine ran out of memory");

  printf("{\"schema_version\":1,\"job_id\":");
  json_print(stdout, job_id == NULL ? "" : job_id);
  printf(",\"attempt_id\":%lld,\"verdict\":\"%s\"", (long long)json_number(command, "attempt_id"), verdict);
  printf(",\"time_ms\":%lld,\"mem_kb\":%lld,\"exit_signal\":%d,\"sandbox_error\":", time_ms, mem_kb, signal);
  json_print(stdout, error);
  printf(",\"status\":\"%s\",\"time_used\":%lld,\"memory_used\":%lld", status_of(verdict), time_ms, mem_kb);
  printf(",\"exit_code\":%d,\"error\":", code);
  json_print(stdout, error);
  printf(",\"wall_ms\":%lld,\"output_bytes\":%lld", (long long)(watch->ended.wall_ns / MS), (long long)output_of(watch));
  printf(",\"starved\":%s", watch->end == STARVED ? "true" : "false");
  printf(",\"degraded\":%s}\n", cgroup_version() == CGROUP_NONE ? "true" : "false");
  fflush(stdout);
}

static void run_command(const struct json *command) {
  struct watch watch = {.fds = {-1, -1, -1}, .pidfd = -1};
  struct limits *limits = &watch.limits;
  limits->cpu_ms = json_number(command, "cpu_ms");
  limits->wall_ms = json_number(command, "wall_ms");
  limits->memory_bytes = json_number(command, "memory_bytes");
  limits->processes = json_number(command, "processes");
  limits->output_bytes = json_number(command, "output_bytes");
  limits->file_bytes = json_number(command, "file_bytes");
  limits->stack_bytes = json_number(command, "stack_bytes");
  struct run_message message = {.limits = *limits, .cgroup = cgroup_version()};
  char **argv = json_list(command, "argv", &message.argc), **env = json_list(command, "env", &message.envc);
  if (message.argc < 1 || limits->processes < 1) errno = EINVAL, failed("run without a program or limits");
  if (box.pid < 0) errno = ENOENT, failed("run without an open box");

  if (json_number(command, "static_bytes") > limits->memory_bytes) watch.usage.out_of_memory = true; // there is no need to try
  else if (trouble.err == 0 && open_files(command, watch.fds) == 0) {
    message.cgroup_fds = cgroup_begin(limits, watch.fds + 3);
    watch.began = now_ns();
    if (message.cgroup_fds >= 0 && box_send(&box, &message, argv, env, watch.fds) == 0) wait_for_end(&watch);
    watch.usage = (struct usage){.cpu_ns = watch.ended.cpu_ns, .memory_bytes = watch.ended.rss_bytes};
    cgroup_end(&watch.usage);
    if (trouble.err == 0) trouble = watch.ended.trouble;
  }
  report(command, &watch);
  for (int i = 0; i < 3; i++) close(watch.fds[i]);
  close(watch.pidfd);
}

static void obey(char *line) {
  static struct json command;
  trouble.err = 0;
  const char *what = json_parse(line, &command) ? json_text(&command, "cmd") : NULL;
  if (what == NULL) what = "";
  if (strcmp(what, "kill") == 0) return; // it came too late: nothing runs
  if (strcmp(what, "run") == 0) return run_command(&command);
  if (strcmp(what, "open") != 0 && strcmp(what, "close") != 0) errno = EBADMSG, failed("understand the command");
  box_close(&box);
  if (strcmp(what, "open") == 0) box_open(&box, &command);
  answer(what);
}

int main(int argc, char **argv) {
  const char *how = argc > 1 ? argv[1] : "";
  enum cgroup_version version = strcmp(how, "v1") == 0 ? CGROUP_V1 : strcmp(how, "v2") == 0 ? CGROUP_V2 : CGROUP_NONE;
  char **folders = argv + 2;
  if (argc != (version == CGROUP_V1 ? 5 : version == CGROUP_V2 ? 3 : 2) || (version == CGROUP_NONE && strcmp(how, "degraded") != 0))
    return fputs("usage: reeve-box v1 MEMORY CPUACCT PIDS | v2 FOLDER | degraded\n", stderr), 2;
  signal(SIGPIPE, SIG_IGN);
  prctl(PR_SET_TIMERSLACK, 1);
  if (box_start() == 0) cgroup_start(version, folders, box_privileged());
  answer("ready");
  while (trouble.err == 0 && !stdin_ended) {
    char *line = next_line();
    if (line == NULL) read_lines();
    else obey(line), trouble.err = 0;
  }
  box_close(&box);
  cgroup_stop(folders);
  return 0;
}
