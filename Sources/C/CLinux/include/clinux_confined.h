// SPDX-License-Identifier: Apache-2.0

// A child process that may do next to nothing.
#ifndef CLINUX_CONFINED_H
#define CLINUX_CONFINED_H

#include <stdint.h>

/// Resource limits of a program: seconds of processor time, bytes of memory, bytes of a file that it writes, open files.
struct clinux_limits {
    uint64_t seconds, memory, written, files;
};

/// Starts `argv[0]` (looked up in the server's PATH) like `clinux_spawn`, in `/`, and confined permanently, with all its
/// children: it may read and execute files below the paths in `readable` (those that exist), read the open file `source` by its
/// path, and change nothing (Landlock); it makes no socket, and neither signals nor traces another process (seccomp); it uses no
/// more than `limits`, and leaves no core dump. Returns 0 and the process id, or an errno value: EOPNOTSUPP if this system cannot
/// confine.
int clinux_spawn_confined(int *_Nonnull pid, char *_Nullable const *_Nonnull argv, char *_Nullable const *_Nonnull environment,
                          const int *_Nonnull standard, char *_Nullable const *_Nonnull readable, int source,
                          struct clinux_limits limits);

/// Starts a child that continues here with a copy of this program's memory and one thread, for work on untrusted bytes that may
/// break, never end or be taken over. It keeps the descriptors `kept` (ascending) and no other, has default signals, may use
/// `memory` bytes more than now and `milliseconds` of processor time, makes no file longer than `written` bytes, and ends with
/// the thread that started it. It can only make system calls for memory, files and the clock, if the architecture is known
/// (seccomp), and can only open files that it keeps, if the kernel supports that (Landlock). It must end with `_exit`, and must
/// not wait for another thread. C++ code that gets no memory ends it with the code CLINUX_NO_MEMORY, and SIGPROF (or SIGKILL)
/// when its time is over. Returns the process id, 0 in the child, or -1 with errno.
int clinux_fork_confined(const int *_Nonnull kept, int count, uint64_t memory, uint64_t milliseconds,
                         uint64_t written);

#define CLINUX_NO_MEMORY 125

#endif
