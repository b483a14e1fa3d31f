#define _GNU_SOURCE
#include "clinux_file.h"

#include <sys/uio.h>

ptrdiff_t clinux_read_cached(int descriptor, void *bytes, size_t count, int64_t offset) {
    struct iovec piece = {bytes, count};
    return preadv2(descriptor, &piece, 1, offset, RWF_NOWAIT);
}
