// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelCrypto

/// Seals the content of a file, piece by piece.
package struct FileSealer: Sendable {
    private let key: Secret
    private let header: [UInt8]
    private var pending: [UInt8] = []
    private var block: Int64 = 0
    private var hasHeader = false

    /// - Parameters:
    ///   - name: the name of the file in the package.
    ///   - keys: the keys of the package.
    init(name: String, _ keys: PackageKeys) {
        let salt = Random.bytes(SealedFormat.saltLength)
        header = SealedFormat.magic + salt
        key = keys.fileKey(name, salt: salt)
    }

    /// Creates a sealer under a key, without a package: for tests of the format.
    ///
    /// - Parameters:
    ///   - name: the name of the file in the package.
    ///   - key: the package key.
    ///   - id: the id of the package.
    /// - Throws: `saved.sealed` if the key is not one.
    package init(name: String, key: Secret, id: String) throws(SavedMediaError) {
        self.init(name: name, try PackageKeys(key, id: id))
    }

    /// Seals the next bytes.
    ///
    /// - Parameter bytes: the next bytes of the content.
    /// - Returns: the bytes to be stored now: whole blocks.
    package mutating func append(_ bytes: [UInt8]) -> [UInt8] {
        var stored = begin()
        var rest = bytes[...]
        // the last block is sealed as such, so a full block waits for its successor
        while pending.count + rest.count > SealedFormat.blockLength {
            let count = SealedFormat.blockLength - pending.count
            pending += rest.prefix(count)
            rest = rest.dropFirst(count)
            stored += seal(isLast: false)
        }
        pending += rest
        return stored
    }

    /// Seals the last block.
    ///
    /// - Returns: the bytes to be stored.
    package mutating func finish() -> [UInt8] { begin() + seal(isLast: true) }

    private mutating func begin() -> [UInt8] {
        guard !hasHeader else { return [] }
        hasHeader = true
        return header
    }

    private mutating func seal(isLast: Bool) -> [UInt8] {
        let nonce = SealedFormat.nonce(block, isLast: isLast)
        defer {
            pending.removeAll(keepingCapacity: true)
            block += 1
        }
        do throws(CryptoError) {
            return try AESGCM.seal(pending.rawSpan, key: key, nonce: nonce, associated: header)
        } catch {
            // the key and the nonce have the right lengths
            fatalError("OpenSSL refused AES-256-GCM: \(error.message)")
        }
    }
}
