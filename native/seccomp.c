// Which system calls a program may make. Namespaces, ids and missing capabilities already keep it in; the filter takes
// away what they leave: the kernel's larger attack surfaces, and what could outlive a run in the box (IPC, keys).
//
// A denied call fails with EPERM, or ENOSYS where libraries know another way. Another architecture's calls (int 0x80,
// x32) kill the program: their numbers mean something else. Calls newer than this file do not exist.
#include "reeve-box.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#else
#error "The sandbox knows x86-64 and arm64."
#endif

enum { NEWEST_CALL = 462, X32_BIT = 0x40000000 }; // 462 is mseal, Linux 6.10

static const int absent[] = {
    SYS_clone3, // its flags are in memory, where a filter cannot look; libraries fall back to clone
    SYS_shmget, SYS_shmat, SYS_shmctl, SYS_shmdt, SYS_semget, SYS_semop, SYS_semctl, SYS_semtimedop, SYS_msgget,
    SYS_msgsnd, SYS_msgrcv, SYS_msgctl, SYS_mq_open, SYS_mq_unlink, SYS_mq_timedsend, SYS_mq_timedreceive,
    SYS_mq_notify, SYS_mq_getsetattr, SYS_inotify_init1, SYS_inotify_add_watch, SYS_fanotify_init, SYS_fanotify_mark,
    SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register, SYS_io_setup, SYS_io_submit,
};

// Disk that the size of a file does not show: blocks beyond its end (C libraries write zeros instead), and attributes.
static const int unsupported[] = {SYS_fallocate, SYS_setxattr, SYS_lsetxattr, SYS_fsetxattr};

static const int denied[] = {
    // other processes
    SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_process_madvise, SYS_kcmp, 438 /* pidfd_getfd */,
    SYS_move_pages, SYS_migrate_pages, SYS_perf_event_open,
    // who waits for a core, and how long (that time is not counted)
    SYS_setpriority, SYS_sched_setscheduler, SYS_sched_setparam, SYS_sched_setattr, SYS_sched_setaffinity,
    SYS_ioprio_set,
    // files
    SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, 428 /* open_tree */, 429 /* move_mount */, 430 /* fsopen */,
    431 /* fsconfig */, 432 /* fsmount */, 433 /* fspick */, 442 /* mount_setattr */, 457 /* statmount */,
    458 /* listmount */, SYS_name_to_handle_at, SYS_open_by_handle_at, SYS_quotactl, 443 /* quotactl_fd */, SYS_acct,
    SYS_swapon, SYS_swapoff, 451 /* cachestat */,
    // namespaces, keys, filters
    SYS_unshare, SYS_setns, SYS_keyctl, SYS_add_key, SYS_request_key, SYS_bpf, SYS_seccomp, SYS_userfaultfd,
    447 /* memfd_secret */,
    // network: only socketpair, below
    SYS_socket, SYS_bind, SYS_connect, SYS_listen, SYS_accept, SYS_accept4,
    // the machine
    SYS_kexec_load, SYS_kexec_file_load, SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_reboot, SYS_syslog,
    SYS_sethostname, SYS_setdomainname, SYS_settimeofday, SYS_clock_settime, SYS_clock_adjtime, SYS_adjtimex,
    SYS_vhangup,
#ifdef __x86_64__
    SYS_iopl, SYS_ioperm, SYS_modify_ldt, SYS_uselib, SYS_ustat, SYS_sysfs, SYS__sysctl, SYS_inotify_init,
#endif
};

#define NEW_NAMESPACES                                                                                                 \
  (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)

// Rules on one argument (its lower half: the kernel reads no more): deny when it is, is not, or has bits of a value.
static const struct rule {
  int call, argument;
  enum { IS, IS_NOT, HAS } when;
  unsigned value;
} rules[] = {
    {SYS_clone, 0, HAS, NEW_NAMESPACES},
    {SYS_socketpair, 0, IS_NOT, AF_UNIX},
    {SYS_prlimit64, 0, IS_NOT, 0}, // without root the first process of the box has the program's id
    {SYS_personality, 0, IS_NOT, 0xffffffff}, // asking is allowed
    {SYS_ioctl, 1, IS, TIOCSTI},
    {SYS_ioctl, 1, IS, 0x541c /* TIOCLINUX */},
    // fallocate by other names, and hints that make a file system allocate
    {SYS_ioctl, 1, IS, 0x40305828 /* FS_IOC_RESVSP */},
    {SYS_ioctl, 1, IS, 0x40305829 /* FS_IOC_UNRESVSP */},
    {SYS_ioctl, 1, IS, 0x4030582a /* FS_IOC_RESVSP64 */},
    {SYS_ioctl, 1, IS, 0x4030582b /* FS_IOC_UNRESVSP64 */},
    {SYS_ioctl, 1, IS, 0x40305839 /* FS_IOC_ZERO_RANGE */},
    {SYS_ioctl, 1, IS, 0x40049409 /* FICLONE */},
    {SYS_ioctl, 1, IS, 0x4020940d /* FICLONERANGE */},
    {SYS_ioctl, 1, IS, 0x40086602 /* FS_IOC_SETFLAGS */},
    {SYS_ioctl, 1, IS, 0x401c5820 /* FS_IOC_FSSETXATTR */},
    {SYS_fcntl, 1, IS, F_SETPIPE_SZ},
    {SYS_fcntl, 1, IS, F_SETLEASE},
    {SYS_fcntl, 1, IS, F_NOTIFY},
    {SYS_prctl, 0, IS, PR_SET_SECCOMP},
    {SYS_prctl, 0, IS, PR_SET_MM},
};

#define COUNT(list) (sizeof(list) / sizeof *(list))
#define LOAD(field) (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)(field))
#define JUMP(test, value, yes, no) (struct sock_filter)BPF_JUMP(BPF_JMP | (test) | BPF_K, (unsigned)(value), yes, no)
#define ANSWER(action) (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action)

// The filter is a binary search by number: the kernel tries every call on it whenever it is installed, which is at each
// run. Jumps lead forward and over at most 255 instructions, so it is written from its end: answers, rules, search.
enum { CODE_MAX = 512, JUMP_MAX = 255, NUMBERS = NEWEST_CALL + 1 };
enum answer { ALLOWED, ABSENT, UNSUPPORTED, DENIED, KILLED, ANSWERS }; // and after these the rules, by their place

static struct sock_filter code[CODE_MAX];
static unsigned top = CODE_MAX, targets[ANSWERS + COUNT(rules)];
static unsigned char answers[NUMBERS];
static struct range { unsigned first, target; } ranges[NUMBERS + 2];
static bool too_long;

static unsigned put(struct sock_filter instruction) {
  if (top == 0) return too_long = true, 0;
  code[--top] = instruction;
  return top;
}

static unsigned branch(unsigned short test, unsigned value, unsigned yes, unsigned no) {
  if (yes - top > JUMP_MAX || no - top > JUMP_MAX) too_long = true;
  return put(JUMP(test, value, (unsigned char)(yes - top), (unsigned char)(no - top)));
}

static void mark(const int *calls, size_t count, enum answer answer) {
  for (size_t i = 0; i < count; i++) answers[calls[i]] = (unsigned char)answer;
}

// All rules on a call look at the same argument.
static void put_rules(size_t first) {
  unsigned next = targets[ALLOWED], denies = targets[DENIED];
  for (size_t i = COUNT(rules); i-- > first;) {
    const struct rule *rule = rules + i;
    if (rule->call != rules[first].call) continue;
    if (rule->when == IS_NOT) next = branch(BPF_JEQ, rule->value, next, denies);
    else next = branch(rule->when == HAS ? BPF_JSET : BPF_JEQ, rule->value, denies, next);
  }
  targets[ANSWERS + first] = put(LOAD(offsetof(struct seccomp_data, args) + 8 * (size_t)rules[first].argument));
  answers[rules[first].call] = (unsigned char)(ANSWERS + first);
}

static unsigned search(size_t from, size_t to) {
  size_t middle = from + (to - from) / 2;
  if (to - from == 1) return ranges[from].target;
  unsigned above = search(middle, to), below = search(from, middle);
  return branch(BPF_JGE, ranges[middle].first, above, below);
}

int seccomp_prepare(void) {
  static const unsigned actions[ANSWERS] = {[ALLOWED] = SECCOMP_RET_ALLOW, [ABSENT] = SECCOMP_RET_ERRNO | ENOSYS,
      [UNSUPPORTED] = SECCOMP_RET_ERRNO | EOPNOTSUPP, [DENIED] = SECCOMP_RET_ERRNO | EPERM,
      [KILLED] = SECCOMP_RET_KILL_PROCESS};
  size_t count = 0;
  for (int answer = 0; answer < ANSWERS; answer++) targets[answer] = put(ANSWER(actions[answer]));
  mark(absent, COUNT(absent), ABSENT);
  mark(unsupported, COUNT(unsupported), UNSUPPORTED);
  mark(denied, COUNT(denied), DENIED);
  for (size_t i = 0; i < COUNT(rules); i++)
    if (answers[rules[i].call] == ALLOWED) put_rules(i);
  for (unsigned call = 0; call < NUMBERS; call++)
    if (call == 0 || answers[call] != answers[call - 1]) ranges[count++] = (struct range){call, targets[answers[call]]};
  ranges[count++] = (struct range){NUMBERS, targets[ABSENT]};
  ranges[count++] = (struct range){X32_BIT, targets[KILLED]};
  search(0, count);
  put(LOAD(offsetof(struct seccomp_data, nr)));
  branch(BPF_JEQ, NATIVE_ARCH, top, targets[KILLED]);
  put(LOAD(offsetof(struct seccomp_data, arch)));
  return too_long ? (errno = E2BIG, failed("build the filter of system calls")) : 0;
}

int seccomp_install(void) {
  struct sock_fprog program = {(unsigned short)(CODE_MAX - top), code + top};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return failed("prctl(PR_SET_NO_NEW_PRIVS)");
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0 ? 0 : failed("prctl(PR_SET_SECCOMP)");
}
