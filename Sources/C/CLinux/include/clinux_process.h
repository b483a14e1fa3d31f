// SPDX-License-Identifier: Apache-2.0

// Starting a child process and waiting for it.
#ifndef CLINUX_PROCESS_H
#define CLINUX_PROCESS_H

#include <stdint.h>

/// Starts `argv[0]` (looked up in PATH) in a new session with default signals, an empty signal mask and only the three
/// descriptors in `standard`, which become 0, 1 and 2. Returns 0 and the process id, or an errno value.
int clinux_spawn(int *_Nonnull pid, char *_Nullable const *_Nonnull argv, char *_Nullable const *_Nonnull environment,
                 const char *_Nullable directory, const int *_Nonnull standard);

/// A pipe whose two ends (read, write) close on exec. Returns 0 or an errno value.
int clinux_pipe(int *_Nonnull ends);

/// A file in memory without a name that closes on exec, or -1 with errno.
int clinux_memory_file(void);

/// A descriptor that polls readable once the child has ended, or -1 with errno.
int clinux_pidfd(int pid);

/// An eventfd that closes on exec and does not block, or -1 with errno.
int clinux_eventfd(void);

/// Makes an eventfd readable.
void clinux_eventfd_signal(int descriptor);

/// Makes an eventfd unreadable again.
void clinux_eventfd_clear(int descriptor);

/// Waits for the child to end without reaping it, so that its id stays its own. Returns 0 or an errno value.
int clinux_wait_unreaped(int pid);

/// Whether the child ends within some milliseconds; it is not reaped.
int clinux_ends_within(int pid, int milliseconds);

/// Reaps the child. Returns its exit code, minus the number of the signal that ended it, or -1000.
int clinux_reap(int pid);

/// Whether this process or a descendant holds the socket with this inode: 1, 0, or minus an errno value. It reads /proc:
/// descendants whose parent has ended, or whose descriptors this user may not list, do not count.
int clinux_own_processes_hold(uint32_t socket);

#endif
