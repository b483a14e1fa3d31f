// SPDX-License-Identifier: Apache-2.0

// zlib's initialisers are macros.
#ifndef CZLIB_SHIM_H
#define CZLIB_SHIM_H

#include <zlib.h>

/// Compresses into one gzip member. Returns its length, or 0 if it does not fit into `room` bytes.
static inline unsigned long czlib_gzip(
    const unsigned char *_Nonnull bytes, unsigned long count, unsigned char *_Nonnull out, unsigned long room, int level) {
    z_stream stream = {0};
    if (deflateInit2(&stream, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) return 0;
    stream.next_in = (unsigned char *)bytes;
    stream.avail_in = (unsigned int)count;
    stream.next_out = out;
    stream.avail_out = (unsigned int)room;
    int status = deflate(&stream, Z_FINISH);
    unsigned long written = stream.total_out;
    deflateEnd(&stream);
    return status == Z_STREAM_END ? written : 0;
}

/// Makes a stream ready to unpack raw deflate (RFC 1951). Returns zlib's status.
static inline int czlib_inflate_start(z_stream *_Nonnull stream) {
    return inflateInit2(stream, -15);
}

#endif
