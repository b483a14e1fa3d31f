// SPDX-License-Identifier: Apache-2.0

import COpenSSL

/// The digests with which authorities may sign. A digest that is missing here was broken, or not reviewed.
enum SignatureDigest {
    /// - Parameter digest: as OpenSSL numbers it; 0 for a signature that names none.
    /// - Returns: whether a signature with it is to be trusted.
    static func holds(_ digest: Int32) -> Bool { [NID_sha256, NID_sha384, NID_sha512].contains(digest) }
}
