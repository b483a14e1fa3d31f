// SPDX-License-Identifier: Apache-2.0

// File calls of Linux that Glibc's module does not show.
#ifndef CLINUX_FILE_H
#define CLINUX_FILE_H

#include <stddef.h>
#include <stdint.h>

/// Reads like pread, but only from the page cache: -1 with errno EAGAIN if the bytes are not cached, EOPNOTSUPP if the file
/// system cannot tell.
ptrdiff_t clinux_read_cached(int descriptor, void *_Nonnull bytes, size_t count, int64_t offset);

/// Writes all of it at the place of a descriptor, in as many calls as that takes. Returns 0, or -1 with errno.
int clinux_write(int descriptor, const void *_Nullable bytes, size_t count);

/// Makes a file of mode 0600 on the disk of a folder that has no name and can never get one, open for reading and writing.
/// Returns -1 with errno EOPNOTSUPP if the file system does not support it.
int clinux_unnamed_file(const char *_Nonnull folder);

/// Renames a file, unless the new name is taken: -1 with errno EEXIST then, and with EINVAL if the file system does not support
/// it.
int clinux_rename_new(const char *_Nonnull old, const char *_Nonnull fresh);

/// Writes all files of the file system of a descriptor to the disk. Returns 0, or -1 with errno.
int clinux_sync_file_system(int descriptor);

/// Makes a file in memory that can be sealed.
int clinux_sealable_file(void);

/// Forbids for good to change a file of `clinux_sealable_file`. Returns 0, or -1 with errno.
int clinux_seal(int descriptor);

#endif
