// SPDX-License-Identifier: Apache-2.0

#ifndef CCOMMONPASSWORDS_H
#define CCOMMONPASSWORDS_H

/// Sorted first eight bytes of the SHA-256 of common passwords in lower case (scripts/common-passwords).
extern const unsigned char *_Nonnull const ccommonpasswords_hashes;
/// The number of bytes.
extern const long ccommonpasswords_count;

#endif
