// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "clinux_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

int clinux_spawn(int *pid, char *const *argv, char *const *environment, const char *directory, const int *standard) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int error = posix_spawn_file_actions_init(&actions);
    if (error) return error;
    error = posix_spawnattr_init(&attributes);
    if (error) {
        posix_spawn_file_actions_destroy(&actions);
        return error;
    }
    for (int i = 0; i < 3 && !error; i++) error = posix_spawn_file_actions_adddup2(&actions, standard[i], i);
    if (!error) error = posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    if (!error && directory) error = posix_spawn_file_actions_addchdir_np(&actions, directory);
    sigset_t set;
    sigemptyset(&set);
    if (!error) error = posix_spawnattr_setsigmask(&attributes, &set);
    sigfillset(&set);
    if (!error) error = posix_spawnattr_setsigdefault(&attributes, &set);
    short flags = POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    if (!error) error = posix_spawnattr_setflags(&attributes, flags);
    pid_t child = 0;
    if (!error) error = posix_spawnp(&child, argv[0], &actions, &attributes, argv, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    *pid = child;
    return error;
}

int clinux_pipe(int *ends) { return pipe2(ends, O_CLOEXEC) ? errno : 0; }

int clinux_memory_file(void) { return memfd_create("carrel", MFD_CLOEXEC); }

int clinux_pidfd(int pid) { return pidfd_open(pid, 0); }

int clinux_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

void clinux_eventfd_signal(int descriptor) { eventfd_write(descriptor, 1); }

void clinux_eventfd_clear(int descriptor) {
    eventfd_t count;
    eventfd_read(descriptor, &count);
}

int clinux_wait_unreaped(int pid) {
    siginfo_t info;
    while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT)) {
        if (errno != EINTR) return errno;
    }
    return 0;
}

int clinux_ends_within(int pid, int milliseconds) {
    int descriptor = clinux_pidfd(pid);
    if (descriptor >= 0) {
        struct pollfd end = {.fd = descriptor, .events = POLLIN};
        int ready;
        while ((ready = poll(&end, 1, milliseconds)) < 0 && errno == EINTR) {}
        close(descriptor);
        return ready > 0;
    }
    // A system that has no such descriptors, or refuses them.
    for (int waited = 0;; waited++) {
        siginfo_t info = {.si_pid = 0};
        if (!waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT | WNOHANG) && info.si_pid == pid) return 1;
        if (waited >= milliseconds) return 0;
        usleep(1000);
    }
}

int clinux_reap(int pid) {
    int status = 0;
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR) return -1000;
    }
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : -1000;
}
