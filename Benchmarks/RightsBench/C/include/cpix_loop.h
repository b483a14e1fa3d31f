// SPDX-License-Identifier: Apache-2.0

// The floor: libxml2's parser as xmllint --noout calls it, and the OpenSSL calls of an encrypted document, with nothing around them.
#ifndef CPIX_LOOP_H
#define CPIX_LOOP_H

#include <stddef.h>
#include <stdint.h>

/// A document, and its encrypted parts one after another.
struct cpix_document {
    const char *_Nonnull xml;
    size_t xml_count;
    /// The recipient's private key.
    const uint8_t *_Nonnull pem;
    size_t pem_count;
    /// The document key and the key of codes, encrypted to the recipient.
    const uint8_t *_Nonnull document_key, *_Nonnull mac_key;
    size_t wrapped_count;
    /// The initialization vector and cipher text of each key, and the codes of 64 bytes.
    const uint8_t *_Nonnull ciphers, *_Nonnull codes;
    size_t cipher_count, keys;
};

/// Parses the document, decrypts its keys and verifies their codes, this many times. Returns how often all was right.
int cpix_loop(const struct cpix_document *_Nonnull document, int times);

#endif
