// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelCrypto
import CarrelJSON

/// The public keys of a signer (RFC 7517 §5). Keys that are for something else, or of no accepted kind, are left out.
package struct JWKSet: Sendable {
    /// One key.
    package struct Key: Sendable {
        /// The signer's id of the key; nil if it has none.
        package let id: String?
        package let key: PublicKey
    }

    package let keys: [Key]

    /// The most keys that are read.
    package static let maxKeys = 64

    /// Reads a set of at most 256 KiB.
    ///
    /// - Throws: `Malformed` unless the bytes are a set of keys.
    package init(_ bytes: RawSpan) throws(Malformed) {
        let json = try JSON.parse(bytes, limits: JSONLimits(depth: 8, byteCount: 256 << 10))
        guard let elements = json["keys"]?.array, elements.count <= Self.maxKeys else {
            throw Malformed("a set of keys has no list of at most \(Self.maxKeys) keys", at: 0)
        }
        keys = elements.compactMap { element in
            guard let object = element.object, let key = Self.key(object) else { return nil }
            return Key(id: object["kid"]?.string, key: key)
        }
    }

    /// The key that a header names or, if it names none, the only key for its algorithm.
    ///
    /// - Returns: nil if there is no such key, or more than one.
    package func key(for header: JWSHeader) -> PublicKey? {
        let matching = keys.filter { $0.key.algorithm == header.algorithm && (header.keyID == nil || $0.id == header.keyID) }
        return matching.count == 1 ? matching[0].key : nil
    }

    private static func key(_ object: JSONObject) -> PublicKey? {
        // Our own keys stay secret, and a signer that publishes a private key is careless.
        guard object["d"] == nil, object["use"] == nil || object["use"]?.string == "sig" else { return nil }
        if let operations = object["key_ops"]?.array, !operations.contains(where: { $0.string == "verify" }) { return nil }
        func number(_ name: String) -> [UInt8]? { object[name]?.string.flatMap { Base64URL.decode($0) } }
        let key: PublicKey?
        switch object["kty"]?.string {
        case "RSA":
            guard let modulus = number("n"), let exponent = number("e") else { return nil }
            key = try? PublicKey.rsa(modulus: modulus, exponent: exponent)
        case "EC" where object["crv"]?.string == "P-256":
            guard let x = number("x"), let y = number("y") else { return nil }
            key = try? PublicKey.p256(x: coordinate(x), y: coordinate(y))
        default: return nil
        }
        guard let algorithm = object["alg"] else { return key }
        return key.flatMap { algorithm.string == ($0.algorithm == .rs256 ? "RS256" : "ES256") ? $0 : nil }
    }

    /// Exactly 32 bytes (RFC 7518 §6.2.1.2). Some signers write a sign's zero before them, or leave zeros out.
    private static func coordinate(_ bytes: [UInt8]) -> [UInt8] {
        let digits = bytes.drop { $0 == 0 }
        return [UInt8](repeating: 0, count: max(0, 32 - digits.count)) + digits
    }
}
