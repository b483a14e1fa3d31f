// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelPresentation

/// Encrypts a segment for the player with a session key (AES-128, RFC 8216 §4.3.2.4).
///
/// Other programs on the machine that capture loopback traffic see no media. A client that knows the address gets the key.
actor EncryptedBytes: SegmentBytes {
    private let plain: any SegmentBytes
    private var cipher: AESCBCEncryptor?

    /// - Parameters:
    ///   - plain: the segment.
    ///   - key: the session key.
    ///   - name: the segment's; no two of a session have the same vector, because the vector is the digest of the name.
    /// - Throws: `crypto.key-length`, `crypto.refused`.
    init(_ plain: any SegmentBytes, key: Secret, _ name: SegmentName) throws(CryptoError) {
        self.plain = plain
        cipher = try AESCBCEncryptor(key: key, iv: Self.vector(of: name))
    }

    func next() async throws -> [UInt8]? {
        while let piece = try await plain.next() {
            let encrypted = try [UInt8](rawCapacity: piece.count + 16) { span throws(CryptoError) in
                try cipher?.update(piece.rawSpan, into: &span)
            }
            if !encrypted.isEmpty { return encrypted }
        }
        guard cipher != nil else { return nil }
        return try [UInt8](rawCapacity: 16) { span throws(CryptoError) in
            if let cipher = cipher.take() { try cipher.finish(into: &span) }
        }
    }

    /// The initialization vector of a segment.
    static func vector(of name: SegmentName) -> [UInt8] {
        let text = Array(name.query.utf8)
        return Array(SHA256.hash(text.rawSpan).prefix(16))
    }
}
