// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
package import CarrelCrypto

extension VerifiedLicense {
    /// The content key, if the user key is the license's (LCP 1.0 §4.3).
    ///
    /// - Parameter userKey: the key of the entered passphrase.
    /// - Returns: 32 bytes; nil if the passphrase is wrong.
    /// - Throws: `lcp.content-key` if the passphrase is right but the key cannot be decrypted; `lcp.profile` if the profile
    ///   produces a key of another length than 32 bytes.
    package func contentKey(_ userKey: UserKey) throws(LCPError) -> Secret? {
        let key = try profile.key(userKey.secret)
        let id = Array(document.id.utf8)
        // the wrong key mostly gives no padding
        guard let check = try? XMLEncryption.decrypt(document.encryption.keyCheck, key: key), check == Secret(id) else {
            return nil
        }
        guard let content = try? XMLEncryption.decrypt(document.encryption.contentKey, key: key), content.count == 32 else {
            throw LCPError(.contentKey, "the license has no content key of 32 bytes")
        }
        return content
    }

    /// Whether a user key opens the license (LCP 1.0 §4.3).
    ///
    /// - Parameter userKey: the key of the entered passphrase.
    /// - Returns: false if the passphrase is wrong.
    /// - Throws: `lcp.content-key` if the passphrase is right but the key cannot be decrypted; `lcp.profile` if the profile
    ///   produces a key of another length than 32 bytes.
    public func isOpened(by userKey: UserKey) throws(LCPError) -> Bool { try contentKey(userKey) != nil }

    /// A member of the user's information, decrypted if it is encrypted. Do not store it.
    ///
    /// - Parameters:
    ///   - name: the member's name, such as `email`.
    ///   - userKey: the license's key (see ``isOpened(by:)``).
    /// - Returns: nil if there is none.
    public func userField(_ name: String, _ userKey: UserKey) -> String? {
        guard let text = document.user.json[name]?.string else { return nil }
        guard document.user.encrypted.contains(name) else { return text }
        guard let bytes = Base64.decode(text),
            let key = try? profile.key(userKey.secret), let value = try? XMLEncryption.decrypt(bytes, key: key)
        else { return nil }
        return value.withBytes { bytes in unsafe bytes.withUnsafeBytes { unsafe String(validating: $0, as: UTF8.self) } }
    }
}
