// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "clinux_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

ptrdiff_t clinux_read_cached(int descriptor, void *bytes, size_t count, int64_t offset) {
    struct iovec piece = {bytes, count};
    return preadv2(descriptor, &piece, 1, offset, RWF_NOWAIT);
}

int clinux_write(int descriptor, const void *bytes, size_t count) {
    const char *rest = bytes;
    while (count > 0) {
        // a disk that has room for a part takes it without an error; only the next call says why it took no more
        ssize_t written = write(descriptor, rest, count);
        if (written < 0 && errno != EINTR) return -1;
        if (written <= 0) continue;
        rest += written;
        count -= (size_t)written;
    }
    return 0;
}

int clinux_unnamed_file(const char *folder) {
    return open(folder, O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
}

int clinux_rename_new(const char *old, const char *fresh) {
    return renameat2(AT_FDCWD, old, AT_FDCWD, fresh, RENAME_NOREPLACE);
}

int clinux_sync_file_system(int descriptor) { return syncfs(descriptor); }

int clinux_sealable_file(void) {
    return memfd_create("carrel", MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

int clinux_seal(int descriptor) {
    return fcntl(descriptor, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
}
