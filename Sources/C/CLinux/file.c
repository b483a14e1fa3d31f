#define _GNU_SOURCE
#include "clinux_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>

ptrdiff_t clinux_read_cached(int descriptor, void *bytes, size_t count, int64_t offset) {
    struct iovec piece = {bytes, count};
    return preadv2(descriptor, &piece, 1, offset, RWF_NOWAIT);
}

int clinux_unnamed_file(const char *folder) {
    return open(folder, O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
}

int clinux_sealable_file(void) {
    return memfd_create("carrel", MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

int clinux_seal(int descriptor) {
    return fcntl(descriptor, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
}
