// Counts and limits the CPU time, memory and processes of a run, with cgroup v1 or v2. The driver has made the slot's
// folder (one with v2; one each in the memory, cpuacct and pids trees with v1) and, with v2, `box` in it, where the
// first processes of boxes are. The processes of the run in progress are in `run`.
//
// A run's process joins by itself before it executes the program (v1: writes 0 to tasks, which takes no global lock) or
// is born there (v2: CLONE_INTO_CGROUP), so that all of the program's memory is charged and nothing else: there is no
// baseline to take off. A v1 cgroup is used again, its peak reset, while little is left charged to it; otherwise, and
// always with v2, a run gets a new one.
#include "reeve-box.h"

enum { TREES_MAX = 3, RESIDUE_BYTES_MAX = 512 * 1024, REMOVE_TRIES = 1000, TASKS_READ_MAX = 64 };

enum file { LIMIT, SWAP_LIMIT, PEAK, CURRENT, EVENTS, CPU, PIDS, FILES };
static const struct {
  const char *name[3]; // by version
  int tree; // of v1
} known[FILES] = {
    [LIMIT] = {{"", "memory.limit_in_bytes", "memory.max"}, 0},
    [SWAP_LIMIT] = {{"", "memory.memsw.limit_in_bytes", "memory.swap.max"}, 0}, // only where swap is counted
    [PEAK] = {{"", "memory.max_usage_in_bytes", "memory.peak"}, 0}, // v2: since Linux 5.19
    [CURRENT] = {{"", "memory.usage_in_bytes", "memory.current"}, 0},
    [EVENTS] = {{"", "memory.oom_control", "memory.events"}, 0},
    [CPU] = {{"", "cpuacct.usage", "cpu.stat"}, 1},
    [PIDS] = {{"", "pids.max", "pids.max"}, 2},
};

enum cgroup_version cgroup_version;
int cgroup_box_fd = -1;
static int trees, slots[TREES_MAX], joins[TREES_MAX], files[FILES];
static struct start { int64_t limit, processes, cpu_ns, oom_kills; } start; // of the run

static bool is_v1(void) { return cgroup_version == CGROUP_V1; }

static int put(enum file file, int64_t number) {
  char text[32];
  int length = snprintf(text, sizeof text, "%lld", (long long)number);
  if (files[file] < 0 || pwrite(files[file], text, (size_t)length, 0) == length) return 0;
  return failed("write(%s, %s)", known[file].name[cgroup_version], text);
}

// The number in a file, or the one after `key` at the beginning of a line; 0 where there is none.
static int64_t get(enum file file, const char *key) {
  char text[4096];
  ssize_t length = files[file] < 0 ? 0 : pread(files[file], text, sizeof text - 1, 0);
  size_t size = key == NULL ? 0 : strlen(key);
  text[length < 0 ? 0 : length] = 0;
  for (char *rest = text, *line; (line = strsep(&rest, "\n")) != NULL;)
    if (key == NULL || (strncmp(line, key, size) == 0 && line[size] == ' ')) return strtoll(line + size, NULL, 10);
  return 0;
}

static int64_t cpu_total_ns(void) { return is_v1() ? get(CPU, NULL) : get(CPU, "usage_usec") * 1000; }

static void remove_folder(int slot, const char *name) { // the last process may still be on its way out
  for (int i = 0; i < REMOVE_TRIES && unlinkat(slot, name, AT_REMOVEDIR) != 0 && errno == EBUSY; i++) usleep(1000);
}

// The first process of a box, which forks the run, has an id of its own. It has to own cgroup.procs wherever it moves
// a run from one leaf to another.
static int own_procs(int folder) {
  if (!privileged || fchownat(folder, "cgroup.procs", (uid_t)box_root_id, (gid_t)-1, 0) == 0) return 0;
  return failed("chown(cgroup.procs)");
}

static int make_run(void) {
  for (int i = 0; i < trees; i++) {
    if (joins[i] > 0) close(joins[i]);
    remove_folder(slots[i], "run");
    if (mkdirat(slots[i], "run", 0755) != 0) return failed("mkdir(run) in a cgroup");
    joins[i] = openat(slots[i], is_v1() ? "run/tasks" : "run", O_CLOEXEC | (is_v1() ? O_WRONLY : O_DIRECTORY));
    if (joins[i] < 0) return failed("open(run) in a cgroup");
  }
  for (int i = 0; i < FILES; i++) {
    char path[64];
    int slot = slots[is_v1() ? known[i].tree : 0];
    snprintf(path, sizeof path, "run/%s", known[i].name[cgroup_version]);
    if (files[i] > 0) close(files[i]);
    files[i] = openat(slot, path, O_RDWR | O_CLOEXEC);
    if (files[i] < 0) files[i] = openat(slot, path, O_RDONLY | O_CLOEXEC);
    if (files[i] < 0 && i != SWAP_LIMIT && i != PEAK) return failed("open(%s)", known[i].name[cgroup_version]);
  }
  start.limit = start.processes = -1;
  if (is_v1()) return 0;
  if (own_procs(joins[0]) != 0) return -1;
  return put(SWAP_LIMIT, 0);
}

// However many processes a run has, together they get half the share of one ordinary process. Not every system lends the
// CPU controller, and limits do not depend on it.
static void weigh(void) {
  const char *name = is_v1() ? "cpu.shares" : "cpu.weight", *weight = is_v1() ? "512" : "50";
  int fd = openat(slots[is_v1() ? known[CPU].tree : 0], name, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  (void)!write(fd, weight, strlen(weight));
  close(fd);
}

int cgroup_start(char **folders) {
  if (cgroup_version == CGROUP_NONE) return 0;
  for (; folders[trees] != NULL; trees++)
    if ((slots[trees] = open(folders[trees], O_DIRECTORY | O_CLOEXEC)) < 0)
      return failed("open(\"%s\")", folders[trees]);
  if (cgroup_version == CGROUP_V2 && (cgroup_box_fd = openat(slots[0], "box", O_DIRECTORY | O_CLOEXEC)) < 0)
    return failed("open(box) in a cgroup");
  if (cgroup_version == CGROUP_V2 && own_procs(slots[0]) != 0) return -1;
  weigh();
  return make_run();
}

void cgroup_stop(char **folders) {
  for (int i = 0; i < trees; i++) {
    remove_folder(slots[i], "run");
    remove_folder(slots[i], "box");
    rmdir(folders[i]);
  }
}

int cgroup_begin(int64_t memory_bytes, int64_t processes, int *fds) {
  int64_t bytes = memory_bytes & ~4095LL; // whole pages
  if (cgroup_version == CGROUP_NONE) return 0;
  if ((!is_v1() || get(CURRENT, NULL) > RESIDUE_BYTES_MAX) && make_run() != 0) return -1;
  if (start.limit != bytes) {
    if (is_v1() && put(SWAP_LIMIT, -1) != 0) return -1; // it may never be below the one for memory
    if (put(LIMIT, bytes) != 0 || (is_v1() && put(SWAP_LIMIT, bytes) != 0)) return -1;
  }
  if (start.processes != processes && put(PIDS, processes) != 0) return -1;
  if (is_v1() && put(PEAK, 0) != 0) return -1;
  start = (struct start){bytes, processes, cpu_total_ns(), get(EVENTS, "oom_kill")};
  memcpy(fds, joins, sizeof(int) * (size_t)trees);
  return trees;
}

int64_t cgroup_cpu_ns(void) { return cgroup_version == CGROUP_NONE ? 0 : cpu_total_ns() - start.cpu_ns; }

int64_t cgroup_waited_ns(void) {
  int task, fd = openat(slots[0], is_v1() ? "run/tasks" : "run/cgroup.threads", O_RDONLY | O_CLOEXEC);
  FILE *tasks = fd < 0 ? NULL : fdopen(fd, "r");
  int64_t longest = 0;
  for (int i = 0; i < TASKS_READ_MAX && tasks != NULL && fscanf(tasks, "%d", &task) == 1; i++) {
    int64_t waited = task_waited_ns(task);
    if (waited > longest) longest = waited;
  }
  if (tasks != NULL) fclose(tasks);
  return longest;
}

void cgroup_usage(struct usage *usage) {
  if (cgroup_version == CGROUP_NONE) return;
  usage->cpu_ns = cgroup_cpu_ns();
  if (files[PEAK] >= 0) usage->memory_bytes = get(PEAK, NULL);
  if (get(EVENTS, "oom_kill") == start.oom_kills) return;
  // For the run's own limit, or because the machine as a whole is out of memory: then the run was below its limit.
  if (is_v1()) usage->out_of_memory = get(PEAK, NULL) >= start.limit - RESIDUE_BYTES_MAX;
  else usage->out_of_memory = get(EVENTS, "oom") > 0;
  usage->killed_by_machine = !usage->out_of_memory;
}
