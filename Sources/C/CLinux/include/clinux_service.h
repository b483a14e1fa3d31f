// SPDX-License-Identifier: Apache-2.0

// System calls of a server process.
#ifndef CLINUX_SERVICE_H
#define CLINUX_SERVICE_H

#include <stdint.h>

/// Lets the process open as many files as it may at all. Returns how many.
int64_t clinux_raise_descriptors(void);

/// Disables core dumps and lets no other process of the user read this one's memory.
void clinux_forbid_dumps(void);

/// From here on the first SIGTERM or SIGINT only makes `clinux_wait_for_stop` return, and the second ends the process.
void clinux_catch_stop(void);

/// Waits for the first SIGTERM or SIGINT.
void clinux_wait_for_stop(void);

/// The number of the signal that `clinux_wait_for_stop` returned for; 0 before.
int clinux_stop_signal(void);

#endif
