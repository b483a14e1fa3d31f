// SPDX-License-Identifier: Apache-2.0

import COpenSSL
import CarrelBytes

/// A private RSA key that decrypts keys which were encrypted to it (RSAES-OAEP, RFC 8017 §7.1).
@safe
package final class RSAPrivateKey: @unchecked Sendable {  // the key never changes after `init`
    private let key: OpaquePointer

    /// The longest file that is read, in bytes.
    package static let maxByteCount = 65_536

    /// Takes ownership of a key, and frees it also if it throws.
    private init(owning key: OpaquePointer?) throws(CryptoError) {
        defer { ERR_clear_error() }
        guard let key = unsafe key else {
            throw CryptoError(.key, "the private key cannot be read: it is damaged, or the password is wrong")
        }
        guard unsafe EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA, 2048...8192 ~= (unsafe EVP_PKEY_get_bits(key)) else {
            unsafe EVP_PKEY_free(key)
            throw CryptoError(.key, "the private key is not RSA of 2048 to 8192 bits")
        }
        unsafe self.key = key
    }

    deinit {
        unsafe EVP_PKEY_free(key)
    }

    /// Reads a key from a file: PEM (RFC 7468 §10, RFC 8017 §A.1.2), or PKCS#12 (RFC 7292), often named PFX.
    ///
    /// - Parameters:
    ///   - file: the file, at most ``maxByteCount`` bytes.
    ///   - password: the file's password; empty if it has none.
    /// - Throws: `crypto.key` for a file without an RSA key of 2048 to 8192 bits, and for a wrong password.
    package convenience init(file: Secret, password: Secret) throws(CryptoError) {
        _ = OpenSSL.shared
        guard file.count <= Self.maxByteCount else {
            throw CryptoError(.key, "the file of the private key is longer than \(Self.maxByteCount) bytes")
        }
        let text = Secret.joined([password, Secret([0])])
        let isPEM = Self.isPEM(file)
        let key = unsafe file.withBytes { file in
            unsafe text.withBytes { text in
                unsafe file.withUnsafeBytes { file -> OpaquePointer? in
                    unsafe text.withUnsafeBytes { text -> OpaquePointer? in
                        guard let start = file.baseAddress,
                            let text = unsafe text.baseAddress?.assumingMemoryBound(to: CChar.self)
                        else { return nil }
                        if isPEM { return unsafe copenssl_pem_private_key(start, CInt(file.count), text) }
                        let bytes = unsafe start.assumingMemoryBound(to: UInt8.self)
                        return unsafe copenssl_pkcs12_private_key(bytes, file.count, text)
                    }
                }
            }
        }
        try unsafe self.init(owning: key)
    }

    /// Whether a file needs a password: an encrypted PEM, and every PKCS#12 file.
    package static func needsPassword(_ file: Secret) -> Bool {
        guard isPEM(file) else { return true }
        let mark = Array("ENCRYPTED".utf8)
        return file.withBytes { bytes in
            guard bytes.byteCount >= mark.count else { return false }
            return (0...(bytes.byteCount - mark.count)).contains { start in
                mark.indices.allSatisfy { bytes.u8(at: start + $0) == mark[$0] }
            }
        }
    }

    /// Whether the file is text: PKCS#12 begins with the tag of a sequence.
    private static func isPEM(_ file: Secret) -> Bool {
        file.withBytes { bytes in bytes.byteCount > 0 && bytes.u8(at: 0) != 0x30 }
    }

    /// Whether it is the private half of a certificate's key.
    package func belongs(to certificate: Certificate) -> Bool {
        defer { ERR_clear_error() }
        return unsafe EVP_PKEY_eq(X509_get0_pubkey(certificate.certificate), key) == 1
    }

    /// Decrypts a key (`rsa-oaep-mgf1p`, XML Encryption 1.1 §5.5.2): OAEP with SHA-1, in which a collision of SHA-1 breaks nothing.
    ///
    /// - Parameter cipher: as many bytes as the modulus has.
    /// - Returns: the key.
    /// - Throws: `crypto.integrity` for another key's cipher text, and for an altered one.
    package func decrypt(_ cipher: [UInt8]) throws(CryptoError) -> Secret {
        defer { ERR_clear_error() }
        guard let context = unsafe copenssl_oaep(key, 0) else {
            throw CryptoError(.refused, "there is no memory to decrypt a key")
        }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        let room = Int(unsafe EVP_PKEY_get_size(key))
        var count = room
        let plain = unsafe Secret(count: room) { out in
            unsafe EVP_PKEY_decrypt(context, out, &count, cipher, cipher.count) == 1
        }
        guard let plain else { throw CryptoError(.integrity, "the key was encrypted to another recipient, or altered") }
        return plain.withBytes { Secret(copying: $0.extracting(first: count)) }
    }
}
