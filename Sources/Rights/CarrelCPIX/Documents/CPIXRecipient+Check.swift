// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelCrypto

extension CPIXRecipient {
    /// Refuses a certificate to which no key should be encrypted.
    ///
    /// - Parameters:
    ///   - certificate: the recipient's certificate.
    ///   - name: the recipient, for the error.
    ///   - rsaBits: bits of its key, at least: 3,072, and 2,048 for SPEKE.
    /// - Throws: `cpix.recipient` if the key is not RSA or too short, or if the certificate is signed with SHA-1.
    package static func check(_ certificate: Certificate, named name: String, rsaBits: Int) throws(CPIXError) {
        guard let bits = certificate.rsaBits else {
            throw CPIXError(.recipient, "the certificate of \(name) has a key that is not RSA")
        }
        guard bits >= rsaBits else {
            throw CPIXError(
                .recipient,
                "the certificate of \(name) has an RSA key of \(bits) bits: \(rsaBits) or more are required"
            )
        }
        guard certificate.hasSecureDigest else {
            throw CPIXError(.recipient, "the certificate of \(name) is signed with SHA-1 or another insecure digest")
        }
    }
}
