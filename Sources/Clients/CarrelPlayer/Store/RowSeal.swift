// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelCrypto
package import CarrelJSON

/// Encrypts the rows of a store (AES-256-GCM), each with its own nonce and bound to its position, so that rows cannot be
/// exchanged.
package struct RowSeal: Sendable {
    private let key: Secret
    private let index: HMACSHA256

    /// Bytes of a row at most.
    static let rowLimit = 1 << 20

    /// - Parameter key: 32 bytes, which the vault keeps sealed.
    package init(key: Secret) {
        self.key = key
        index = HMACSHA256(key: key)
    }

    /// The digest that an id is found by, without being readable in the file: 16 bytes.
    func digest(_ kind: String, _ text: String) -> [UInt8] {
        let message = Array("\(kind)\n\(text)".utf8)
        return Array(index.authenticate(message.rawSpan).prefix(16))
    }

    /// Encrypts a row.
    ///
    /// - Parameters:
    ///   - json: the row.
    ///   - place: table and key of the row.
    /// - Returns: nonce, ciphertext and tag.
    /// - Throws: `player.store`.
    package func seal(_ json: JSON, at place: String) throws(PlayerError) -> [UInt8] {
        let plaintext = json.write()
        return try seal(plaintext.rawSpan, at: place)
    }

    /// Decrypts a row.
    ///
    /// - Throws: `player.store-damaged` for an altered row, and for one of another place or another store.
    package func open(_ bytes: [UInt8], at place: String) throws(PlayerError) -> JSON {
        let secret = try openSecret(bytes, at: place)
        let json = secret.withBytes { try? JSON.parse($0, limits: JSONLimits(depth: 8, byteCount: Self.rowLimit)) }
        guard let json else { throw Self.damaged }
        return json
    }

    /// Encrypts a secret.
    ///
    /// - Parameters:
    ///   - secret: the bytes.
    ///   - place: table and key of the row.
    /// - Returns: nonce, ciphertext and tag.
    /// - Throws: `player.store`.
    func seal(_ secret: Secret, at place: String) throws(PlayerError) -> [UInt8] {
        try secret.withBytes { (bytes) throws(PlayerError) in try seal(bytes, at: place) }
    }

    private func seal(_ plaintext: RawSpan, at place: String) throws(PlayerError) -> [UInt8] {
        let nonce = Random.bytes(AESGCM.nonceByteCount)
        do throws(CryptoError) {
            return nonce + (try AESGCM.seal(plaintext, key: key, nonce: nonce, associated: Array(place.utf8)))
        } catch {
            throw PlayerError(.store, "the license store cannot encrypt: \(error.message)")
        }
    }

    /// Decrypts a secret.
    ///
    /// - Throws: `player.store-damaged` for an altered row, and for one of another place or another store.
    func openSecret(_ bytes: [UInt8], at place: String) throws(PlayerError) -> Secret {
        let nonce = Array(bytes.prefix(AESGCM.nonceByteCount))
        guard nonce.count == AESGCM.nonceByteCount else { throw Self.damaged }
        do throws(CryptoError) {
            let sealed = bytes.rawSpan.extracting(AESGCM.nonceByteCount..<bytes.count)
            return try AESGCM.open(sealed, key: key, nonce: nonce, associated: Array(place.utf8))
        } catch {
            throw Self.damaged
        }
    }

    static let damaged = PlayerError(.storeDamaged, "a row of the license store was altered, or belongs to another store")
}
