// Counts and limits the CPU time, memory and processes of a run, with cgroup v1 or v2. The driver has made the slot's
// folder (one with v2; one each in the memory, cpuacct and pids trees with v1). In it there is
//
//   run   the processes of the run in progress
//   box   v2: the first processes of boxes, which fork runs into `run`
//
// A run's process joins by itself before it executes the program (v1: writes 0 to tasks, which takes no global lock) or
// is born there (v2: CLONE_INTO_CGROUP), so that all of the program's memory is charged and nothing else: there is no
// baseline to take off. A v1 cgroup is used again, its peak reset, while little is left charged to it; otherwise, and
// always with v2, a run gets a new one.
#include "reeve-box.h"

#include <sys/stat.h>

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

static enum cgroup_version version;
static bool may_chown;
static int trees, slots[TREES_MAX], joins[TREES_MAX], files[FILES], box_fd = -1;
static struct { int64_t limit, processes, cpu_ns, oom_kills; } start; // of the run

enum cgroup_version cgroup_version(void) { return version; }
int cgroup_box_fd(void) { return box_fd; }

static int put(enum file file, int64_t number) {
  char text[32];
  int length = snprintf(text, sizeof text, "%lld", (long long)number);
  if (files[file] < 0 || pwrite(files[file], text, (size_t)length, 0) == length) return 0;
  return failed("write(%s, %s)", known[file].name[version], text);
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

static int64_t cpu_total_ns(void) { return version == CGROUP_V1 ? get(CPU, NULL) : get(CPU, "usage_usec") * 1000; }

static void remove_folder(int slot, const char *name) { // the last process may still be on its way out
  for (int i = 0; i < REMOVE_TRIES && unlinkat(slot, name, AT_REMOVEDIR) != 0 && errno == EBUSY; i++) usleep(1000);
}

// v2: the first process of a box, which forks runs, may have an id of its own. It has to own cgroup.procs here and
// above.
static int allow_forks(int folder) {
  if (!may_chown || version == CGROUP_V1 || fchownat(folder, "cgroup.procs", BOX_ROOT_ID, (gid_t)-1, 0) == 0) return 0;
  return failed("chown(cgroup.procs)");
}

static int make_run(void) {
  for (int i = 0; i < trees; i++) {
    if (joins[i] > 0) close(joins[i]);
    remove_folder(slots[i], "run");
    if (mkdirat(slots[i], "run", 0755) != 0) return failed("mkdir(run) in a cgroup");
    if (version == CGROUP_V1) joins[i] = openat(slots[i], "run/tasks", O_WRONLY | O_CLOEXEC);
    else joins[i] = openat(slots[i], "run", O_DIRECTORY | O_CLOEXEC);
    if (joins[i] < 0) return failed("open(run) in a cgroup");
    if (allow_forks(joins[i]) != 0) return -1;
  }
  for (int i = 0; i < FILES; i++) {
    char path[64];
    int slot = slots[version == CGROUP_V1 ? known[i].tree : 0];
    snprintf(path, sizeof path, "run/%s", known[i].name[version]);
    if (files[i] > 0) close(files[i]);
    files[i] = openat(slot, path, O_RDWR | O_CLOEXEC);
    if (files[i] < 0) files[i] = openat(slot, path, O_RDONLY | O_CLOEXEC);
    if (files[i] < 0 && i != SWAP_LIMIT && i != PEAK) return failed("open(%s)", known[i].name[version]);
  }
  start.limit = start.processes = -1;
  return version == CGROUP_V2 ? put(SWAP_LIMIT, 0) : 0;
}

static int make_box_leaf(void) {
  int control = openat(slots[0], "cgroup.subtree_control", O_WRONLY | O_CLOEXEC);
  if (control < 0 || write(control, "+memory +pids", 13) != 13) return failed("write(cgroup.subtree_control)");
  close(control);
  if (mkdirat(slots[0], "box", 0755) != 0) return failed("mkdir(box) in a cgroup");
  if ((box_fd = openat(slots[0], "box", O_DIRECTORY | O_CLOEXEC)) < 0) return failed("open(box) in a cgroup");
  return allow_forks(slots[0]);
}

int cgroup_start(enum cgroup_version which, char **folders, bool has_ids) {
  version = which;
  may_chown = has_ids;
  if (version == CGROUP_NONE) return 0;
  for (; trees < (version == CGROUP_V1 ? TREES_MAX : 1); trees++)
    if ((slots[trees] = open(folders[trees], O_DIRECTORY | O_CLOEXEC)) < 0)
      return failed("open(\"%s\")", folders[trees]);
  return version == CGROUP_V2 && make_box_leaf() != 0 ? -1 : make_run();
}

void cgroup_stop(char **folders) {
  for (int i = 0; i < trees; i++) {
    remove_folder(slots[i], "run");
    if (box_fd >= 0) remove_folder(slots[i], "box");
    rmdir(folders[i]);
  }
}

static int set_limits(int64_t bytes, int64_t processes) {
  if (start.limit != bytes) {
    if (version == CGROUP_V1 && put(SWAP_LIMIT, -1) != 0) return -1; // it may never be below the one for memory
    if (put(LIMIT, bytes) != 0 || (version == CGROUP_V1 && put(SWAP_LIMIT, bytes) != 0)) return -1;
  }
  if (start.processes != processes && put(PIDS, processes) != 0) return -1;
  start.limit = bytes;
  start.processes = processes;
  return 0;
}

int cgroup_begin(int64_t memory_bytes, int64_t processes, int *fds) {
  if (version == CGROUP_NONE) return 0;
  if ((version == CGROUP_V2 || get(CURRENT, NULL) > RESIDUE_BYTES_MAX) && make_run() != 0) return -1;
  if (set_limits(memory_bytes & ~4095LL, processes) != 0 || (version == CGROUP_V1 && put(PEAK, 0) != 0)) return -1;
  start.cpu_ns = cpu_total_ns();
  start.oom_kills = get(EVENTS, "oom_kill");
  memcpy(fds, joins, sizeof(int) * (size_t)trees);
  return trees;
}

int64_t cgroup_cpu_ns(void) { return version == CGROUP_NONE ? 0 : cpu_total_ns() - start.cpu_ns; }

int64_t cgroup_waited_ns(void) {
  int task, fd = openat(slots[0], version == CGROUP_V1 ? "run/tasks" : "run/cgroup.threads", O_RDONLY | O_CLOEXEC);
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
  if (version == CGROUP_NONE) return;
  usage->cpu_ns = cgroup_cpu_ns();
  if (files[PEAK] >= 0) usage->memory_bytes = get(PEAK, NULL);
  if (get(EVENTS, "oom_kill") == start.oom_kills) return;
  // For the run's own limit, or because the machine as a whole is out of memory: then the run was below its limit.
  if (version == CGROUP_V1) usage->out_of_memory = get(PEAK, NULL) >= start.limit - RESIDUE_BYTES_MAX;
  else usage->out_of_memory = get(EVENTS, "oom") > 0;
  usage->killed_by_machine = !usage->out_of_memory;
}
