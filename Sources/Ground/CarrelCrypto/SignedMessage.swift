// SPDX-License-Identifier: Apache-2.0

import COpenSSL
import CarrelBytes

/// A signed message with its content and certificates (CMS signed data, RFC 5652 §5; its older form is PKCS #7).
///
/// A value proves that its signer's key signed the content, with SHA-2. ``CertificateRoots`` verifies who the signer is.
package struct SignedMessage: Sendable {
    /// The signed content.
    package let content: [UInt8]
    /// The certificate that names the key; not verified yet.
    package let signer: Certificate
    /// All certificates that came along, the signer's too.
    package let certificates: [Certificate]

    /// The longest message that is read, in bytes, and the most certificates in it.
    package static let maxByteCount = 1 << 20
    package static let maxCertificateCount = 10

    /// Reads one message in DER or BER, with nothing after it, and checks its one signature.
    ///
    /// - Throws: `crypto.message` for other data, `crypto.integrity` if the signature is not the signer's, or uses an untrusted
    ///   digest.
    package init(der bytes: [UInt8]) throws(CryptoError) {
        _ = OpenSSL.shared
        defer { ERR_clear_error() }
        guard let message = unsafe Self.read(bytes) else { throw CryptoError(.message, "it is no signed message") }
        defer { unsafe CMS_ContentInfo_free(message) }
        var (digest, signature): (Int32, Int32) = (0, 0)
        guard unsafe copenssl_message_algorithms(message, &digest, &signature) == 1 else {
            throw CryptoError(.message, "it is not a message with one signature")
        }
        guard Self.digests.contains(digest), Self.signatures.contains(signature) else {
            throw CryptoError(.integrity, "the message is signed in a way that is not taken")
        }
        guard let memory = unsafe BIO_new(BIO_s_mem()) else { throw CryptoError(.refused, "there is no memory for a message") }
        defer { unsafe BIO_free(memory) }
        // Chains are checked elsewhere, as all are.
        let flags = UInt32(CMS_NO_SIGNER_CERT_VERIFY) | UInt32(CMS_BINARY)
        guard unsafe CMS_verify(message, nil, nil, nil, memory, flags) == 1 else {
            throw CryptoError(.integrity, "the message's signature is not its signer's")
        }
        let signers = unsafe CMS_get0_signers(message)
        defer { unsafe copenssl_certificates_free(signers) }
        guard unsafe copenssl_certificates_count(signers) == 1, let first = unsafe copenssl_certificates_at(signers, 0) else {
            throw CryptoError(.message, "the message's signer is not in it")
        }
        unsafe signer = Certificate(sharing: first)
        certificates = try unsafe Self.certificates(of: message)
        var start: UnsafeMutablePointer<CChar>?
        let count = unsafe copenssl_memory(memory, &start)
        unsafe content = UnsafeRawBufferPointer(start: start, count: count).map(\.self)
    }

    private static let digests = [NID_sha256, NID_sha384, NID_sha512]
    private static let signatures = [
        NID_rsaEncryption, NID_sha256WithRSAEncryption, NID_sha384WithRSAEncryption, NID_sha512WithRSAEncryption,
        NID_ecdsa_with_SHA256, NID_ecdsa_with_SHA384, NID_ecdsa_with_SHA512,
    ]

    private static func read(_ bytes: [UInt8]) -> OpaquePointer? {
        guard bytes.count <= maxByteCount else { return nil }
        return unsafe bytes.withUnsafeBufferPointer { buffer -> OpaquePointer? in
            var cursor = buffer.baseAddress
            guard let message = unsafe d2i_CMS_ContentInfo(nil, &cursor, buffer.count) else { return nil }
            guard let start = buffer.baseAddress, let end = unsafe cursor, unsafe end - start == buffer.count else {
                unsafe CMS_ContentInfo_free(message)
                return nil
            }
            return unsafe message
        }
    }

    private static func certificates(of message: OpaquePointer) throws(CryptoError) -> [Certificate] {
        let stack = unsafe CMS_get1_certs(message)
        defer { unsafe copenssl_certificates_free_all(stack) }
        let count = unsafe copenssl_certificates_count(stack)
        guard count <= maxCertificateCount else { throw CryptoError(.message, "the message has too many certificates") }
        var certificates: [Certificate] = []
        for index in 0..<max(0, count) {
            guard let certificate = unsafe copenssl_certificates_at(stack, index) else { break }
            certificates.append(unsafe Certificate(sharing: certificate))
        }
        return certificates
    }
}
