// SPDX-License-Identifier: Apache-2.0

// The floor: the system call and the OpenSSL calls that a range of an encrypted entry needs, in C, with nothing around them.
#ifndef PUBLICATION_LOOPS_H
#define PUBLICATION_LOOPS_H

#include <stddef.h>
#include <stdint.h>

/// Reads ranges of cipher text (AES-256-CBC) with the block before each by `pread` and decrypts them, one after another, in one context.
///
/// `start` is where the cipher text begins in the file, its initialization vector counted; `offsets` are of plain bytes, multiples of 16;
/// `scratch` has room for `size` and 16 bytes, `out` for `size`. Returns the sum of the first bytes of each range, or -1 on failure.
int64_t loop_decrypt_ranges(int file, int64_t start, const int64_t *_Nonnull offsets, size_t count, size_t size,
                            const uint8_t *_Nonnull key, uint8_t *_Nonnull scratch, uint8_t *_Nonnull out);

/// Signs with RSA (PKCS #1 v1.5) and SHA-256 under the private key in a PEM file. Returns the length of the signature, or 0 on failure.
size_t loop_sign(const char *_Nonnull path, const uint8_t *_Nonnull message, size_t count, uint8_t *_Nonnull out, size_t room);

#endif
