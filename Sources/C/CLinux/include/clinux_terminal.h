// SPDX-License-Identifier: Apache-2.0

// Questions at a terminal whose answers are not shown.
#ifndef CLINUX_TERMINAL_H
#define CLINUX_TERMINAL_H

#include <stddef.h>

/// Reads a line from a terminal that does not show it, and makes the terminal show again what it showed before, also where the
/// user interrupts (Ctrl-C, Ctrl-\): then the process gets SIGINT behind it. Returns the count of bytes without the end of
/// the line, at most `capacity` (what is longer is cut off), or -1 when there is no line: an error, or an interruption.
long clinux_read_hidden(int terminal, void *_Nullable line, size_t capacity);

#endif
