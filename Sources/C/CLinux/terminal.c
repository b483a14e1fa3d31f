// SPDX-License-Identifier: Apache-2.0

#include "clinux_terminal.h"

#include <errno.h>
#include <signal.h>
#include <termios.h>
#include <unistd.h>

long clinux_read_hidden(int terminal, void *line, size_t capacity) {
    struct termios before;
    if (tcgetattr(terminal, &before)) return -1;
    struct termios hidden = before;
    hidden.c_lflag &= ~(tcflag_t)(ECHO | ISIG);
    // Without signals, what makes them ends a line.
    hidden.c_cc[VEOL] = before.c_cc[VINTR];
    hidden.c_cc[VEOL2] = before.c_cc[VQUIT];
    if (tcsetattr(terminal, TCSAFLUSH, &hidden)) return -1;
    size_t count = 0;
    int interrupted = 0;
    unsigned char byte;
    for (;;) {
        ssize_t got = read(terminal, &byte, 1);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0 || byte == '\n') break;
        interrupted = byte == before.c_cc[VINTR] || byte == before.c_cc[VQUIT];
        if (interrupted) break;
        if (count < capacity) ((unsigned char *)line)[count++] = byte;
    }
    tcsetattr(terminal, TCSAFLUSH, &before);
    while (write(terminal, "\n", 1) < 0 && errno == EINTR) {}
    if (!interrupted) return (long)count;
    kill(getpid(), SIGINT);
    return -1;
}
