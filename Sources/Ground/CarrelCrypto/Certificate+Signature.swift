// SPDX-License-Identifier: Apache-2.0

import COpenSSL

/// A signature algorithm of documents that include the signer's certificate.
package enum CertificateSignature: Sendable, Hashable {
    /// RSASSA-PKCS1-v1_5 with SHA-256 (RFC 8017 §8.2), under a key of 2,048 to 8,192 bits.
    case rsaSHA256
    /// ECDSA with SHA-256 on P-256, P-384 or P-521; R and S side by side, each as long as the curve's order (RFC 4050 §3.3).
    case ecdsaSHA256
}

extension Certificate {
    /// Whether a signature over a message was made with the private half of this certificate's key.
    ///
    /// - Parameters:
    ///   - signature: the signature in the algorithm's encoding.
    ///   - message: the whole message.
    ///   - algorithm: the only accepted algorithm.
    /// - Returns: false for every other signature, and for a key of another kind.
    package func isValid(_ signature: [UInt8], for message: RawSpan, by algorithm: CertificateSignature) -> Bool {
        defer { ERR_clear_error() }
        guard let key = unsafe X509_get0_pubkey(certificate) else { return false }
        let (kind, bits) = unsafe (EVP_PKEY_get_base_id(key), Int(EVP_PKEY_get_bits(key)))
        let bytes: [UInt8]
        switch algorithm {
        case .rsaSHA256:
            guard kind == EVP_PKEY_RSA, 2048...8192 ~= bits else { return false }
            bytes = signature
        case .ecdsaSHA256:
            let half = (bits + 7) / 8
            guard kind == EVP_PKEY_EC, [256, 384, 521].contains(bits), signature.count == 2 * half else { return false }
            bytes = DER.sequence(DER.integer(signature[..<half]), DER.integer(signature[half...]))
        }
        guard let context = unsafe EVP_MD_CTX_new() else { return false }
        defer { unsafe EVP_MD_CTX_free(context) }
        guard unsafe EVP_DigestVerifyInit_ex(context, nil, "SHA256", nil, nil, key, nil) == 1 else { return false }
        return unsafe message.withUnsafeBytes { message in
            guard let start = unsafe message.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return false }
            return unsafe EVP_DigestVerify(context, bytes, bytes.count, start, message.count) == 1
        }
    }
}
