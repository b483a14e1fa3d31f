// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelCrypto
package import CarrelMP4

/// A content key that output is encrypted with.
package struct PackagingKey: Sendable {
    /// Its id.
    package let id: KeyID
    /// 16 bytes.
    package let key: Secret

    /// - Parameters:
    ///   - id: its id.
    ///   - key: 16 bytes.
    /// - Throws: `crypto.key-length`.
    package init(id: KeyID, key: Secret) throws(CryptoError) {
        guard key.count == 16 else { throw CryptoError(.keyLength, "a content key of Common Encryption has 16 bytes") }
        self.id = id
        self.key = key
    }
}
