// SPDX-License-Identifier: Apache-2.0

// The floor: the same OpenSSL calls in C, with nothing around them.
#ifndef CRYPTO_LOOPS_H
#define CRYPTO_LOOPS_H

#include <stddef.h>
#include <stdint.h>

/// Encrypts `plain` (AES-128-CBC, PKCS#7) into `out` this many times, each under its own context.
/// Returns the bytes written the last time, 0 on failure.
size_t loop_aes_cbc(const uint8_t *_Nonnull plain, size_t count, uint8_t *_Nonnull out, const uint8_t *_Nonnull key,
                    const uint8_t *_Nonnull iv, int times);

/// Authenticates `message` (HMAC-SHA-256) this many times in one context that keeps its key. Returns 0 on failure.
int loop_hmac(const uint8_t *_Nonnull message, size_t count, uint8_t *_Nonnull tag, const uint8_t *_Nonnull key,
              size_t key_count, int times);

#endif
