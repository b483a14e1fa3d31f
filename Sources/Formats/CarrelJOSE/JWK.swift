// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelCrypto
package import CarrelJSON

/// A public key of Carrel's own protocol: on P-256 for devices (RFC 7518 §6.2), or of Ed25519 for the server (RFC 8037 §2).
package enum JWK: Sendable, Hashable {
    /// A device's key: signatures with ES256, or key agreement.
    case p256(P256.PublicKey)
    /// A key of the server: signatures with EdDSA.
    case ed25519(Ed25519.PublicKey)

    /// Reads a key. Members that the kind of key does not need are ignored, except the members of a private key.
    ///
    /// - Throws: `jose.key` for every other kind, for coordinates of other lengths, for a point off the curve, and for a private key.
    package init(_ json: JSON) throws(JOSEError) {
        func bytes(_ name: String) throws(JOSEError) -> [UInt8] {
            guard let bytes = json[name]?.string.flatMap({ Base64URL.decode($0) }), bytes.count == 32 else {
                throw JOSEError(.key, "\(name) of the key is not 32 bytes in base 64")
            }
            return bytes
        }
        guard json["d"] == nil else { throw JOSEError(.key, "the key is a private one") }
        switch (json["kty"]?.string, json["crv"]?.string) {
        case ("EC", "P-256"):
            let (x, y) = (try bytes("x"), try bytes("y"))
            guard let key = try? P256.PublicKey(x: x, y: y) else { throw JOSEError(.key, "the key is not on its curve") }
            self = .p256(key)
        case ("OKP", "Ed25519"):
            let x = try bytes("x")
            guard let key = try? Ed25519.PublicKey(x) else { throw JOSEError(.key, "the key is not on its curve") }
            self = .ed25519(key)
        default: throw JOSEError(.key, "the key is neither on P-256 nor of Ed25519")
        }
    }

    /// The key as JSON: the members that its thumbprint covers, in their order.
    package var json: JSON {
        switch self {
        case .p256(let key):
            [
                "crv": "P-256", "kty": "EC", "x": .string(Base64URL.encode(key.coordinates[..<32])),
                "y": .string(Base64URL.encode(key.coordinates[32...])),
            ]
        case .ed25519(let key): ["crv": "Ed25519", "kty": "OKP", "x": .string(Base64URL.encode(key.bytes))]
        }
    }

    /// Its SHA-256 thumbprint (RFC 7638) in base 64 for URLs, 43 characters: the `kid` of every key of the protocol.
    package var thumbprint: String { Base64URL.encode(SHA256.hash(json.write().rawSpan)) }
}
