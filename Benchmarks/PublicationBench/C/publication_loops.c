// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "publication_loops.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <unistd.h>

int64_t loop_decrypt_ranges(int file, int64_t start, const int64_t *offsets, size_t count, size_t size, const uint8_t *key,
                            uint8_t *scratch, uint8_t *out) {
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, "AES-256-CBC", NULL);
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    int64_t sum = 0;
    int ok = cipher && context && EVP_DecryptInit_ex2(context, cipher, key, NULL, NULL);
    for (size_t i = 0; ok && i < count; i++) {
        int written = 0;
        ok = pread(file, scratch, size + 16, start + offsets[i]) == (ssize_t)(size + 16)
            && EVP_DecryptInit_ex2(context, NULL, NULL, scratch, NULL) && EVP_CIPHER_CTX_set_padding(context, 0)
            && EVP_DecryptUpdate(context, out, &written, scratch + 16, (int)size) && written == (int)size;
        sum += out[0];
    }
    EVP_CIPHER_CTX_free(context);
    EVP_CIPHER_free(cipher);
    return ok ? sum : -1;
}

size_t loop_sign(const char *path, const uint8_t *message, size_t count, uint8_t *out, size_t room) {
    FILE *file = fopen(path, "r");
    EVP_PKEY *key = file ? PEM_read_PrivateKey(file, NULL, NULL, NULL) : NULL;
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    size_t written = room;
    int ok = key && context && EVP_DigestSignInit_ex(context, NULL, "SHA256", NULL, NULL, key, NULL)
        && EVP_DigestSign(context, out, &written, message, count);
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(key);
    if (file) fclose(file);
    return ok ? written : 0;
}
