// SPDX-License-Identifier: Apache-2.0

// The floors of MediaBench: OpenSSL on ranges of a buffer, one call for each.
#include <stddef.h>
#include <stdint.h>

// A range of a buffer, the sample it belongs to, and whether it begins a message.
struct media_range {
    size_t start;
    size_t count;
    uint32_t starts;
    uint8_t iv[16];
};

// Decrypts the ranges where they lie, with AES-128-CTR, or AES-128-CBC when `chained`. Returns how many.
size_t media_loop(uint8_t *buffer, const struct media_range *ranges, size_t count, const uint8_t *key, int chained);
