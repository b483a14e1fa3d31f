// SPDX-License-Identifier: Apache-2.0

#include "rights_loops.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct rights_loop {
    struct { uint8_t *bytes; size_t count; } part[rights_part_count];
    EVP_CIPHER *gcm;
    EVP_KDF *concat;
    EVP_MD *sha256;
    EVP_PKEY *service, *license, *authority;
    uint8_t ephemeral[65], key[32], nonce[12], token_key[32];
    uint8_t *request, *token;
};

rights_loop *rights_loop_new(void) {
    rights_loop *loop = calloc(1, sizeof *loop);
    if (!loop) return 0;
    loop->gcm = EVP_CIPHER_fetch(0, "AES-256-GCM", 0);
    loop->concat = EVP_KDF_fetch(0, "SSKDF", 0);
    loop->sha256 = EVP_MD_fetch(0, "SHA256", 0);
    loop->service = EVP_EC_gen("P-256");
    loop->authority = EVP_EC_gen("P-256");
    loop->license = EVP_PKEY_Q_keygen(0, 0, "ED25519");
    return loop;
}

void rights_loop_set(rights_loop *loop, enum rights_part part, const uint8_t *bytes, size_t count) {
    free(loop->part[part].bytes);
    loop->part[part].bytes = malloc(count + 1);
    memcpy(loop->part[part].bytes, bytes, count);
    loop->part[part].count = count;
}

#define BYTES(name) loop->part[name].bytes, loop->part[name].count

static int seal(rights_loop *loop, const uint8_t *key, const uint8_t *nonce, const uint8_t *head, size_t head_count,
                const uint8_t *plain, size_t count, uint8_t *out) {
    int done = 0;
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    int ok = context && EVP_EncryptInit_ex2(context, loop->gcm, key, nonce, 0)
        && (!head_count || EVP_EncryptUpdate(context, 0, &done, head, (int)head_count))
        && EVP_EncryptUpdate(context, out, &done, plain, (int)count) && EVP_EncryptFinal_ex(context, out + count, &done)
        && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, out + count);
    EVP_CIPHER_CTX_free(context);
    return ok;
}

static int unseal(const EVP_CIPHER *gcm, const uint8_t *key, const uint8_t *nonce, const uint8_t *head, size_t head_count,
                  const uint8_t *sealed, size_t count, uint8_t *out) {
    int done = 0;
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    int ok = context && EVP_DecryptInit_ex2(context, gcm, key, nonce, 0)
        && (!head_count || EVP_DecryptUpdate(context, 0, &done, head, (int)head_count))
        && EVP_DecryptUpdate(context, out, &done, sealed, (int)count)
        && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, 16, (void *)(sealed + count))
        && EVP_DecryptFinal_ex(context, out + done, &done);
    EVP_CIPHER_CTX_free(context);
    return ok;
}

static int agree(rights_loop *loop, EVP_PKEY *own, EVP_PKEY *other, uint8_t *key) {
    uint8_t secret[32], info[64] = {0};
    size_t count = sizeof secret;
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new(own, 0);
    int ok = context && EVP_PKEY_derive_init(context) == 1 && EVP_PKEY_derive_set_peer_ex(context, other, 0) == 1
        && EVP_PKEY_derive(context, secret, &count) == 1;
    EVP_PKEY_CTX_free(context);
    EVP_KDF_CTX *kdf = EVP_KDF_CTX_new(loop->concat);
    OSSL_PARAM parameters[] = {OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, "SHA256", 0),
                               OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, secret, sizeof secret),
                               OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, info, sizeof info), OSSL_PARAM_construct_end()};
    ok = ok && kdf && EVP_KDF_derive(kdf, key, 32, parameters) == 1;
    EVP_KDF_CTX_free(kdf);
    return ok;
}

/// A key from its point, 65 bytes.
static EVP_PKEY *public_key(rights_loop *loop, const uint8_t *bytes, size_t count) {
    EVP_PKEY *key = EVP_PKEY_new();
    if (key && EVP_PKEY_copy_parameters(key, loop->service) == 1 && EVP_PKEY_set1_encoded_public_key(key, bytes, count) == 1) return key;
    EVP_PKEY_free(key);
    return 0;
}

static int verify(EVP_PKEY *key, const char *digest, const uint8_t *signature, size_t signature_count, const uint8_t *message, size_t count) {
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    int ok = context && EVP_DigestVerifyInit_ex(context, 0, digest, 0, 0, key, 0) == 1
        && EVP_DigestVerify(context, signature, signature_count, message, count) == 1;
    EVP_MD_CTX_free(context);
    return ok;
}

/// As JOSE has signatures: R and S, 32 bytes each.
static int verify_es256(EVP_PKEY *key, const uint8_t *halves, size_t halves_count, const uint8_t *message, size_t count) {
    uint8_t der[80], *cursor = der;
    ECDSA_SIG *signature = ECDSA_SIG_new();
    int ok = halves_count == 64 && signature && ECDSA_SIG_set0(signature, BN_bin2bn(halves, 32, 0), BN_bin2bn(halves + 32, 32, 0));
    int length = ok ? i2d_ECDSA_SIG(signature, &cursor) : 0;
    ECDSA_SIG_free(signature);
    return length > 0 && verify(key, "SHA256", der, (size_t)length, message, count);
}

static int sign(EVP_PKEY *key, const char *digest, const uint8_t *message, size_t count) {
    uint8_t signature[80];
    size_t signature_count = sizeof signature;
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    int ok = context && EVP_DigestSignInit_ex(context, 0, digest, 0, 0, key, 0) == 1
        && EVP_DigestSign(context, signature, &signature_count, message, count) == 1;
    EVP_MD_CTX_free(context);
    return ok;
}

int rights_loop_prepare(rights_loop *loop) {
    EVP_PKEY *ephemeral = EVP_EC_gen("P-256");
    uint8_t key[32];
    size_t count = 0;
    if (EVP_PKEY_get_octet_string_param(ephemeral, OSSL_PKEY_PARAM_PUB_KEY, loop->ephemeral, sizeof loop->ephemeral, &count) != 1
        || !agree(loop, ephemeral, loop->service, key)) return 0;
    EVP_PKEY_free(ephemeral);
    RAND_bytes(loop->nonce, sizeof loop->nonce);
    RAND_bytes(loop->token_key, sizeof loop->token_key);
    loop->request = malloc(loop->part[rights_request].count + 16);
    loop->token = malloc(loop->part[rights_token].count + 16);
    return seal(loop, key, loop->nonce, BYTES(rights_header), BYTES(rights_request), loop->request)
        && seal(loop, loop->token_key, loop->nonce, 0, 0, BYTES(rights_token), loop->token);
}

int rights_loop_issue(rights_loop *loop, int times) {
    uint8_t *room = malloc(65536), key[32], nonce[12], digest[32];
    int ok = room != 0;
    for (int time = 0; ok && time < times; time++) {
        // the request
        EVP_PKEY *sender = public_key(loop, loop->ephemeral, sizeof loop->ephemeral);
        ok = sender && agree(loop, loop->service, sender, key)
            && unseal(loop->gcm, key, loop->nonce, BYTES(rights_header), loop->request, loop->part[rights_request].count, room)
            && EVP_Digest(room, loop->part[rights_request].count, digest, 0, loop->sha256, 0);
        EVP_PKEY_free(sender);
        // its signature
        EVP_PKEY *signer = public_key(loop, BYTES(rights_signer));
        ok = ok && signer && verify_es256(signer, BYTES(rights_signature), BYTES(rights_signed));
        EVP_PKEY_free(signer);
        // its token
        ok = ok && unseal(loop->gcm, loop->token_key, loop->nonce, 0, 0, loop->token, loop->part[rights_token].count, room);
        // one key
        EVP_PKEY *player = public_key(loop, BYTES(rights_agreement)), *ephemeral = EVP_EC_gen("P-256");
        ok = ok && player && ephemeral && agree(loop, ephemeral, player, key) && RAND_bytes(nonce, sizeof nonce) == 1
            && seal(loop, key, nonce, BYTES(rights_header), key, 16, room);
        EVP_PKEY_free(ephemeral);
        EVP_PKEY_free(player);
        // the license
        ok = ok && sign(loop->license, 0, BYTES(rights_license));
    }
    free(room);
    return ok;
}

int rights_loop_personalize(rights_loop *loop, int times) {
    int ok = 1;
    uint8_t digest[32], serial[16];
    for (int time = 0; ok && time < times; time++) {
        const uint8_t *cursor = loop->part[rights_certification].bytes;
        X509_REQ *request = d2i_X509_REQ(0, &cursor, (long)loop->part[rights_certification].count);
        EVP_PKEY *key = request ? X509_REQ_get_pubkey(request) : 0, *agreement = public_key(loop, BYTES(rights_agreement));
        ok = key && agreement && X509_REQ_verify(request, key) == 1
            && verify_es256(key, BYTES(rights_personalization_signature), BYTES(rights_personalization))
            && RAND_bytes(serial, sizeof serial) == 1 && sign(loop->authority, "SHA256", BYTES(rights_certificate_body));
        EVP_PKEY_free(agreement);
        EVP_PKEY_free(key);
        X509_REQ_free(request);
        cursor = loop->part[rights_certificate].bytes;
        X509 *certificate = d2i_X509(0, &cursor, (long)loop->part[rights_certificate].count);
        ok = ok && certificate && EVP_Digest(BYTES(rights_certificate), digest, 0, loop->sha256, 0)
            && sign(loop->license, 0, BYTES(rights_time));
        X509_free(certificate);
    }
    return ok;
}

// MARK: the store of a device

static sqlite3_stmt *prepared(sqlite3 *database, const char *sql) {
    sqlite3_stmt *statement = 0;
    sqlite3_prepare_v2(database, sql, -1, &statement, 0);
    return statement;
}

static int run(sqlite3_stmt *statement) {
    int status = sqlite3_step(statement);
    sqlite3_reset(statement);
    return status == SQLITE_DONE;
}

size_t rights_store_value(const char *path, const char *name, uint8_t *out, size_t room) {
    sqlite3 *database;
    size_t count = 0;
    if (sqlite3_open_v2(path, &database, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, 0)) return 0;
    sqlite3_stmt *select = prepared(database, "SELECT value FROM store WHERE name = ?1");
    sqlite3_bind_text(select, 1, name, -1, SQLITE_STATIC);
    if (sqlite3_step(select) == SQLITE_ROW && (size_t)sqlite3_column_bytes(select, 0) <= room) {
        count = (size_t)sqlite3_column_bytes(select, 0);
        memcpy(out, sqlite3_column_blob(select, 0), count);
    }
    sqlite3_finalize(select);
    sqlite3_close(database);
    return count;
}

static int value(uint8_t letter) {
    if (letter >= 'A' && letter <= 'Z') return letter - 'A';
    if (letter >= 'a' && letter <= 'z') return letter - 'a' + 26;
    if (letter >= '0' && letter <= '9') return letter - '0' + 52;
    return letter == '-' ? 62 : 63;
}

/// The signature of a license in its row, a JWS, is right.
static int is_right(uint8_t *row, const uint8_t *signer) {
    static const char name[] = "\"license\":\"";
    char *start = strstr((char *)row, name);
    if (!start) return 0;
    start += sizeof name - 1;
    char *end = strchr(start, '"'), *dot = end;
    while (dot > start && *dot != '.') dot--;
    if (!end || end - dot != 87) return 0;
    uint8_t signature[66];
    for (int i = 0, bits = 0, held = 0, at = 0; i < 86; i++) {
        held = held << 6 | value((uint8_t)dot[1 + i]);
        bits += 6;
        if (bits >= 8) signature[at++] = (uint8_t)(held >> (bits -= 8));
    }
    EVP_PKEY *key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, 0, signer, 32);
    int ok = key && verify(key, 0, signature, 64, (uint8_t *)start, (size_t)(dot - start));
    EVP_PKEY_free(key);
    return ok;
}

int rights_loop_check(const char *path, const uint8_t *digests, size_t count, const uint8_t *key, const uint8_t *signer, int times) {
    sqlite3 *database;
    int right = 0;
    if (sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, 0)) return 0;
    sqlite3_stmt *select = prepared(database,
        "SELECT id, sealed, priority, expires, added FROM license WHERE id IN (SELECT license FROM license_content WHERE content = ?1)"
        " ORDER BY priority DESC, added DESC, id LIMIT 64");
    EVP_CIPHER *gcm = EVP_CIPHER_fetch(0, "AES-256-GCM", 0);
    for (int time = 0; time < times; time++) {
        sqlite3_bind_blob(select, 1, digests + (size_t)time % count * 16, 16, SQLITE_STATIC);
        if (sqlite3_step(select) == SQLITE_ROW) {
            char place[80];
            int length = snprintf(place, sizeof place, "license %s", (const char *)sqlite3_column_text(select, 0));
            const uint8_t *sealed = sqlite3_column_blob(select, 1);
            size_t plain = (size_t)sqlite3_column_bytes(select, 1) - 28;
            uint8_t *row = malloc(plain + 1);
            row[plain] = 0;
            right += unseal(gcm, key, sealed, (uint8_t *)place, (size_t)length, sealed + 12, plain, row) && is_right(row, signer);
            free(row);
        }
        sqlite3_reset(select);
    }
    EVP_CIPHER_free(gcm);
    sqlite3_finalize(select);
    sqlite3_close(database);
    return right;
}

// MARK: the database of the server

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void bind_text(sqlite3_stmt *statement, int index, const char *text) {
    sqlite3_bind_text(statement, index, text, -1, SQLITE_TRANSIENT);
}

double rights_loop_insert(const char *path, double seconds) {
    sqlite3 *database;
    if (sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, 0)) return 0;
    if (sqlite3_exec(database, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -16384", 0, 0, 0)) return 0;
    sqlite3_wal_autocheckpoint(database, 2048);
    sqlite3_stmt *begin = prepared(database, "BEGIN IMMEDIATE"), *commit = prepared(database, "COMMIT"),
        *nonce = prepared(database, "INSERT INTO player_nonces (nonce, expires_at) VALUES (?1, ?2) ON CONFLICT DO NOTHING"),
        *license = prepared(database, "INSERT INTO licenses (id, player_id, subject, content_id, session, sequence, terms, obligations, kids,"
            " issued_at, lease_until, plays, master_version, wrapped) VALUES (?1, ?2, ?2, 'cid:film', 'persist', 1, '{\"storable\":true}', '[]',"
            " '00112233445566778899aabbccddeeff', ?3, NULL, 0, 1, ?4)"),
        *redemption = prepared(database, "INSERT INTO redemptions (token_id, player_id, license_id, redeemed_at, content_id, cookie, expires_at)"
            " VALUES (?1, ?2, ?3, ?4, 'cid:film', NULL, ?5)"),
        *audit = prepared(database, "INSERT INTO audit (id, at, actor, action, subject, outcome, reason, request_id, number, seal)"
            " VALUES (?1, ?2, ?3, 'license.issue', ?4, 'ok', 'cid:film', ?5, NULL, NULL)");
    if (!begin || !commit || !nonce || !license || !redemption || !audit) return 0;
    uint8_t bytes[24];
    unsigned seed;
    RAND_bytes((uint8_t *)&seed, sizeof seed);
    double start = now();
    long done = 0, tick = (long)time(0) * 1000;
    int ok = 1;
    while (ok && now() - start < seconds) {
        ok = run(begin);
        for (int i = 0; ok && i < 64; i++, done++) {
            char id[40], player[40], token[40], entry[40];
            snprintf(id, sizeof id, "%08lx-%04lx-7000-8000-%08x%04lx", (tick + done) >> 16 & 0xffffffff, (tick + done) & 0xffff, rand_r(&seed), done & 0xffff);
            snprintf(entry, sizeof entry, "%08lx-%04lx-7000-9000-%08x%04lx", (tick + done) >> 16 & 0xffffffff, (tick + done) & 0xffff, rand_r(&seed), done & 0xffff);
            snprintf(player, sizeof player, "019e0000-0000-7000-8000-%012d", rand_r(&seed) % 1000);
            snprintf(token, sizeof token, "%08x%08x%08x%08x", rand_r(&seed), rand_r(&seed), rand_r(&seed), rand_r(&seed));
            RAND_bytes(bytes, sizeof bytes);
            sqlite3_bind_blob(nonce, 1, bytes, 24, SQLITE_TRANSIENT);
            sqlite3_bind_int64(nonce, 2, tick + done);
            bind_text(license, 1, id);
            bind_text(license, 2, player);
            sqlite3_bind_int64(license, 3, tick + done);
            sqlite3_bind_blob(license, 4, bytes, 24, SQLITE_TRANSIENT);
            bind_text(redemption, 1, token);
            bind_text(redemption, 2, player);
            bind_text(redemption, 3, id);
            sqlite3_bind_int64(redemption, 4, tick + done);
            sqlite3_bind_int64(redemption, 5, tick + done + 86400000);
            bind_text(audit, 1, entry);
            sqlite3_bind_int64(audit, 2, tick + done);
            bind_text(audit, 3, player);
            bind_text(audit, 4, id);
            bind_text(audit, 5, token);
            ok = run(nonce) && run(license) && run(redemption) && run(audit);
        }
        ok = ok && run(commit);
    }
    double rate = ok ? (double)done / (now() - start) : 0;
    sqlite3_stmt *all[] = {begin, commit, nonce, license, redemption, audit};
    for (int i = 0; i < 6; i++) sqlite3_finalize(all[i]);
    sqlite3_close(database);
    return rate;
}
