// File calls of Linux that Glibc's module does not show.
#ifndef CLINUX_FILE_H
#define CLINUX_FILE_H

#include <stddef.h>
#include <stdint.h>

/// Reads like pread, but only what the page cache holds: -1 with errno EAGAIN when it does not, EOPNOTSUPP where a file system
/// cannot tell.
ptrdiff_t clinux_read_cached(int descriptor, void *_Nonnull bytes, size_t count, int64_t offset);

#endif
