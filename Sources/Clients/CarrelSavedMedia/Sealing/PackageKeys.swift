// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto

/// The keys of one package: every file has its own, and addresses are stored as authenticators.
struct PackageKeys: Sendable {
    /// The id of the package, to which all keys are bound.
    let id: String
    private let key: Secret
    private let addresses: HMACSHA256

    /// - Parameters:
    ///   - key: the package key, 32 bytes.
    ///   - id: the id of the package.
    /// - Throws: `saved.sealed` if the key has another length.
    init(_ key: Secret, id: String) throws(SavedMediaError) {
        guard key.count == 32 else { throw SavedMediaError(.sealed, "the key of package \(id) has \(key.count) bytes, not 32") }
        self.id = id
        self.key = key
        addresses = HMACSHA256(key: HKDF.sha256(secret: key, salt: [], info: "carrel saved addresses 1 \(id)", count: 32))
    }

    /// The key of a sealed file.
    ///
    /// - Parameters:
    ///   - name: the name of the file in the package.
    ///   - salt: the random bytes of its header.
    /// - Returns: 32 bytes.
    func fileKey(_ name: String, salt: [UInt8]) -> Secret {
        HKDF.sha256(secret: key, salt: salt, info: "carrel saved file 1 \(id) \(name)", count: AESGCM.keyByteCount)
    }

    /// The authenticator of an address: tables name resources without their addresses, which may hold tickets.
    func tag(_ address: String) -> AddressTag {
        let bytes = Array(address.utf8)
        let digest = addresses.authenticate(bytes.rawSpan)
        return AddressTag(high: digest.rawSpan.u64(at: 0), low: digest.rawSpan.u64(at: 8))
    }
}

/// The authenticator of an address, truncated to 128 bits.
struct AddressTag: Sendable, Hashable, Comparable {
    var high: UInt64
    var low: UInt64

    static func < (a: AddressTag, b: AddressTag) -> Bool { (a.high, a.low) < (b.high, b.low) }
}

extension AddressTag {
    /// Reads 32 hexadecimal digits.
    init?(_ text: String) {
        guard text.utf8.count == 32, let bytes = Hex.decode(text) else { return nil }
        self.init(high: bytes.rawSpan.u64(at: 0), low: bytes.rawSpan.u64(at: 8))
    }

    var hex: String {
        let bytes = [high, low].flatMap { number in (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) } }
        return Hex.encode(bytes)
    }
}
