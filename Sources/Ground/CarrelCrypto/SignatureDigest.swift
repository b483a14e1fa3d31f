// SPDX-License-Identifier: Apache-2.0

import COpenSSL

/// The digests with which authorities may sign. A digest that is missing here was broken, or not reviewed.
enum SignatureDigest {
    /// - Parameter digest: the digest's OpenSSL number; 0 if the signature names none.
    /// - Returns: whether signatures with it are trusted.
    static func holds(_ digest: Int32) -> Bool { [NID_sha256, NID_sha384, NID_sha512].contains(digest) }
}
