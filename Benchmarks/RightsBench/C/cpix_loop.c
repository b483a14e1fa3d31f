// SPDX-License-Identifier: Apache-2.0

#include "cpix_loop.h"

#include <libxml/parser.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <string.h>

static int unwrap(EVP_PKEY *key, const uint8_t *cipher, size_t count, uint8_t *out, size_t *out_count) {
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new(key, NULL);
    int ok = context && EVP_PKEY_decrypt_init(context) == 1 && EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_OAEP_PADDING) == 1
        && EVP_PKEY_decrypt(context, out, out_count, cipher, count) == 1;
    EVP_PKEY_CTX_free(context);
    return ok;
}

int cpix_loop(const struct cpix_document *document, int times) {
    BIO *memory = BIO_new_mem_buf(document->pem, (int)document->pem_count);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(memory, NULL, NULL, (void *)"");
    BIO_free(memory);
    if (!key) return 0;
    int right = 0;
    for (int i = 0; i < times; i++) {
        // as xmllint --noout does
        xmlDocPtr tree = xmlReadMemory(document->xml, (int)document->xml_count, "cpix.xml", NULL, XML_PARSE_NONET);
        xmlFreeDoc(tree);
        uint8_t document_key[1024], mac_key[1024], plain[64], code[64];
        size_t document_count = sizeof document_key, mac_count = sizeof mac_key;
        if (!tree || !unwrap(key, document->document_key, document->wrapped_count, document_key, &document_count)
            || !unwrap(key, document->mac_key, document->wrapped_count, mac_key, &mac_count))
            break;
        int ok = 1;
        for (size_t j = 0; ok && j < document->keys; j++) {
            const uint8_t *cipher = document->ciphers + j * document->cipher_count;
            unsigned size = sizeof code;
            ok = HMAC(EVP_sha512(), mac_key, (int)mac_count, cipher, document->cipher_count, code, &size)
                && CRYPTO_memcmp(code, document->codes + j * 64, 64) == 0;
            EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
            int done = 0;
            ok = ok && EVP_DecryptInit_ex(context, EVP_aes_256_cbc(), NULL, document_key, cipher)
                && EVP_DecryptUpdate(context, plain, &done, cipher + 16, (int)document->cipher_count - 16);
            EVP_CIPHER_CTX_free(context);
        }
        right += ok;
    }
    EVP_PKEY_free(key);
    return right;
}
