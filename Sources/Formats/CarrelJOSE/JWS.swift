// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelCrypto

/// JSON Web Signatures in the compact form (RFC 7515 §7.1), signed with RS256 or ES256.
package enum JWS {
    /// The longest text that is read, in bytes.
    package static let maxByteCount = 65_536

    /// A signed object that was read and not yet verified.
    package struct Unverified: Sendable {
        package let header: JWSHeader
        private let content: [UInt8]
        private let signed: [UInt8]
        private let signature: [UInt8]

        /// Takes the text apart. Base 64 is read strictly, so that nothing has two forms.
        ///
        /// - Parameter text: three parts with periods between them, 64 KiB at most.
        /// - Throws: `jose.malformed`, and `jose.algorithm` for all but RS256 and ES256.
        package init(_ text: some StringProtocol) throws(JOSEError) {
            guard text.utf8.count <= JWS.maxByteCount else { throw JOSEError(.malformed, "it is too long") }
            let parts = text.utf8.split(separator: UInt8(ascii: "."), maxSplits: 3, omittingEmptySubsequences: false)
            guard parts.count == 3 else { throw JOSEError(.malformed, "it does not have three parts") }
            func decode(_ part: Int) throws(JOSEError) -> [UInt8] {
                guard let bytes = Base64URL.decode(String(decoding: parts[part], as: UTF8.self)) else {
                    throw JOSEError(.malformed, "a part is not base 64")
                }
                return bytes
            }
            header = try JWSHeader(try decode(0), upTo: JWS.maxByteCount)
            content = try decode(1)
            signature = try decode(2)
            signed = Array(parts[0]) + [UInt8(ascii: ".")] + Array(parts[1])
        }

        /// Believes it when the key signed it.
        ///
        /// - Throws: `jose.algorithm` if the key is for another algorithm than the header's, `jose.signature`.
        package func verified(by key: PublicKey) throws(JOSEError) -> Verified {
            guard key.algorithm == header.algorithm else { throw JOSEError(.algorithm, "the key is for another algorithm") }
            guard key.isValid(signature, for: signed.rawSpan) else { throw JOSEError(.signature, "the signature is not right") }
            return Verified(header: header, payload: content)
        }

        /// The payload before anything is proved: only to find out which key or which time to check it with.
        package var unverifiedPayload: [UInt8] { content }
    }

    /// A signed object with a verified signature.
    package struct Verified: Sendable {
        package let header: JWSHeader
        package let payload: [UInt8]
    }
}
