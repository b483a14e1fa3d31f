// SPDX-License-Identifier: Apache-2.0

#include "media_loops.h"
#include <openssl/evp.h>

size_t media_loop(uint8_t *buffer, const struct media_range *ranges, size_t count, const uint8_t *key, int chained) {
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    size_t done = 0;
    if (context == NULL) return 0;
    EVP_DecryptInit_ex(context, chained ? EVP_aes_128_cbc() : EVP_aes_128_ctr(), NULL, key, ranges[0].iv);
    EVP_CIPHER_CTX_set_padding(context, 0);
    for (size_t i = 0; i < count; i++) {
        int written = 0;
        uint8_t *at = buffer + ranges[i].start;
        if (ranges[i].starts) EVP_DecryptInit_ex(context, NULL, NULL, NULL, ranges[i].iv);
        if (!EVP_DecryptUpdate(context, at, &written, at, (int)ranges[i].count)) break;
        done++;
    }
    EVP_CIPHER_CTX_free(context);
    return done;
}
