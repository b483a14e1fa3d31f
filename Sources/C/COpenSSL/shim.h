// SPDX-License-Identifier: Apache-2.0

// OpenSSL 3 libcrypto. One importer: CarrelCrypto.
#ifndef COPENSSL_SHIM_H
#define COPENSSL_SHIM_H

#include <openssl/cms.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <string.h>
#include <time.h>

// A parameter points at its name for as long as it lives, and Swift would hand over a name that dies with the call.

static inline OSSL_PARAM copenssl_digest_sha256(void) {
    return OSSL_PARAM_construct_utf8_string(OSSL_ALG_PARAM_DIGEST, (char *)"SHA256", 0);
}

static inline OSSL_PARAM copenssl_digest_sha1(void) {
    return OSSL_PARAM_construct_utf8_string(OSSL_ALG_PARAM_DIGEST, (char *)"SHA1", 0);
}

static inline OSSL_PARAM copenssl_digest_sha512(void) {
    return OSSL_PARAM_construct_utf8_string(OSSL_ALG_PARAM_DIGEST, (char *)"SHA512", 0);
}

static inline OSSL_PARAM copenssl_kdf_key(const void *_Nullable bytes, size_t count) {
    return OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, (void *)bytes, count);
}

static inline OSSL_PARAM copenssl_kdf_salt(const void *_Nullable bytes, size_t count) {
    return OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, (void *)bytes, count);
}

static inline OSSL_PARAM copenssl_kdf_info(const void *_Nullable bytes, size_t count) {
    return OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, (void *)bytes, count);
}

/// A new key on P-256; variadic in the library.
static inline EVP_PKEY *_Nullable copenssl_p256_generate(void) {
    return EVP_EC_gen("P-256");
}

/// Splits an ECDSA signature in DER into R and S, 32 bytes each; 0 for anything else.
static inline int copenssl_p256_split(const unsigned char *_Nonnull der, size_t count, unsigned char *_Nonnull out) {
    const unsigned char *cursor = der;
    ECDSA_SIG *signature = d2i_ECDSA_SIG(NULL, &cursor, (long)count);
    if (signature == NULL) return 0;
    int done = cursor == der + count && BN_bn2binpad(ECDSA_SIG_get0_r(signature), out, 32) == 32
        && BN_bn2binpad(ECDSA_SIG_get0_s(signature), out + 32, 32) == 32;
    ECDSA_SIG_free(signature);
    return done;
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

/// Frees the stack, not its elements.
static inline void copenssl_certificates_free(STACK_OF(X509) *_Nullable stack) {
    sk_X509_free(stack);
}

/// Frees the stack and its elements.
static inline void copenssl_certificates_free_all(STACK_OF(X509) *_Nullable stack) {
    sk_X509_pop_free(stack, X509_free);
}

/// The algorithms of a message with one signature; 0 if it is not a signed message, or has none or several.
static inline int copenssl_message_algorithms(CMS_ContentInfo *_Nonnull message, int *_Nonnull digest, int *_Nonnull signature) {
    if (OBJ_obj2nid(CMS_get0_type(message)) != NID_pkcs7_signed) return 0;
    STACK_OF(CMS_SignerInfo) *signers = CMS_get0_SignerInfos(message);
    if (sk_CMS_SignerInfo_num(signers) != 1) return 0;
    X509_ALGOR *of_digest = NULL, *of_signature = NULL;
    CMS_SignerInfo_get0_algs(sk_CMS_SignerInfo_value(signers, 0), NULL, NULL, &of_digest, &of_signature);
    if (of_digest == NULL || of_signature == NULL) return 0;
    const ASN1_OBJECT *name = NULL;
    X509_ALGOR_get0(&name, NULL, NULL, of_digest);
    *digest = OBJ_obj2nid(name);
    X509_ALGOR_get0(&name, NULL, NULL, of_signature);
    *signature = OBJ_obj2nid(name);
    return 1;
}

/// The seconds since 1970 that a time means; 0 if it cannot be read.
static inline int copenssl_seconds(const ASN1_TIME *_Nullable time, long long *_Nonnull seconds) {
    struct tm parts;
    if (time == NULL || ASN1_TIME_to_tm(time, &parts) != 1) return 0;
    *seconds = timegm(&parts);
    return 1;
}

/// The digest of a signature's algorithm as a NID; 0 if it names none, or, as RSASSA-PSS may (RFC 8017 §A.2.3), two different ones.
static inline int copenssl_signature_digest(const X509_ALGOR *_Nullable algorithm) {
    const ASN1_OBJECT *name = NULL;
    int digest = 0;
    if (algorithm == NULL) return 0;
    X509_ALGOR_get0(&name, NULL, NULL, algorithm);
    int signature = OBJ_obj2nid(name);
    if (signature != NID_rsassaPss) return OBJ_find_sigid_algs(signature, &digest, NULL) == 1 ? digest : 0;
    RSA_PSS_PARAMS *parameters = ASN1_TYPE_unpack_sequence(ASN1_ITEM_rptr(RSA_PSS_PARAMS), algorithm->parameter);
    if (parameters == NULL) return 0;
    // omitted parameters mean SHA-1
    digest = parameters->hashAlgorithm ? OBJ_obj2nid(parameters->hashAlgorithm->algorithm) : NID_sha1;
    int mask = NID_sha1;
    if (parameters->maskGenAlgorithm) {
        X509_ALGOR *of_mask = ASN1_TYPE_unpack_sequence(ASN1_ITEM_rptr(X509_ALGOR), parameters->maskGenAlgorithm->parameter);
        mask = of_mask ? OBJ_obj2nid(of_mask->algorithm) : 0;
        X509_ALGOR_free(of_mask);
    }
    RSA_PSS_PARAMS_free(parameters);
    return digest == mask ? digest : 0;
}

/// As above, for a certificate, and for a revocation list.
static inline int copenssl_certificate_digest(const X509 *_Nonnull certificate) {
    const X509_ALGOR *algorithm = NULL;
    X509_get0_signature(NULL, &algorithm, certificate);
    return copenssl_signature_digest(algorithm);
}

static inline int copenssl_list_digest(const X509_CRL *_Nonnull list) {
    const X509_ALGOR *algorithm = NULL;
    X509_CRL_get0_signature(list, NULL, &algorithm);
    return copenssl_signature_digest(algorithm);
}

/// Whether a list declares that it does not hold all revocations of its issuer: it is a delta (RFC 5280 §5.2.4), for some certificates or
/// reasons only (§5.2.5), or has a critical extension, which are all about that.
static inline int copenssl_list_is_partial(const X509_CRL *_Nonnull list) {
    if (X509_CRL_get_ext_by_critical(list, 1, -1) >= 0) return 1;
    return X509_CRL_get_ext_by_NID(list, NID_delta_crl, -1) >= 0
        || X509_CRL_get_ext_by_NID(list, NID_issuing_distribution_point, -1) >= 0;
}

/// The address of a certificate's revocation list with that number; 0 if there are fewer.
static inline int copenssl_list_address(
    X509 *_Nonnull certificate, int index, const unsigned char *_Nullable *_Nonnull start, int *_Nonnull count,
    void *_Nullable *_Nonnull owner
) {
    STACK_OF(DIST_POINT) *points = X509_get_ext_d2i(certificate, NID_crl_distribution_points, NULL, NULL);
    *owner = points;
    for (int i = 0; i < sk_DIST_POINT_num(points); i++) {
        DIST_POINT_NAME *name = sk_DIST_POINT_value(points, i)->distpoint;
        if (name == NULL || name->type != 0) continue;
        for (int j = 0; j < sk_GENERAL_NAME_num(name->name.fullname); j++) {
            GENERAL_NAME *address = sk_GENERAL_NAME_value(name->name.fullname, j);
            if (address->type != GEN_URI || index-- > 0) continue;
            *start = ASN1_STRING_get0_data(address->d.uniformResourceIdentifier);
            *count = ASN1_STRING_length(address->d.uniformResourceIdentifier);
            return 1;
        }
    }
    return 0;
}

static inline void copenssl_list_addresses_free(void *_Nullable owner) {
    CRL_DIST_POINTS_free((STACK_OF(DIST_POINT) *)owner);
}

/// The password of a file, for the library's reader of PEM; -1 if there is none, so that the library never prompts on the terminal.
static inline int copenssl_password(char *_Nonnull out, int room, int writes, void *_Nullable context) {
    const char *password = context;
    (void)writes;
    if (password == NULL || strlen(password) > (size_t)room) return -1;
    memcpy(out, password, strlen(password));
    return (int)strlen(password);
}

/// The private key in a PEM file; the password ends with a NUL.
static inline EVP_PKEY *_Nullable copenssl_pem_private_key(const void *_Nonnull bytes, int count, const char *_Nullable password) {
    BIO *memory = BIO_new_mem_buf(bytes, count);
    if (memory == NULL) return NULL;
    EVP_PKEY *key = PEM_read_bio_PrivateKey(memory, NULL, copenssl_password, (void *)password);
    BIO_free(memory);
    return key;
}

/// The private key in a PKCS#12 file, whose password, which ends with a NUL, also authenticates the file.
static inline EVP_PKEY *_Nullable copenssl_pkcs12_private_key(const unsigned char *_Nonnull bytes, long count, const char *_Nonnull password) {
    const unsigned char *cursor = bytes;
    PKCS12 *file = d2i_PKCS12(NULL, &cursor, count);
    if (file == NULL) return NULL;
    EVP_PKEY *key = NULL;
    X509 *certificate = NULL;
    if (cursor == bytes + count) PKCS12_parse(file, password, &key, &certificate, NULL);
    X509_free(certificate);
    PKCS12_free(file);
    return key;
}

/// A context for RSAES-OAEP with SHA-1 and MGF1-SHA-1 (`rsa-oaep-mgf1p`); NULL if the key is not RSA.
static inline EVP_PKEY_CTX *_Nullable copenssl_oaep(EVP_PKEY *_Nonnull key, int encrypts) {
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new(key, NULL);
    if (context == NULL) return NULL;
    if ((encrypts ? EVP_PKEY_encrypt_init(context) : EVP_PKEY_decrypt_init(context)) == 1
        && EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_OAEP_PADDING) == 1 && EVP_PKEY_CTX_set_rsa_oaep_md(context, EVP_sha1()) == 1
        && EVP_PKEY_CTX_set_rsa_mgf1_md(context, EVP_sha1()) == 1)
        return context;
    EVP_PKEY_CTX_free(context);
    return NULL;
}

/// The bytes written into memory; the pointer is valid until the next write.
static inline long copenssl_memory(BIO *_Nonnull memory, char *_Nullable *_Nonnull start) {
    return BIO_get_mem_data(memory, start);
}

#endif
