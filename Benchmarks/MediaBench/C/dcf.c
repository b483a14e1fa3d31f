// SPDX-License-Identifier: Apache-2.0

#include "dcf_loop.h"
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 1 << 16 };

int dcf_loop(int file, const uint64_t *blocks, size_t count, const struct dcf_file *dcf,
             const uint8_t *tags, uint8_t *buffer) {
    EVP_CIPHER_CTX *cipher = EVP_CIPHER_CTX_new(), *mac = EVP_CIPHER_CTX_new();
    int done = 0;
    if (cipher == NULL || mac == NULL) goto end;
    EVP_DecryptInit_ex(cipher, dcf->chained ? EVP_aes_128_cbc() : EVP_aes_128_ctr(), NULL, dcf->key, dcf->iv);
    EVP_CIPHER_CTX_set_padding(cipher, 0);
    EVP_EncryptInit_ex(mac, EVP_aes_128_gcm(), NULL, dcf->tag_key, NULL);
    for (size_t i = 0; i < count; i++) {
        uint64_t at = blocks[i] * BLOCK;
        size_t before = dcf->chained && blocks[i] > 0 ? 16 : 0;
        if (pread(file, buffer, BLOCK + before, (off_t)(dcf->start + at - before)) != (ssize_t)(BLOCK + before)) goto end;
        int written = 0;
        if (dcf->has_tags) {
            uint8_t nonce[12] = {0}, tag[16];
            for (int byte = 0; byte < 8; byte++) nonce[byte] = (uint8_t)(blocks[i] >> (56 - 8 * byte));
            nonce[11] = blocks[i] + 1 == dcf->blocks;
            EVP_EncryptInit_ex(mac, NULL, NULL, NULL, nonce);
            if (dcf->chained) EVP_EncryptUpdate(mac, NULL, &written, before ? buffer : dcf->iv, 16);
            EVP_EncryptUpdate(mac, NULL, &written, buffer + before, BLOCK);
            EVP_EncryptFinal_ex(mac, tag, &written);
            EVP_CIPHER_CTX_ctrl(mac, EVP_CTRL_AEAD_GET_TAG, 16, tag);
            if (CRYPTO_memcmp(tag, tags + 16 * blocks[i], 16) != 0) goto end;
        }
        uint8_t iv[16];
        memcpy(iv, before ? buffer : dcf->iv, 16);
        if (!dcf->chained) {
            uint64_t carry = at / 16;
            for (int byte = 15; byte >= 0 && carry; byte--) {
                carry += iv[byte];
                iv[byte] = (uint8_t)carry;
                carry >>= 8;
            }
        }
        EVP_DecryptInit_ex(cipher, NULL, NULL, NULL, iv);
        if (!EVP_DecryptUpdate(cipher, buffer + before, &written, buffer + before, BLOCK)) goto end;
    }
    done = 1;
end:
    EVP_CIPHER_CTX_free(cipher);
    EVP_CIPHER_CTX_free(mac);
    return done;
}
