// SPDX-License-Identifier: Apache-2.0

#include "crypto_loops.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>

size_t loop_aes_cbc(const uint8_t *plain, size_t count, uint8_t *out, const uint8_t *key, const uint8_t *iv, int times) {
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, "AES-128-CBC", NULL);
    int body = 0, last = 0, ok = cipher != NULL;
    for (int i = 0; ok && i < times; i++) {
        EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
        ok = context && EVP_EncryptInit_ex2(context, cipher, key, iv, NULL)
            && EVP_EncryptUpdate(context, out, &body, plain, (int)count) && EVP_EncryptFinal_ex(context, out + body, &last);
        EVP_CIPHER_CTX_free(context);
    }
    EVP_CIPHER_free(cipher);
    return ok ? (size_t)(body + last) : 0;
}

int loop_hmac(const uint8_t *message, size_t count, uint8_t *tag, const uint8_t *key, size_t key_count, int times) {
    EVP_MAC *hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    EVP_MAC_CTX *context = EVP_MAC_CTX_new(hmac);
    OSSL_PARAM parameters[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)"SHA256", 0),
                               OSSL_PARAM_construct_end()};
    int ok = context && EVP_MAC_init(context, key, key_count, parameters);
    for (int i = 0; ok && i < times; i++) {
        ok = EVP_MAC_init(context, NULL, 0, NULL) && EVP_MAC_update(context, message, count)
            && EVP_MAC_final(context, tag, NULL, 32);
    }
    EVP_MAC_CTX_free(context);
    EVP_MAC_free(hmac);
    return ok;
}
