// SPDX-License-Identifier: Apache-2.0

import COpenSSL
package import CarrelBytes

/// The certificates that are trusted without further proof, and what follows from them. Nothing is looked up on the network.
@safe
package final class CertificateRoots: @unchecked Sendable {  // the store is only read after `init`
    private let store: OpaquePointer

    /// Trusts these, and nothing else: not the system's authorities.
    ///
    /// - Throws: `crypto.certificate` if there is none.
    package init(_ roots: [Certificate]) throws(CryptoError) {
        guard !roots.isEmpty else { throw CryptoError(.certificate, "no certificate is trusted") }
        let store = unsafe OpenSSL.present(X509_STORE_new())
        unsafe self.store = store
        for root in roots { unsafe X509_STORE_add_cert(store, root.certificate) }
    }

    deinit {
        unsafe X509_STORE_free(store)
    }

    /// Checks that a certificate leads to a root (RFC 5280 §6), every link signed, in time, and by an authority; with keys and
    /// digests of 112 bits' strength and more.
    ///
    /// - Parameters:
    ///   - leaf: the certificate to verify.
    ///   - intermediates: candidates between the leaf and the root.
    ///   - instant: the time at which all have to be valid.
    /// - Returns: the path from the leaf to the root, both included, without unused candidates.
    /// - Throws: `crypto.untrusted`, with the library's finding.
    @discardableResult
    package func verify(
        _ leaf: Certificate,
        through intermediates: [Certificate],
        at instant: Instant
    ) throws(CryptoError) -> [Certificate] {
        guard let context = unsafe X509_STORE_CTX_new(), let stack = unsafe copenssl_certificates_new() else {
            throw CryptoError(.refused, "there is no memory to check a certificate")
        }
        defer {
            unsafe X509_STORE_CTX_free(context)
            unsafe copenssl_certificates_free(stack)
            ERR_clear_error()
        }
        for certificate in intermediates { _ = unsafe copenssl_certificates_push(stack, certificate.certificate) }
        guard unsafe X509_STORE_CTX_init(context, store, leaf.certificate, stack) == 1,
            let parameters = unsafe X509_STORE_CTX_get0_param(context)
        else { throw CryptoError(.refused, "there is no memory to check a certificate") }
        let (seconds, remainder) = instant.milliseconds.quotientAndRemainder(dividingBy: 1000)
        unsafe X509_VERIFY_PARAM_set_time(parameters, Int(remainder < 0 ? seconds - 1 : seconds))
        unsafe X509_VERIFY_PARAM_set_depth(parameters, 4)
        unsafe X509_VERIFY_PARAM_set_auth_level(parameters, 2)
        let isValid = unsafe X509_verify_cert(context) == 1
        let failure = unsafe X509_STORE_CTX_get_error(context)
        // The arrays must live as long as the pointers in the stack.
        withExtendedLifetime((leaf, intermediates)) {}
        guard isValid, failure == X509_V_OK else {
            let words = unsafe String(cString: X509_verify_cert_error_string(Int(failure)))
            throw CryptoError(.untrusted, "a certificate is not trusted: \(words)")
        }
        let chain = unsafe X509_STORE_CTX_get0_chain(context)
        var path: [Certificate] = []
        for index in 0..<(unsafe copenssl_certificates_count(chain)) {
            guard let certificate = unsafe copenssl_certificates_at(chain, index) else { break }
            path.append(unsafe Certificate(sharing: certificate))
        }
        return path
    }

    /// Verifies a signer: its certificate must be for signing, lead to a root and have the required extensions.
    ///
    /// - Parameters:
    ///   - signer: the signer's certificate.
    ///   - others: further certificates, of which only the path to the root counts.
    ///   - instant: the time at which all have to be valid.
    ///   - leafMarker: an extension that the signer's certificate must have.
    ///   - intermediateMarker: an extension that the certificate above it must have, which then is the only one below the root.
    /// - Throws: `crypto.untrusted`.
    package func verify(
        signer: Certificate,
        through others: [Certificate],
        at instant: Instant,
        leafMarker: String?,
        intermediateMarker: String?
    ) throws(CryptoError) {
        guard signer.maySign else { throw CryptoError(.untrusted, "the signer's certificate is not for signing") }
        let path = try verify(signer, through: others, at: instant)
        if let leafMarker, !path[0].hasExtension(leafMarker) {
            throw CryptoError(.untrusted, "the signer's certificate lacks the extension \(leafMarker)")
        }
        if let intermediateMarker, path.count != 3 || !path[1].hasExtension(intermediateMarker) {
            throw CryptoError(.untrusted, "the certificate above the signer's lacks the extension \(intermediateMarker)")
        }
    }
}
