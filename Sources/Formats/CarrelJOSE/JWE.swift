// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelCrypto
import CarrelJSON

/// Encrypted objects of Carrel's own protocol in the compact form (RFC 7516 §7.1): to a key on P-256 by ECDH-ES, with
/// AES-256-GCM.
///
/// Every other algorithm is refused, compression and keys elsewhere included.
package enum JWE {
    /// How the content's key reaches the recipient.
    package enum Mode: String, Sendable, CaseIterable {
        /// The agreed key is the content's key (RFC 7518 §4.6).
        case direct = "ECDH-ES"
        /// The content's key is wrapped under the agreed one.
        case wrapped = "ECDH-ES+A256KW"
    }

    /// The longest text that is read, in bytes.
    package static let maxByteCount = 65_536

    /// Encrypts to a key.
    ///
    /// - Parameters:
    ///   - plaintext: content for the key's owner only.
    ///   - recipient: the key; its thumbprint is the `kid`.
    ///   - type: `typ`, the kind of object.
    ///   - context: the context of the object (`apv`): the reader must expect the same, so that it cannot be moved.
    ///   - mode: how the content key reaches the recipient.
    /// - Returns: the object in its compact form.
    package static func encrypt(
        _ plaintext: RawSpan,
        to recipient: P256.PublicKey,
        type: String,
        context: [UInt8],
        mode: Mode = .direct
    ) -> String {
        let ephemeral = P256.PrivateKey()
        let header: JSON = [
            "alg": .string(mode.rawValue), "enc": "A256GCM", "typ": .string(type), "kid": .string(JWK.p256(recipient).thumbprint),
            "epk": JWK.p256(ephemeral.publicKey).json, "apv": .string(Base64URL.encode(context)),
        ]
        let head = Base64URL.encodedBytes(header.write())
        let agreed = agreedKey(ephemeral.sharedSecret(with: recipient), mode: mode, producer: [], context: context)
        let nonce = Random.bytes(AESGCM.nonceByteCount)
        do throws(CryptoError) {
            let key = mode == .direct ? agreed : Secret.random(count: AESGCM.keyByteCount)
            let wrapped = mode == .direct ? [] : try AESKeyWrap.wrap(key, under: agreed)
            let sealed = try AESGCM.seal(plaintext, key: key, nonce: nonce, associated: head)
            let parts = [
                head, Base64URL.encodedBytes(wrapped), Base64URL.encodedBytes(nonce),
                Base64URL.encodedBytes(sealed.dropLast(AESGCM.tagByteCount)),
                Base64URL.encodedBytes(sealed.suffix(AESGCM.tagByteCount)),
            ]
            return String(decoding: Array(parts.joined(separator: [UInt8(ascii: ".")])), as: UTF8.self)
        } catch {
            fatalError("OpenSSL does not encrypt: \(error)")
        }
    }

    /// An encrypted object that was read and not yet opened.
    package struct Sealed: Sendable {
        /// The thumbprint of the key that it is for.
        package let keyID: String
        /// The sender's key, made for this one object; the recipient's private key agrees with it.
        package let ephemeral: P256.PublicKey
        private let mode: Mode
        private let producer: [UInt8]
        private let context: [UInt8]
        private let head: [UInt8]
        private let wrapped: [UInt8]
        private let nonce: [UInt8]
        private let sealed: [UInt8]

        /// Takes the text apart.
        ///
        /// - Parameters:
        ///   - text: five parts with periods between them, 64 KiB at most.
        ///   - type: the `typ` that it must have.
        ///   - context: the `apv` that it must have.
        /// - Throws: `jose.malformed`; `jose.algorithm` for another algorithm, `typ` or `apv`, and for unknown header members;
        ///   `jose.key` for a point off the curve.
        package init(_ text: some StringProtocol, type: String, context: [UInt8]) throws(JOSEError) {
            guard text.utf8.count <= JWE.maxByteCount else { throw JOSEError(.malformed, "it is too long") }
            // bytes, because generic text is taken apart slowly
            let parts = Array(text.utf8).split(separator: UInt8(ascii: "."), maxSplits: 5, omittingEmptySubsequences: false)
            guard parts.count == 5 else { throw JOSEError(.malformed, "it does not have five parts") }
            let header = try ProfileHeader(
                String(decoding: parts[0], as: UTF8.self),
                names: ["alg", "enc", "typ", "kid", "epk", "apu", "apv"]
            )
            guard let mode = header.text("alg").flatMap({ Mode(rawValue: $0) }), header.text("enc") == "A256GCM" else {
                throw JOSEError(.algorithm, "it is not encrypted with ECDH-ES and A256GCM")
            }
            guard header.text("typ") == type else { throw JOSEError(.algorithm, "it is not of the type \(type)") }
            func decode(_ text: String) throws(JOSEError) -> [UInt8] {
                guard let bytes = Base64URL.decode(text) else { throw JOSEError(.malformed, "a part is not base 64") }
                return bytes
            }
            func decode(_ part: Int) throws(JOSEError) -> [UInt8] { try decode(String(decoding: parts[part], as: UTF8.self)) }
            guard try decode(header.text("apv") ?? "") == context else {
                throw JOSEError(.algorithm, "it belongs to something else")
            }
            guard let keyID = header.text("kid") else { throw JOSEError(.algorithm, "it names no key") }
            guard let epk = header.json["epk"], case .p256(let ephemeral) = try JWK(epk) else {
                throw JOSEError(.key, "the sender's key is not on P-256")
            }
            self.keyID = keyID
            self.ephemeral = ephemeral
            self.mode = mode
            self.context = context
            producer = try decode(header.text("apu") ?? "")
            head = Array(parts[0])
            wrapped = try decode(1)
            nonce = try decode(2)
            sealed = try decode(3) + decode(4)
            guard wrapped.count == (mode == .direct ? 0 : AESGCM.keyByteCount + 8), nonce.count == AESGCM.nonceByteCount,
                parts[4].count == 22
            else { throw JOSEError(.malformed, "a part has a length that it cannot have") }
        }

        /// Decrypts the content.
        ///
        /// - Parameter secret: the 32-byte shared secret of the recipient's private key and ``ephemeral``.
        /// - Returns: the content.
        /// - Throws: `jose.signature` for another key, and for altered bytes.
        package func open(sharedSecret secret: Secret) throws(JOSEError) -> Secret {
            let agreed = agreedKey(secret, mode: mode, producer: producer, context: context)
            do throws(CryptoError) {
                let key = mode == .direct ? agreed : try AESKeyWrap.unwrap(wrapped.rawSpan, under: agreed)
                return try AESGCM.open(sealed.rawSpan, key: key, nonce: nonce, associated: head)
            } catch {
                throw JOSEError(.signature, "it is not encrypted to this key, or was altered")
            }
        }
    }

    /// The key that both sides derive (RFC 7518 §4.6.2): 256 bits.
    private static func agreedKey(_ secret: Secret, mode: Mode, producer: [UInt8], context: [UInt8]) -> Secret {
        func number(_ value: Int) -> [UInt8] {
            stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: value >> $0) }
        }
        func field(_ bytes: [UInt8]) -> [UInt8] { number(bytes.count) + bytes }
        let algorithm = mode == .direct ? "A256GCM" : mode.rawValue
        return ConcatKDF.sha256(
            secret: secret,
            otherInfo: field(Array(algorithm.utf8)) + field(producer) + field(context) + number(256),
            count: AESGCM.keyByteCount
        )
    }
}
