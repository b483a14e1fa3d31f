// SPDX-License-Identifier: Apache-2.0

import COpenSSL
import CarrelBytes

/// An X.509 certificate (RFC 5280), read and not yet verified: ``CertificateRoots`` verifies it.
@safe
package final class Certificate: @unchecked Sendable {  // the library locks what it computes of a certificate later
    let certificate: OpaquePointer

    /// The longest encoding that is read, in bytes.
    package static let maxByteCount = 16_384

    /// Reads one certificate in DER, with nothing after it.
    ///
    /// - Throws: `crypto.certificate`.
    package init(der bytes: [UInt8]) throws(CryptoError) {
        _ = OpenSSL.shared
        var used = 0
        let certificate = unsafe bytes.withUnsafeBufferPointer { buffer -> OpaquePointer? in
            guard buffer.count <= Self.maxByteCount else { return nil }
            var cursor = buffer.baseAddress
            let certificate = unsafe d2i_X509(nil, &cursor, buffer.count)
            if let start = buffer.baseAddress, let end = unsafe cursor { used = unsafe end - start }
            return unsafe certificate
        }
        guard let certificate = unsafe certificate, used == bytes.count else {
            unsafe X509_free(certificate)
            ERR_clear_error()
            throw CryptoError(.certificate, "a certificate cannot be read")
        }
        unsafe self.certificate = certificate
    }

    /// Shares a certificate that the library continues to hold.
    init(sharing certificate: OpaquePointer) {
        unsafe X509_up_ref(certificate)
        unsafe self.certificate = certificate
    }

    deinit {
        unsafe X509_free(certificate)
    }

    /// The key that the certificate is for.
    ///
    /// - Throws: `crypto.key` if it is of a kind that ``PublicKey`` does not know.
    package func publicKey() throws(CryptoError) -> PublicKey {
        guard let key = unsafe X509_get_pubkey(certificate) else {
            ERR_clear_error()
            throw CryptoError(.key, "a certificate's key cannot be read")
        }
        return try unsafe PublicKey(owning: key)
    }

    /// Whether it has an extension of that type.
    ///
    /// - Parameter identifier: numbers and periods, such as `1.2.840.113635.100.6.11.1`.
    /// - Returns: false for an identifier that is not of that form, too.
    package func hasExtension(_ identifier: String) -> Bool {
        guard let object = unsafe OBJ_txt2obj(identifier, 1) else {
            ERR_clear_error()
            return false
        }
        defer { unsafe ASN1_OBJECT_free(object) }
        return unsafe X509_get_ext_by_OBJ(certificate, object, -1) >= 0
    }

    /// Whether it may sign data: its key usage (RFC 5280 §4.2.1.3) allows it, or it has none, and it is not an authority's.
    package var maySign: Bool {
        let (usage, authority) = unsafe (X509_get_key_usage(certificate), X509_check_ca(certificate))
        return usage & UInt32(KU_DIGITAL_SIGNATURE) != 0 && authority == 0
    }
}
