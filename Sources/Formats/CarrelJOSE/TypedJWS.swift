// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelCrypto
import CarrelJSON

/// Signed objects of Carrel's own protocol in the compact form (RFC 7515 §7.1).
///
/// The reader specifies the expected algorithm and `typ`, so that no message chooses how it is verified (RFC 8725 §3.1, §3.11).
/// No key is taken from a header, except in proofs of possession (RFC 9449). ``JWS`` reads objects signed by other systems.
package enum TypedJWS {
    /// How a kind of object is signed.
    package enum Algorithm: String, Sendable {
        /// ECDSA on P-256 with SHA-256: devices, and the root.
        case es256 = "ES256"
        /// Ed25519: the server.
        case edDSA = "EdDSA"
        /// HMAC with SHA-256 under a shared key: license messages alone.
        case hs256 = "HS256"
    }

    /// A kind of object: its `typ`, and the one algorithm that it is signed with.
    package struct Kind: Sendable, Hashable {
        package let type: String
        package let algorithm: Algorithm
        /// Whether the header holds the key (`jwk`), as in a proof of possession; otherwise it must name one (`kid`), but under HS256.
        package let hasKey: Bool
        /// The longest text that is read, in bytes.
        package let maxByteCount: Int

        package init(type: String, algorithm: Algorithm, hasKey: Bool = false, maxByteCount: Int = 65_536) {
            self.type = type
            self.algorithm = algorithm
            self.hasKey = hasKey
            self.maxByteCount = maxByteCount
        }
    }

    /// An object that was read and not yet verified.
    package struct Unverified: Sendable {
        /// The ID of the signing key; nil only if the kind has none.
        package let keyID: String?
        /// The key of the header; only in kinds that have one.
        package let key: JWK?
        private let algorithm: Algorithm
        private let content: [UInt8]
        private let input: [UInt8]
        private let signature: [UInt8]

        /// Takes the text apart. Base 64 is read strictly, so that nothing has two forms.
        ///
        /// - Throws: `jose.malformed`; `jose.algorithm` for another algorithm, another `typ`, and for every header member that the kind
        ///   does not have; `jose.key` for a header's key that cannot be read.
        package init(_ text: some StringProtocol, as kind: Kind) throws(JOSEError) {
            guard text.utf8.count <= kind.maxByteCount else { throw JOSEError(.malformed, "it is too long") }
            // bytes, because generic text is taken apart slowly
            let parts = Array(text.utf8).split(separator: UInt8(ascii: "."), maxSplits: 3, omittingEmptySubsequences: false)
            guard parts.count == 3 else { throw JOSEError(.malformed, "it does not have three parts") }
            let header = try ProfileHeader(String(decoding: parts[0], as: UTF8.self), names: ["alg", "typ", "kid", "jwk"])
            guard header.text("alg") == kind.algorithm.rawValue else {
                throw JOSEError(.algorithm, "it is not signed with \(kind.algorithm.rawValue)")
            }
            guard header.text("typ") == kind.type else { throw JOSEError(.algorithm, "it is not of the type \(kind.type)") }
            guard (header.json["jwk"] != nil) == kind.hasKey else {
                throw JOSEError(.algorithm, kind.hasKey ? "its header has no key" : "its header brings a key")
            }
            keyID = header.text("kid")
            guard keyID != nil || kind.hasKey || kind.algorithm == .hs256 else { throw JOSEError(.algorithm, "it names no key") }
            if let jwk = header.json["jwk"] { key = try JWK(jwk) } else { key = nil }
            guard let content = Base64URL.decode(String(decoding: parts[1], as: UTF8.self)),
                let signature = Base64URL.decode(String(decoding: parts[2], as: UTF8.self))
            else { throw JOSEError(.malformed, "a part is not base 64") }
            algorithm = kind.algorithm
            self.content = content
            self.signature = signature
            input = Array(parts[0]) + [UInt8(ascii: ".")] + Array(parts[1])
        }

        /// The payload, when the key signed it.
        ///
        /// - Throws: `jose.algorithm` for a key that is for another algorithm, `jose.signature`.
        package func verified(by key: JWK) throws(JOSEError) -> [UInt8] {
            let isRight =
                switch (algorithm, key) {
                case (.es256, .p256(let key)): key.isValid(signature, for: input.rawSpan)
                case (.edDSA, .ed25519(let key)): key.isValid(signature, for: input.rawSpan)
                default: throw JOSEError(.algorithm, "the key is for another algorithm")
                }
            guard isRight else { throw JOSEError(.signature, "the signature is not right") }
            return content
        }

        /// The payload, when the shared key signed it.
        ///
        /// - Throws: `jose.algorithm` unless the kind is signed with HS256, `jose.signature`.
        package func verified(by key: HMACSHA256) throws(JOSEError) -> [UInt8] {
            guard algorithm == .hs256 else { throw JOSEError(.algorithm, "the key is for another algorithm") }
            guard key.isValid(signature.rawSpan, for: input.rawSpan) else {
                throw JOSEError(.signature, "the signature is not right")
            }
            return content
        }

        /// The payload before anything is proved: only to find the key to verify it with.
        package var unverifiedPayload: [UInt8] { content }
    }

    /// An object that is to be signed: by a key in memory, or by one that a vault keeps.
    package struct Unsigned: Sendable {
        /// The bytes to sign.
        package let input: [UInt8]

        ///
        /// - Parameters:
        ///   - kind: the kind of object.
        ///   - keyID: the ID of the signing key; nil only if the kind has none.
        ///   - key: the key of the header, in kinds that have one.
        ///   - payload: the content.
        package init(_ kind: Kind, keyID: String? = nil, key: JWK? = nil, payload: [UInt8]) {
            precondition((key != nil) == kind.hasKey, "a kind of signed objects has a key in its header, or has none")
            precondition(keyID != nil || kind.hasKey || kind.algorithm == .hs256, "a signed object names its key")
            var header: JSONObject = ["alg": .string(kind.algorithm.rawValue), "typ": .string(kind.type)]
            header["kid"] = keyID.map { .string($0) }
            header["jwk"] = key?.json
            input =
                Base64URL.encodedBytes(JSON.object(header).write()) + [UInt8(ascii: ".")] + Base64URL.encodedBytes(payload)
        }

        /// The text with a signature: 64 bytes, or 32 under HS256.
        package func signed(_ signature: [UInt8]) -> String {
            String(decoding: input + [UInt8(ascii: ".")] + Base64URL.encodedBytes(signature), as: UTF8.self)
        }
    }

    /// Signs with a key of Ed25519 in memory; the key's thumbprint is the `kid`.
    package static func sign(_ payload: [UInt8], as kind: Kind, with key: Ed25519.PrivateKey) -> String {
        precondition(kind.algorithm == .edDSA, "the key is for another algorithm")
        let unsigned = Unsigned(kind, keyID: JWK.ed25519(key.publicKey).thumbprint, payload: payload)
        return unsigned.signed(key.sign(unsigned.input.rawSpan))
    }

    /// Signs with a key on P-256 in memory; the key's thumbprint is the `kid`.
    package static func sign(_ payload: [UInt8], as kind: Kind, with key: P256.PrivateKey) -> String {
        precondition(kind.algorithm == .es256, "the key is for another algorithm")
        let jwk = JWK.p256(key.publicKey)
        let unsigned = Unsigned(
            kind,
            keyID: kind.hasKey ? nil : jwk.thumbprint,
            key: kind.hasKey ? jwk : nil,
            payload: payload
        )
        return unsigned.signed(key.sign(unsigned.input.rawSpan))
    }
}
