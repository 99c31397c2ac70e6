// What the files of the sandbox helper share. reeve-box.c opens with the theory of operation.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LINE_BYTES_MAX = 128 * 1024, FIELDS_MAX = 32, WORDS_MAX = 1024, BINDS_MAX = 64, PASSED_FDS_MAX = 8 };

// The first call that failed while a command was obeyed. It travels beside the program's own outcome, so that a failure
// of the sandbox is never taken for one of the program.
struct trouble {
  int err; // 0: none
  char call[256];
};
extern struct trouble trouble;
int failed(const char *format, ...) __attribute__((format(printf, 1, 2))); // with errno; always -1
int64_t now_ns(void);
int64_t task_waited_ns(int task); // for a core

// json.c
struct json {
  int count, word_count;
  struct json_field { char *key, **words; } fields[FIELDS_MAX];
  char *words[WORDS_MAX]; // of all fields, each list ended by NULL
};
bool json_parse(char *line, struct json *json); // in place
char **json_list(const struct json *json, const char *key); // the first word of an absent one is NULL
int64_t json_number(const struct json *json, const char *key);
void json_print(const char *text); // NULL as an empty string

// cgroup.c
enum cgroup_version { CGROUP_NONE, CGROUP_V1, CGROUP_V2 };
struct usage {
  int64_t cpu_ns, memory_bytes;
  bool out_of_memory; // by the run's own limit
  bool killed_by_machine; // which was out of memory as a whole
};
extern enum cgroup_version cgroup_version;
extern int cgroup_box_fd; // v2: where the first process of a box is born, else -1
int cgroup_start(char **folders);
void cgroup_stop(char **folders);
int cgroup_begin(int64_t memory_bytes, int64_t processes, int *fds); // how many fds the run joins by, or -1
int64_t cgroup_cpu_ns(void);
int64_t cgroup_waited_ns(void); // the longest that one of its tasks has waited for a core
void cgroup_usage(struct usage *usage);

// box.c
enum { BOX_USER_ID = 65534 }; // of programs, as they see themselves
extern bool privileged; // with the right to two ids of the host: one for the box's own process, one for programs
extern int box_root_id; // the first of them
struct box { int pid, socket, work; }; // -1: none; `work` only where programs may write to it
struct box_message { // from the box; with BOX_STARTED comes a pidfd
  enum { BOX_READY, BOX_STARTED, BOX_ENDED } what;
  struct trouble trouble;
  int status; // of wait
  int64_t wall_ns, cpu_ns, rss_bytes; // the last two only of what was waited for
};
int box_start(void);
void box_open(struct box *box, const struct json *command);
int box_send(int to, const void *bytes, size_t size, const int *fds, int fd_count);
bool box_receive(struct box *box, struct box_message *message, int *pidfd); // false: the box is gone
void box_close(struct box *box);

// network.c
bool network_start(void); // whether one is kept for all boxes: what is forked between these two is born in it
int network_enter(void);
void network_leave(void);

// files.c
int copy_mount(const char *path, uint64_t attributes); // detached
int open_input(const char *path, int *mount); // so that the program cannot change it; the mount is closed after the run
int open_output_folder(const char *path); // a mount of its own, so that a program cannot read the folder's path

// disk.c
int64_t disk_bytes(int folder); // what the files in it take on disk; INT64_MAX where that cannot be counted

// seccomp.c
int seccomp_prepare(void); // once
int seccomp_install(void);
