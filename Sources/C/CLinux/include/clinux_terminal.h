// SPDX-License-Identifier: Apache-2.0

// Prompts at a terminal with hidden input.
#ifndef CLINUX_TERMINAL_H
#define CLINUX_TERMINAL_H

#include <stddef.h>

/// Reads a line from a terminal without echo, then restores the terminal's settings, also if the user interrupts (Ctrl-C,
/// Ctrl-\): then the process gets SIGINT afterwards. Returns the count of bytes without the line break, at most `capacity` (the
/// rest is cut off), or -1 if there is no line: an error, or an interruption.
long clinux_read_hidden(int terminal, void *_Nullable line, size_t capacity);

#endif
