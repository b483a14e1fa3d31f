// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "clinux_service.h"

#include <errno.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

void clinux_forbid_dumps(void) {
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
}

int64_t clinux_raise_descriptors(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit)) return 1024;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    getrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur > INT32_MAX ? INT32_MAX : (int64_t)limit.rlim_cur;
}

static int stop_event = -1;
static volatile sig_atomic_t stop_count;
static volatile sig_atomic_t stop_signal;

// Whatever thread the signal comes to: a counter and a write are all that a handler may do.
static void note_stop(int signal) {
    int saved = errno;
    if (stop_count++) _exit(128 + signal);
    stop_signal = signal;
    eventfd_write(stop_event, 1);
    errno = saved;
}

void clinux_catch_stop(void) {
    stop_event = eventfd(0, EFD_CLOEXEC);
    struct sigaction action = {.sa_handler = note_stop, .sa_flags = SA_RESTART};
    sigfillset(&action.sa_mask);
    sigaction(SIGTERM, &action, 0);
    sigaction(SIGINT, &action, 0);
    // a terminal that closes; not if the caller wants to survive it
    struct sigaction before;
    if (!sigaction(SIGHUP, 0, &before) && before.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, 0);
}

void clinux_wait_for_stop(void) {
    eventfd_t count;
    while (eventfd_read(stop_event, &count) && errno == EINTR) {}
}

int clinux_stop_signal(void) { return stop_signal; }
