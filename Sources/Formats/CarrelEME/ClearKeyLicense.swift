// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelCrypto
import CarrelJSON

/// A license of ClearKey (W3C EME §9.1.4): a set of symmetric JSON Web Keys (RFC 7517 §5, RFC 7518 §6.4) in the clear.
package struct ClearKeyLicense: Sendable {
    /// A key with its id.
    package struct Key: Sendable {
        package let id: [UInt8]
        package let key: Secret

        package init(id: [UInt8], key: Secret) {
            self.id = id
            self.key = key
        }
    }

    package let keys: [Key]

    /// The largest license that is read, in bytes.
    package static let maxByteCount = 64 << 10

    package init(_ keys: [Key]) {
        self.keys = keys
    }

    /// Reads a license. Keys of other types are ignored; key ids and keys are accepted in either alphabet, with or without padding.
    ///
    /// - Parameter bytes: JSON in UTF-8.
    /// - Throws: `eme.malformed` unless it is a set of keys.
    package init(parsing bytes: RawSpan) throws(EMEError) {
        let limits = JSONLimits(depth: 8, byteCount: Self.maxByteCount, values: 8192)
        guard let list = (try? JSON.parse(bytes, limits: limits))?["keys"]?.array else {
            throw EMEError(.malformed, "the license is not a set of JSON Web Keys of at most \(Self.maxByteCount) bytes")
        }
        var keys: [Key] = []
        for entry in list where entry["kty"]?.string == "oct" {
            guard let id = entry["kid"]?.string.flatMap({ KeyText.decode($0) }),
                let key = entry["k"]?.string.flatMap({ KeyText.decode($0) })
            else { throw EMEError(.malformed, "a key of the license is not base 64") }
            keys.append(Key(id: id, key: Secret(key)))
        }
        self.keys = keys
    }

    /// The license for a request.
    ///
    /// - Parameter request: a request for a license, whose form of base 64 is used.
    /// - Returns: JSON in UTF-8.
    package func write(for request: ClearKeyRequest) -> [UInt8] {
        let list = keys.map { key -> JSON in
            let text = key.key.withBytes { KeyText.encode([UInt8](copying: $0), isPlain: request.isPlain) }
            return ["kty": "oct", "kid": .string(KeyText.encode(key.id, isPlain: request.isPlain)), "k": .string(text)]
        }
        var object: JSONObject = ["keys": .array(list)]
        if case .license(let session) = request.purpose { object["type"] = .string(session.rawValue) }
        return JSON.object(object).write()
    }
}
