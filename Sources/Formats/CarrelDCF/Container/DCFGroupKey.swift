// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelCrypto
import CarrelMP4

/// A content key encrypted under the key of a group of files (`grpi`, OMA DRM Content Format 2.0).
package struct DCFGroupKey: Sendable, Hashable {
    /// The group's id.
    package var groupID: String
    /// How the content key is encrypted.
    package var cipher: DCFCipher
    /// The initialization vector and the encrypted key; with the cipher `none`, the plain key.
    package var encryptedKey: [UInt8]

    /// Encrypts a content key for a group.
    ///
    /// - Parameters:
    ///   - contentKey: 16 bytes.
    ///   - groupID: the group's id.
    ///   - groupKey: 16 bytes.
    ///   - iv: fresh under the group key.
    /// - Throws: `keyLength`, or `refused`.
    package init(wrapping contentKey: Secret, groupID: String, groupKey: Secret, iv: AESBlock) throws(CryptoError) {
        guard contentKey.count == 16, groupKey.count == 16 else {
            throw CryptoError(.keyLength, "a content key and a group key have 16 bytes")
        }
        self.groupID = groupID
        cipher = .cbc
        var block = contentKey.withBytes { [UInt8](copying: $0) } + [UInt8](repeating: 16, count: 16)
        var stream = try AESStream(.chainedEncrypt, key: groupKey)
        stream.start(iv)
        var span = block.mutableSpan
        var bytes = unsafe span.mutableBytes
        stream.apply(to: &bytes, in: 0..<32)
        encryptedKey = iv.bytes + block
    }

    /// Reads the content of the box, after its version and flags.
    init(_ bytes: RawSpan) throws(Malformed) {
        var cursor = ByteCursor(bytes)
        let idLength = Int(try cursor.u16("group id"))
        guard let cipher = DCFCipher(rawValue: try cursor.u8("group key")) else {
            throw Malformed("group key has an unknown encryption", at: 2)
        }
        let keyLength = Int(try cursor.u16("group key"))
        groupID = try OMAText.read(cursor.slice(idLength, "group id"), "group id", at: 5)
        encryptedKey = [UInt8](copying: try cursor.slice(keyLength, "group key"))
        try cursor.finish("group box")
        self.cipher = cipher
    }

    func write(to writer: inout BoxWriter) {
        writer.fullBox("grpi") { writer in
            writer.u16(UInt16(truncatingIfNeeded: groupID.utf8.count))
            writer.u8(cipher.rawValue)
            writer.u16(UInt16(truncatingIfNeeded: encryptedKey.count))
            writer.append(Array(groupID.utf8))
            writer.append(encryptedKey)
        }
    }

    /// Decrypts the content key.
    ///
    /// - Parameter groupKey: the key of the group, 16 bytes.
    /// - Returns: the content key, 16 bytes.
    /// - Throws: `keyLength`; `length` if the encrypted key has an impossible length; `padding` if it was encrypted with another
    ///   key and the format reveals that.
    package func unwrap(under groupKey: Secret) throws(CryptoError) -> Secret {
        guard groupKey.count == 16 else { throw CryptoError(.keyLength, "a group key has 16 bytes") }
        let wrongLength = CryptoError(.length, "the encrypted content key has an impossible length")
        guard cipher != .none else {
            guard encryptedKey.count == 16 else { throw wrongLength }
            return Secret(encryptedKey)
        }
        let isPadded = encryptedKey.count == 48
        guard encryptedKey.count == 32 || (isPadded && cipher == .cbc) else { throw wrongLength }
        guard let iv = AESBlock(encryptedKey.rawSpan.extracting(first: 16)) else { throw wrongLength }
        var key = Array(encryptedKey[16...])
        var stream = try AESStream(cipher == .cbc ? .chainedDecrypt : .counter, key: groupKey)
        stream.start(iv)
        var span = key.mutableSpan
        var bytes = unsafe span.mutableBytes
        stream.apply(to: &bytes, in: 0..<bytes.byteCount)
        if isPadded, !key[16...].allSatisfy({ $0 == 16 }) {
            throw CryptoError(.padding, "the content key was encrypted under another group key")
        }
        return Secret(copying: key.rawSpan.extracting(first: 16))
    }
}

/// Strings of OMA headers.
enum OMAText {
    /// The UTF-8 text of `bytes`, or an error at `offset`.
    static func read(_ bytes: RawSpan, _ what: StaticString, at offset: Int) throws(Malformed) -> String {
        guard let text = String(validating: [UInt8](copying: bytes), as: UTF8.self), !text.utf8.contains(0) else {
            throw Malformed("\(what) is not text", at: offset)
        }
        return text
    }
}
