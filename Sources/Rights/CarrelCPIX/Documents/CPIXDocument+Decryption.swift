// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelCrypto
import CarrelRights

extension CPIXDocument {
    /// The document with its encrypted keys in the clear (CPIX 2.3 §7.2). The code of each key is verified before the key is decrypted.
    ///
    /// - Parameter recipientKey: the private key of one of the recipients.
    /// - Returns: the document; its recipients stay.
    /// - Throws: `cpix.missing-key` if no recipient has that key; `cpix.integrity` for an altered key, for a key without a code, and
    ///   for recipients that disagree.
    package func decrypted(by recipientKey: RSAPrivateKey) throws(CPIXError) -> CPIXDocument {
        let keys = try documentKeys(recipientKey)
        var mac = HMACSHA512(key: keys.mac)
        var document = self
        for (index, key) in self.keys.enumerated() {
            guard case .encrypted(let cipher, let code) = key.value else { continue }
            guard let code else {
                throw CPIXError(.integrity, "the key \(key.id.uuid) has no ValueMAC: nothing proves that it is unaltered")
            }
            guard mac.isValid(code.rawSpan, for: cipher.rawSpan) else {
                throw CPIXError(.integrity, "the ValueMAC of the key \(key.id.uuid) is wrong: the key was altered")
            }
            let secret: Secret
            do throws(CryptoError) { secret = try XMLEncryption.decrypt(cipher, key: keys.document) } catch {
                throw CPIXError(.integrity, "the key \(key.id.uuid) cannot be decrypted: \(error.message)")
            }
            guard secret.count == 16 else {
                throw CPIXError(.malformed, "the key \(key.id.uuid) has \(secret.count) bytes, and content keys have 16")
            }
            document.keys[index].value = .clear(secret)
        }
        return document
    }

    /// The keys with which a recipient verifies and decrypts.
    private func documentKeys(_ recipientKey: RSAPrivateKey) throws(CPIXError) -> (document: Secret, mac: Secret) {
        guard !recipients.isEmpty else { throw CPIXError(.missingKey, "the document is encrypted to nobody") }
        var match: (document: Secret, mac: Secret)?
        for (index, recipient) in recipients.enumerated() where recipientKey.belongs(to: recipient.certificate) {
            guard let wrappedKey = recipient.documentKey else {
                throw CPIXError(.missingKey, "recipient \(index + 1) has no document key")
            }
            guard let wrappedMAC = recipient.macKey else {
                throw CPIXError(
                    .integrity,
                    "recipient \(index + 1) has no MAC method: nothing proves that the keys are unaltered"
                )
            }
            let keys: (document: Secret, mac: Secret)
            do throws(CryptoError) { keys = (try recipientKey.decrypt(wrappedKey), try recipientKey.decrypt(wrappedMAC)) } catch {
                throw CPIXError(.integrity, "the document key of recipient \(index + 1) cannot be decrypted: \(error.message)")
            }
            guard keys.document.count == 32 else {
                throw CPIXError(.malformed, "the document key has \(keys.document.count) bytes, and the format has 32")
            }
            guard keys.mac.count >= 32 else {
                throw CPIXError(.malformed, "the key of codes has \(keys.mac.count) bytes, and the format has 64")
            }
            if let match, match.document != keys.document || match.mac != keys.mac {
                throw CPIXError(.integrity, "the document has two document keys for the same recipient")
            }
            match = keys
        }
        guard let match else {
            throw CPIXError(
                .missingKey,
                "the document is encrypted to \(recipients.count) recipients, and the private key is of none"
            )
        }
        return match
    }
}
