// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// How an entry is encrypted with AES (WinZip, "AES Encryption Information", AE-1 and AE-2).
package struct AESEncryption: Sendable, Hashable {
    /// The method of an encrypted entry, in the place of its compression (APPNOTE §4.4.5).
    package static let method: UInt16 = 99

    /// Bytes of the key: 16, 24 or 32.
    package let keyLength: Int
    /// The compression below the encryption.
    package let method: UInt16

    /// Bytes of the salt before the encrypted bytes.
    package var saltLength: Int { keyLength / 2 }
    /// Size of the verification value after the salt, which detects most wrong passwords.
    package static let verifierLength = 2
    /// Size of the authentication code after the encrypted bytes.
    package static let codeLength = 10

    /// Finds extra field 0x9901.
    init(_ fields: ByteCursor) throws(Malformed) {
        var fields = fields
        while fields.remaining >= 4 {
            let id = try fields.u16le()
            var field = ByteCursor(try fields.slice(Int(try fields.u16le()), "extra field"))
            guard id == 0x9901 else { continue }
            let version = try field.u16le()
            let vendor = try field.u16()
            let strength = try field.u8()
            guard 1...2 ~= version, vendor == 0x4145, 1...3 ~= strength else {
                throw Malformed("entry is encrypted in a way that is not supported", at: field.position)
            }
            keyLength = 8 + 8 * Int(strength)
            method = try field.u16le()
            return
        }
        throw Malformed("entry does not say how it is encrypted", at: fields.position)
    }
}
