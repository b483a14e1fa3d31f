#define _GNU_SOURCE
#include "clinux_confined.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// Landlock as the kernel's documentation has it; Debian's header knows only what its own kernel does.
#define CREATE_RULESET 444
#define ADD_RULE 445
#define RESTRICT_SELF 446
#define RULE_PATH_BENEATH 1
#define EXECUTE (1u << 0)
#define READ_FILE (1u << 2)
#define READ_DIR (1u << 3)
/// Not to signal, nor to reach abstract sockets of, anyone outside (ABI 6).
#define SCOPES 3u

struct ruleset {
    uint64_t files, network, scopes;
};

struct __attribute__((packed)) path_beneath {
    uint64_t allowed;
    int32_t parent;
};

/// What the filter refuses. Landlock before ABI 4 has no network and before ABI 6 no signals.
static const uint32_t refused[] = {
    SYS_socket,           SYS_io_uring_setup,  SYS_ptrace,     SYS_process_vm_readv,   SYS_process_vm_writev,   SYS_kill,
    SYS_tkill,            SYS_tgkill,          SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, SYS_pidfd_send_signal,
};
#define REFUSED (sizeof refused / sizeof refused[0])

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

static int allow(int ruleset, int descriptor, int runs) {
    struct stat status;
    if (fstat(descriptor, &status)) return errno;
    struct path_beneath rule = {.allowed = READ_FILE, .parent = descriptor};
    if (runs) rule.allowed |= EXECUTE;
    if (S_ISDIR(status.st_mode)) rule.allowed |= READ_DIR;
    return syscall(ADD_RULE, ruleset, RULE_PATH_BENEATH, &rule, 0) ? errno : 0;
}

/// A Landlock rule set, or minus an errno value.
static int make_ruleset(char *const *readable, int source) {
    long version = syscall(CREATE_RULESET, NULL, 0, 1);
    if (version < 1) return -EOPNOTSUPP;
    // All that the version knows: 13 kinds of access, then renaming to elsewhere (2), truncating (3) and device calls (5).
    int kinds = version >= 5 ? 16 : version >= 3 ? 15 : version == 2 ? 14 : 13;
    struct ruleset attributes = {.files = (1u << kinds) - 1, .scopes = version >= 6 ? SCOPES : 0};
    int ruleset = (int)syscall(CREATE_RULESET, &attributes, sizeof attributes, 0);
    if (ruleset < 0) return -EOPNOTSUPP;
    int error = allow(ruleset, source, 0);
    for (; *readable && !error; readable++) {
        int descriptor = open(*readable, O_PATH | O_CLOEXEC);
        if (descriptor < 0) continue;
        error = allow(ruleset, descriptor, 1);
        close(descriptor);
    }
    if (!error) return ruleset;
    close(ruleset);
    return -error;
}

/// The filter as a program. Returns its length, or 0 where it is not known how calls are numbered.
static unsigned short make_filter(struct sock_filter *program) {
#ifdef ARCHITECTURE
    unsigned short length = 0;
    program[length++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
    program[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0);
    program[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    program[length++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    // The second table of numbers that x86-64 has (x32).
    program[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, REFUSED + 1, 0);
    for (unsigned i = 0; i < REFUSED; i++) {
        program[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, refused[i], REFUSED - i, 0);
    }
    program[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    program[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    return length;
#else
    (void)program;
    return 0;
#endif
}

/// In the child, on the parent's memory: nothing but system calls. Returns an errno value if it returns at all.
static int become(char *const *argv, char *const *environment, const int *standard, int ruleset, const struct sock_fprog *filter) {
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
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter)) return EOPNOTSUPP;
    for (int i = 0; i < 3; i++) {
        if (standard[i] == i ? fcntl(i, F_SETFD, 0) < 0 : dup2(standard[i], i) < 0) return errno;
    }
    if (close_range(3, ~0u, 0)) return errno;
    execvpe(argv[0], argv, environment);
    return errno;
}

int clinux_spawn_confined(int *pid, char *const *argv, char *const *environment, const int *standard, char *const *readable,
                          int source) {
    struct sock_filter program[REFUSED + 8];
    struct sock_fprog filter = {.len = make_filter(program), .filter = program};
    if (!filter.len) return EOPNOTSUPP;
    int ruleset = make_ruleset(readable, source);
    if (ruleset < 0) return -ruleset;
    // No handler of ours may run in the child while it shares our memory.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    volatile int error = 0;
    pid_t child = vfork();
    if (child == 0) {
        error = become(argv, environment, standard, ruleset, &filter);
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
