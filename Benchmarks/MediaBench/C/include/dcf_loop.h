// SPDX-License-Identifier: Apache-2.0

#ifndef DCF_LOOP_H
#define DCF_LOOP_H

#include <stddef.h>
#include <stdint.h>

/// A DCF with one object.
struct dcf_file {
    /// The offset of the ciphertext, and its blocks of 64 KiB.
    uint64_t start, blocks;
    int chained, has_tags;
    uint8_t key[16], iv[16], tag_key[16];
};

/// Reads blocks of 64 KiB in the given order, checks their tags and decrypts them, each in the same buffer of 64 KiB and 16 bytes.
///
/// Returns 1, or 0 if a block cannot be read or was changed.
int dcf_loop(int file, const uint64_t *_Nonnull blocks, size_t count, const struct dcf_file *_Nonnull dcf,
             const uint8_t *_Nonnull tags, uint8_t *_Nonnull buffer);

#endif
