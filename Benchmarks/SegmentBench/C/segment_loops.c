// SPDX-License-Identifier: Apache-2.0

#include "segment_loops.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

size_t loop_segments(const uint8_t *plain, const size_t *lengths, size_t count, uint8_t *out, const uint8_t *key) {
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, "AES-128-CBC", NULL);
    size_t total = 0;
    int ok = cipher != NULL;
    for (size_t i = 0; ok && i < count; i++) {
        uint8_t iv[16] = {0};
        for (int b = 0; b < 8; b++) iv[15 - b] = (uint8_t)((uint64_t)i >> (8 * b));
        int body = 0, last = 0;
        EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
        ok = context && EVP_EncryptInit_ex2(context, cipher, key, iv, NULL)
            && EVP_EncryptUpdate(context, out, &body, plain, (int)lengths[i]) && EVP_EncryptFinal_ex(context, out + body, &last);
        EVP_CIPHER_CTX_free(context);
        plain += lengths[i];
        total += (size_t)(body + last);
    }
    EVP_CIPHER_free(cipher);
    return ok ? total : 0;
}

size_t loop_copies(const uint8_t *from, size_t count, int times) {
    size_t total = 0;
    for (int i = 0; i < times; i++) {
        uint8_t *copy = malloc(count);
        if (!copy) return 0;
        memcpy(copy, from, count);
        total += copy[count - 1] == from[count - 1] ? count : 0;
        free(copy);
    }
    return total;
}
