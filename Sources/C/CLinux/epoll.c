#define _GNU_SOURCE
#include <stddef.h>
#include <sys/epoll.h>

// Stands before glibc's for the whole program, because of libmicrohttpd 0.9.75 (MHD_epoll in daemon.c): it takes 128 events at a time, and
// when it was given 128 it waits for more, without a limit, before it looks at those that it has. With 128 requests at once, or any
// multiple of it, nobody was answered until something else happened. So whoever was given as many events as it asked for is not kept
// waiting the next time; to be told of nothing is what every caller expects.
int epoll_wait(int epoll, struct epoll_event *events, int count, int timeout) {
    static _Thread_local int filled = -1;
    int found = epoll_pwait(epoll, events, count, filled == epoll ? 0 : timeout, NULL);
    filled = found == count ? epoll : -1;
    return found;
}
