// SPDX-License-Identifier: Apache-2.0

// The floor: the OpenSSL and SQLite calls of licenses in C, with nothing around them.
#ifndef RIGHTS_LOOPS_H
#define RIGHTS_LOOPS_H

#include <stddef.h>
#include <stdint.h>

/// The messages of one player, and keys of the loop's own to open and sign messages of the same size.
typedef struct rights_loop rights_loop;

/// The parts that are taken from real messages.
enum rights_part {
    /// The player's certificate in DER.
    rights_certificate,
    /// The player's key for signatures, a point of 65 bytes.
    rights_signer,
    /// The signed part of the player's request, and its signature: R and S.
    rights_signed,
    rights_signature,
    /// The player's key for agreement, a point of 65 bytes.
    rights_agreement,
    /// The content of the encrypted request, and its header.
    rights_request,
    rights_header,
    /// The content of the token.
    rights_token,
    /// The signed part of the license; of the time in personalizations.
    rights_license,
    rights_time,
    /// The request for a certificate (PKCS#10), the signed part and the signature (R and S) of the request for personalization.
    rights_certification,
    rights_personalization,
    rights_personalization_signature,
    /// The part of a certificate that is signed.
    rights_certificate_body,
    rights_part_count
};

rights_loop *_Nullable rights_loop_new(void);
/// Copies a part.
void rights_loop_set(rights_loop *_Nonnull loop, enum rights_part part, const uint8_t *_Nonnull bytes, size_t count);
/// Encrypts the request and the token under keys of the loop's own. Returns 1 on success.
int rights_loop_prepare(rights_loop *_Nonnull loop);
/// Opens a request, verifies it, opens its token, encrypts a content key and signs a license, this many times. Returns 1 on success.
int rights_loop_issue(rights_loop *_Nonnull loop, int times);
/// Verifies a request for personalization, signs and reads a certificate, signs the time, this many times. Returns 1 on success.
int rights_loop_personalize(rights_loop *_Nonnull loop, int times);

/// Reads the row of a content in a player's store, opens it and verifies the license in it, this many times, each time of the next of `count` contents.
///
/// `digests` are what the contents are found by, 16 bytes each; `key` is the store's, `signer` the service's (Ed25519). Returns how many were
/// right.
int rights_loop_check(const char *_Nonnull path, const uint8_t *_Nonnull digests, size_t count, const uint8_t *_Nonnull key,
                      const uint8_t *_Nonnull signer, int times);

/// Reads a value of a player's store. Returns its count of bytes, 0 on failure.
size_t rights_store_value(const char *_Nonnull path, const char *_Nonnull name, uint8_t *_Nonnull out, size_t room);

/// The rows that one license takes, inserted into a copy of the server's database for `seconds`, 64 licenses to a commit. Returns
/// the licenses in a second, or 0 on failure.
double rights_loop_insert(const char *_Nonnull path, double seconds);

#endif
