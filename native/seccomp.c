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

// Blocks beyond the end of a file are not seen in its size, nor by the limit on it. C libraries write zeros instead.
static const int unsupported[] = {SYS_fallocate};

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

static struct sock_filter code[16 + 2 * (COUNT(absent) + COUNT(unsupported) + COUNT(denied)) + 5 * COUNT(rules)];
static unsigned short length;

static void refuse(const int *calls, size_t count, unsigned error) {
  for (size_t i = 0; i < count; i++) {
    code[length++] = JUMP(BPF_JEQ, calls[i], 0, 1);
    code[length++] = ANSWER(SECCOMP_RET_ERRNO | error);
  }
}

static void build(void) {
  code[length++] = LOAD(offsetof(struct seccomp_data, arch));
  code[length++] = JUMP(BPF_JEQ, NATIVE_ARCH, 1, 0);
  code[length++] = ANSWER(SECCOMP_RET_KILL_PROCESS);
  code[length++] = LOAD(offsetof(struct seccomp_data, nr));
  code[length++] = JUMP(BPF_JGT, NEWEST_CALL, 0, 3);
  code[length++] = JUMP(BPF_JGE, X32_BIT, 0, 1);
  code[length++] = ANSWER(SECCOMP_RET_KILL_PROCESS);
  code[length++] = ANSWER(SECCOMP_RET_ERRNO | ENOSYS);
  refuse(absent, COUNT(absent), ENOSYS);
  refuse(unsupported, COUNT(unsupported), EOPNOTSUPP);
  refuse(denied, COUNT(denied), EPERM);
  for (const struct rule *rule = rules; rule < rules + COUNT(rules); rule++) {
    bool hit_skips = rule->when == IS_NOT;
    code[length++] = JUMP(BPF_JEQ, rule->call, 0, 4);
    code[length++] = LOAD(offsetof(struct seccomp_data, args) + 8 * (size_t)rule->argument);
    code[length++] = JUMP(rule->when == HAS ? BPF_JSET : BPF_JEQ, rule->value, hit_skips, !hit_skips);
    code[length++] = ANSWER(SECCOMP_RET_ERRNO | EPERM);
    code[length++] = LOAD(offsetof(struct seccomp_data, nr));
  }
  code[length++] = ANSWER(SECCOMP_RET_ALLOW);
}

int seccomp_install(void) {
  if (length == 0) build();
  struct sock_fprog program = {length, code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return failed("prctl(PR_SET_NO_NEW_PRIVS)");
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0 ? 0 : failed("prctl(PR_SET_SECCOMP)");
}
