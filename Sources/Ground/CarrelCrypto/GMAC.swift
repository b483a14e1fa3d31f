// SPDX-License-Identifier: Apache-2.0

import COpenSSL
import CarrelBytes

/// Tags of 128 bits for bytes that are not encrypted here: GMAC with AES-128 (NIST SP 800-38D §6.4, §7).
///
/// One value expands its key once and makes any number of tags, one after another.
///
/// ```swift
/// var mac = try GMAC(key: key)
/// mac.start(nonce: nonce)
/// mac.update(bytes)
/// let tag = mac.finish()
/// ```
package struct GMAC: ~Copyable, Sendable {
    /// Bytes of a key, a nonce and a tag.
    package static let keyByteCount = 16
    package static let nonceByteCount = 12
    package static let tagByteCount = 16

    private var context: CipherContext

    /// Expands a key.
    ///
    /// - Parameter key: 16 bytes.
    /// - Throws: `crypto.key-length`, `crypto.refused`.
    package init(key: Secret) throws(CryptoError) {
        guard key.count == Self.keyByteCount else { throw CryptoError(.keyLength, "a key of GMAC has 16 bytes here") }
        let nonce = [UInt8](repeating: 0, count: Self.nonceByteCount)
        context = try unsafe CipherContext(OpenSSL.shared.aes128GCM, key: key, iv: nonce, encrypt: true)
    }

    /// Begins a message.
    ///
    /// - Parameter nonce: 12 bytes; two different messages of one key never share it. Traps if it has another length.
    package mutating func start(nonce: [UInt8]) {
        precondition(nonce.count == Self.nonceByteCount, "a nonce of GMAC has 12 bytes")
        guard (try? context.restart(iv: nonce)) != nil else { fatalError("OpenSSL lost a tag") }
    }

    /// Adds the next bytes of the message.
    package mutating func update(_ bytes: RawSpan) {
        guard !bytes.isEmpty else { return }
        precondition(unsafe context.transform(bytes, into: nil) == bytes.byteCount, "OpenSSL lost a tag")
    }

    /// Ends the message.
    ///
    /// - Returns: its tag, 16 bytes.
    package mutating func finish() -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: Self.tagByteCount) { buffer, count in
            guard let start = buffer.baseAddress, unsafe context.makeTag(into: start) else { fatalError("OpenSSL lost a tag") }
            count = Self.tagByteCount
        }
    }
}
