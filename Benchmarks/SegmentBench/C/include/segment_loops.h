// SPDX-License-Identifier: Apache-2.0

// The floors: what the hardware and OpenSSL ask for, with nothing around it.
#ifndef SEGMENT_LOOPS_H
#define SEGMENT_LOOPS_H

#include <stddef.h>
#include <stdint.h>

/// Encrypts plain texts that lie back to back (AES-128-CBC, PKCS#7), each into the start of `out` under its own context, with its
/// number as the initialization vector. Returns the bytes written in all, 0 on failure.
size_t loop_segments(const uint8_t *_Nonnull plain, const size_t *_Nonnull lengths, size_t count, uint8_t *_Nonnull out,
                     const uint8_t *_Nonnull key);

/// Copies `count` bytes into fresh memory this many times. Returns the bytes copied in all.
size_t loop_copies(const uint8_t *_Nonnull from, size_t count, int times);

#endif
