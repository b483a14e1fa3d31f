// A child process that may do next to nothing.
#ifndef CLINUX_CONFINED_H
#define CLINUX_CONFINED_H

/// Starts `argv[0]` (looked up in the server's PATH) like `clinux_spawn`, in `/`, and confined for good, with whatever it starts:
/// of the file system it may read and run what lies under the paths of `readable` (those that exist), read the open file
/// `source` by its path, and change nothing (Landlock); it makes no socket, and neither signals nor traces another process
/// (seccomp). Returns 0 and the process id, or an errno value: EOPNOTSUPP when this system cannot confine.
int clinux_spawn_confined(int *_Nonnull pid, char *_Nullable const *_Nonnull argv, char *_Nullable const *_Nonnull environment,
                          const int *_Nonnull standard, char *_Nullable const *_Nonnull readable, int source);

#endif
