// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "clinux_confined.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

// Landlock as the kernel's documentation has it; Debian's header knows only what its own kernel does.
#define CREATE_RULESET 444
#define ADD_RULE 445
#define RESTRICT_SELF 446
#define RULE_PATH_BENEATH 1
#define EXECUTE (1u << 0)
#define WRITE_FILE (1u << 1)
#define READ_FILE (1u << 2)
#define READ_DIR (1u << 3)
#define TRUNCATE (1u << 14)
/// Not to signal, nor to reach abstract sockets of, anyone outside (ABI 6).
#define SCOPES 3u

struct ruleset {
    uint64_t files, network, scopes;
};

struct __attribute__((packed)) path_beneath {
    uint64_t allowed;
    int32_t parent;
};

/// The system calls refused to a program that is started; it stays in its group of processes, which ends as one. Landlock before ABI 4 has no network and before ABI 6 no signals.
static const uint32_t refused[] = {
    SYS_socket,           SYS_io_uring_setup,  SYS_ptrace,     SYS_process_vm_readv,   SYS_process_vm_writev,   SYS_kill,
    SYS_setsid,           SYS_setpgid,
    SYS_tkill,            SYS_tgkill,          SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, SYS_pidfd_send_signal,
    // Limits of other processes, and calls that no decoder needs and kernels had holes in.
    SYS_prlimit64,        SYS_setrlimit,       SYS_perf_event_open, SYS_bpf,               SYS_userfaultfd,
    SYS_add_key,          SYS_request_key,     SYS_keyctl,
    // System V IPC
    SYS_shmget,           SYS_shmat,           SYS_shmctl,     SYS_shmdt,              SYS_semget,
    SYS_semop,            SYS_semtimedop,      SYS_semctl,     SYS_msgget,             SYS_msgsnd,
    SYS_msgrcv,           SYS_msgctl,
};

/// All that may be called after a fork, to work on bytes.
static const uint32_t allowed[] = {
    SYS_read,         SYS_readv,          SYS_pread64,     SYS_write,        SYS_writev,        SYS_pwrite64,
    SYS_lseek,        SYS_openat,         SYS_close,       SYS_fstat,         SYS_newfstatat,
    SYS_brk,          SYS_mmap,           SYS_munmap,      SYS_mremap,       SYS_mprotect,      SYS_madvise,
    SYS_futex,        SYS_rt_sigaction,   SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_sigaltstack, SYS_getpid,
    SYS_getppid,      SYS_gettid,         SYS_getrandom,   SYS_sysinfo,      SYS_clock_gettime, SYS_gettimeofday,
    SYS_sched_yield,  SYS_exit,           SYS_exit_group,
};
#define COUNT(array) (sizeof array / sizeof array[0])
#define FILTER_LENGTH(count) ((count) + 8)

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

/// The version of this kernel's Landlock, and all kinds of access to files that it knows; 0 if there is none.
static long landlock_version(uint64_t *kinds) {
    long version = syscall(CREATE_RULESET, NULL, 0, 1);
    // 13 kinds, then renaming to elsewhere (2), truncating (3) and device calls (5).
    *kinds = (1u << (version >= 5 ? 16 : version >= 3 ? 15 : version == 2 ? 14 : 13)) - 1;
    return version < 1 ? 0 : version;
}

/// An empty rule set, which allows nothing; or -1.
static int make_ruleset(long version, uint64_t kinds) {
    struct ruleset attributes = {.files = kinds, .scopes = version >= 6 ? SCOPES : 0};
    return (int)syscall(CREATE_RULESET, &attributes, sizeof attributes, 0);
}

static int allow(int ruleset, int descriptor, uint64_t kinds) {
    struct stat status;
    if (fstat(descriptor, &status)) return errno;
    struct path_beneath rule = {.allowed = kinds, .parent = descriptor};
    if (S_ISDIR(status.st_mode)) rule.allowed |= READ_DIR;
    return syscall(ADD_RULE, ruleset, RULE_PATH_BENEATH, &rule, 0) ? errno : 0;
}

/// A rule set to read and run what lies under `readable`, and to read `source`; or minus an errno value.
static int make_reading_ruleset(char *const *readable, int source) {
    uint64_t kinds;
    long version = landlock_version(&kinds);
    int ruleset = version ? make_ruleset(version, kinds) : -1;
    if (ruleset < 0) return -EOPNOTSUPP;
    int error = allow(ruleset, source, READ_FILE);
    // What is in memory cannot be named by a rule, and needs none.
    if (error == EBADFD) error = 0;
    for (; *readable && !error; readable++) {
        int descriptor = open(*readable, O_PATH | O_CLOEXEC);
        if (descriptor < 0) continue;
        error = allow(ruleset, descriptor, READ_FILE | EXECUTE);
        close(descriptor);
    }
    if (!error) return ruleset;
    close(ruleset);
    return -error;
}

/// A filter as a program of at most `FILTER_LENGTH(count)`: `listed` for the calls `numbers`, `other` for all others. Returns its
/// length, or 0 if it is not known how calls are numbered.
static unsigned short make_filter(struct sock_filter *program, const uint32_t *numbers, unsigned count, uint32_t listed, uint32_t other) {
#ifdef ARCHITECTURE
    unsigned short length = 0;
    program[length++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
    program[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0);
    program[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    program[length++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    // The second table of numbers that x86-64 has (x32).
    program[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1);
    program[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    for (unsigned i = 0; i < count; i++) {
        program[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, numbers[i], count - i, 0);
    }
    program[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, other);
    program[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, listed);
    return length;
#else
    (void)program, (void)numbers, (void)count, (void)listed, (void)other;
    return 0;
#endif
}

/// Both limits of a resource, which are never raised; returns an errno value.
static int lower(int resource, rlim_t amount) {
    struct rlimit limit;
    if (getrlimit(resource, &limit)) return errno;
    if (amount < limit.rlim_max) limit.rlim_max = amount;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(resource, &limit) ? errno : 0;
}

/// In the child, on the parent's memory: nothing but system calls. Returns an errno value if it returns at all.
static int become(char *const *argv, char *const *environment, const int *standard, int ruleset, const struct sock_fprog *filter,
                  const struct clinux_limits *limits) {
    for (int signal = 1; signal < NSIG; signal++) {
        struct sigaction plain = {.sa_handler = SIG_DFL};
        sigaction(signal, &plain, NULL);
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (setsid() < 0 || chdir("/")) return errno;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return errno;
    if (syscall(RESTRICT_SELF, ruleset, 0)) return EOPNOTSUPP;
    // The filter refuses the call that limits, so that the program cannot limit others.
    int error = lower(RLIMIT_CPU, limits->seconds);
    if (!error) error = lower(RLIMIT_AS, limits->memory);
    if (!error) error = lower(RLIMIT_FSIZE, limits->written);
    if (!error) error = lower(RLIMIT_NOFILE, limits->files);
    if (!error) error = lower(RLIMIT_CORE, 0);
    if (error) return error;
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter)) return EOPNOTSUPP;
    for (int i = 0; i < 3; i++) {
        if (standard[i] == i ? fcntl(i, F_SETFD, 0) < 0 : dup2(standard[i], i) < 0) return errno;
    }
    if (close_range(3, ~0u, 0)) return errno;
    execvpe(argv[0], argv, environment);
    return errno;
}

int clinux_spawn_confined(int *pid, char *const *argv, char *const *environment, const int *standard, char *const *readable,
                          int source, struct clinux_limits limits) {
    struct sock_filter program[FILTER_LENGTH(COUNT(refused))];
    unsigned short length = make_filter(program, refused, COUNT(refused), SECCOMP_RET_ERRNO | EPERM, SECCOMP_RET_ALLOW);
    struct sock_fprog filter = {.len = length, .filter = program};
    if (!length) return EOPNOTSUPP;
    int ruleset = make_reading_ruleset(readable, source);
    if (ruleset < 0) return -ruleset;
    // No handler of ours may run in the child while it shares our memory.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    volatile int error = 0;
    pid_t child = vfork();
    if (child == 0) {
        error = become(argv, environment, standard, ruleset, &filter, &limits);
        _exit(127);
    }
    if (child < 0) error = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(ruleset);
    if (child > 0 && error) {
        int status;
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    }
    *pid = child;
    return error;
}

static void limit(int resource, rlim_t amount) {
    struct rlimit limit;
    if (getrlimit(resource, &limit)) _exit(126);
    if (amount < limit.rlim_max) limit.rlim_max = amount;
    if (limit.rlim_cur > limit.rlim_max) limit.rlim_cur = limit.rlim_max;
    if (setrlimit(resource, &limit)) _exit(126);
}

/// Confines the process as far as this system can: only the descriptors in `kept`, and only system calls for memory and bytes.
/// Returns 0 or -1.
static int confine(const int *kept, int count) {
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return -1;
    uint64_t kinds;
    long version = landlock_version(&kinds);
    if (version) {
        int ruleset = make_ruleset(version, kinds);
        if (ruleset < 0) return -1;
        struct stat status;
        for (int i = 0; i < count; i++) {
            // As it was opened. What has no place in a file system (a pipe, memory) cannot be named by a rule, and needs none.
            int mode = fcntl(kept[i], F_GETFL) & O_ACCMODE;
            uint64_t wanted = (mode == O_WRONLY ? 0 : READ_FILE) | (mode == O_RDONLY ? 0 : WRITE_FILE | TRUNCATE);
            if (kept[i] > STDERR_FILENO && !fstat(kept[i], &status) && S_ISREG(status.st_mode)) allow(ruleset, kept[i], kinds & wanted);
        }
        if (syscall(RESTRICT_SELF, ruleset, 0) || close(ruleset)) return -1;
    }
    // EINVAL: a kernel without seccomp.
    if (prctl(PR_GET_SECCOMP) < 0 && errno == EINVAL) return 0;
    struct sock_filter program[FILTER_LENGTH(COUNT(allowed))];
    unsigned short length = make_filter(program, allowed, COUNT(allowed), SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO | EPERM);
    struct sock_fprog filter = {.len = length, .filter = program};
    return length && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) ? -1 : 0;
}

/// The function that C++ calls when there is no memory, instead of an exception, which libraries would mistake for damaged input.
static void end_without_memory(void) { _exit(CLINUX_NO_MEMORY); }

int clinux_fork_confined(const int *kept, int count, uint64_t memory, uint64_t milliseconds, uint64_t written) {
    // std::set_new_handler, where C++ is loaded. Looked up before there are two: another thread may hold the loader's lock.
    void (*(*set_new_handler)(void (*)(void)))(void);
    *(void **)&set_new_handler = dlsym(RTLD_DEFAULT, "_ZSt15set_new_handlerPFvvE");
    // jemalloc, if it is linked, keeps freed memory for a while: the child would have the use of it.
    int (*mallctl)(const char *, void *, size_t *, void *, size_t);
    *(void **)&mallctl = dlsym(RTLD_DEFAULT, "mallctl");
    if (mallctl) {
        mallctl("thread.tcache.flush", NULL, NULL, NULL, 0);
        // 4096 are all arenas (MALLCTL_ARENAS_ALL)
        mallctl("arena.4096.purge", NULL, NULL, NULL, 0);
    }
    // Read before the fork: /proc/self/statm begins with the pages of addresses in use; the sixth figure are those that can be
    // written, without what is only reserved.
    char text[128] = "";
    int statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (statm < 0) return -1;
    ssize_t length = read(statm, text, sizeof text - 1);
    close(statm);
    if (length <= 0) return -1;
    uint64_t used[6];
    char *next_figure = text;
    for (int i = 0; i < 6; i++) used[i] = strtoull(next_figure, &next_figure, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
    pid_t parent = getpid(), child = fork();
    if (child) return child;
    for (int signal = 1; signal < NSIG; signal++) {
        struct sigaction plain = {.sa_handler = SIG_DFL};
        sigaction(signal, &plain, NULL);
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent) _exit(126);
    unsigned next = 0;
    for (int i = 0; i < count; i++) {
        if ((unsigned)kept[i] > next && close_range(next, (unsigned)kept[i] - 1, 0)) _exit(126);
        next = (unsigned)kept[i] + 1;
    }
    if (close_range(next, ~0u, 0)) _exit(126);
    if (set_new_handler) set_new_handler(end_without_memory);
    limit(RLIMIT_AS, used[0] + memory);
    // The allocator has addresses in reserve for each thread, which would be free to use.
    limit(RLIMIT_DATA, used[5] + memory);
    // The timer's signal can be ignored by what takes the child over; the limit, in whole seconds, cannot.
    struct itimerval timer = {.it_value = {.tv_sec = (time_t)(milliseconds / 1000), .tv_usec = (suseconds_t)(milliseconds % 1000 * 1000)}};
    if (setitimer(ITIMER_PROF, &timer, NULL)) _exit(126);
    limit(RLIMIT_CPU, milliseconds / 1000 + 1);
    limit(RLIMIT_FSIZE, written);
    limit(RLIMIT_CORE, 0);
    if (confine(kept, count)) _exit(126);
    return 0;
}
