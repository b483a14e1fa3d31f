// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include <stddef.h>
#include <sys/epoll.h>

// Stands before glibc's for the whole program, because of libmicrohttpd (docs/decisions/0014-epoll-wait.md): a caller that requests as many
// events as it does and is given them all is not kept waiting the next time. Every caller expects that nothing may be reported.
enum { microhttpd_events = 128 };  // MAX_EVENTS of MHD_epoll in daemon.c, 0.9.75

int epoll_wait(int epoll, struct epoll_event *events, int count, int timeout) {
    static _Thread_local int filled = -1;
    int found = epoll_pwait(epoll, events, count, filled == epoll ? 0 : timeout, NULL);
    filled = count == microhttpd_events && found == count ? epoll : -1;
    return found;
}
