// SPDX-License-Identifier: Apache-2.0

import COpenSSL
import CarrelBytes

extension Certificate {
    /// Bits of its RSA key; nil for a key of another kind.
    package var rsaBits: Int? {
        defer { ERR_clear_error() }
        guard let key = unsafe X509_get0_pubkey(certificate), unsafe EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA else { return nil }
        return Int(unsafe EVP_PKEY_get_bits(key))
    }

    /// Whether its signature uses a digest that is still secure (SHA-2). Who signed it is not checked.
    package var hasSecureDigest: Bool {
        defer { ERR_clear_error() }
        return SignatureDigest.holds(unsafe copenssl_certificate_digest(certificate))
    }

    /// Encrypts a key to the certificate's owner (`rsa-oaep-mgf1p`, XML Encryption 1.1 §5.5.2).
    ///
    /// - Parameter secret: the key, much shorter than the modulus.
    /// - Returns: as many bytes as the modulus has.
    /// - Throws: `crypto.key` if the certificate's key is not RSA, or too short for the secret.
    package func encrypt(_ secret: Secret) throws(CryptoError) -> [UInt8] {
        defer { ERR_clear_error() }
        guard let key = unsafe X509_get0_pubkey(certificate), let context = unsafe copenssl_oaep(key, 1) else {
            throw CryptoError(.key, "the certificate's key is not RSA")
        }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        var count = Int(unsafe EVP_PKEY_get_size(key))
        let cipher = secret.withBytes { secret in
            unsafe secret.withUnsafeBytes { secret in
                unsafe [UInt8](unsafeUninitializedCapacity: count) { out, filled in
                    let start = unsafe secret.baseAddress?.assumingMemoryBound(to: UInt8.self)
                    guard let start = unsafe start,
                        unsafe EVP_PKEY_encrypt(context, out.baseAddress, &count, start, secret.count) == 1
                    else { return }
                    filled = count
                }
            }
        }
        guard !cipher.isEmpty else { throw CryptoError(.key, "the certificate's key is too short for the secret") }
        return cipher
    }
}
