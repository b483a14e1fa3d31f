// OpenSSL 3 libcrypto. One importer: CarrelCrypto.
#ifndef COPENSSL_SHIM_H
#define COPENSSL_SHIM_H

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

// A parameter points at its name for as long as it lives, and Swift would hand over a name that dies with the call.

static inline OSSL_PARAM copenssl_digest_sha256(void) {
    return OSSL_PARAM_construct_utf8_string(OSSL_ALG_PARAM_DIGEST, (char *)"SHA256", 0);
}

static inline OSSL_PARAM copenssl_digest_sha1(void) {
    return OSSL_PARAM_construct_utf8_string(OSSL_ALG_PARAM_DIGEST, (char *)"SHA1", 0);
}

static inline OSSL_PARAM copenssl_hkdf_key(const void *_Nullable bytes, size_t count) {
    return OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, (void *)bytes, count);
}

static inline OSSL_PARAM copenssl_hkdf_salt(const void *_Nullable bytes, size_t count) {
    return OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, (void *)bytes, count);
}

static inline OSSL_PARAM copenssl_hkdf_info(const void *_Nullable bytes, size_t count) {
    return OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, (void *)bytes, count);
}

// Typed stacks are macros, which Swift does not see.

static inline STACK_OF(X509) *_Nullable copenssl_certificates_new(void) {
    return sk_X509_new_null();
}

static inline int copenssl_certificates_push(STACK_OF(X509) *_Nonnull stack, X509 *_Nonnull certificate) {
    return sk_X509_push(stack, certificate);
}

static inline int copenssl_certificates_count(const STACK_OF(X509) *_Nullable stack) {
    return sk_X509_num(stack);
}

static inline X509 *_Nullable copenssl_certificates_at(const STACK_OF(X509) *_Nullable stack, int index) {
    return sk_X509_value(stack, index);
}

/// Frees the stack, not what is in it.
static inline void copenssl_certificates_free(STACK_OF(X509) *_Nullable stack) {
    sk_X509_free(stack);
}

#endif
