// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto

/// Names the catalog of a home for good, wherever it is served and restored: derived from a secret that is never replaced.
enum CatalogID {
    /// A URN of a UUID (RFC 9562 §5.8).
    static func text(_ secret: Secret) -> String {
        let key = HKDF.sha256(secret: secret, salt: [], info: "carrel catalog id", count: 32)
        let message = Array("catalog".utf8)
        var bytes = Array(HMACSHA256(key: key).authenticate(message.rawSpan).prefix(16))
        bytes[6] = bytes[6] & 0x0f | 0x80
        bytes[8] = bytes[8] & 0x3f | 0x80
        let digits = Array(Hex.encode(bytes))
        let groups = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0]) }
        return "urn:uuid:" + groups.joined(separator: "-")
    }
}
