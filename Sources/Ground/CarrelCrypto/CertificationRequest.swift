// SPDX-License-Identifier: Apache-2.0

import COpenSSL
import CarrelBytes

/// A request for a certificate (PKCS#10, RFC 2986), which proves that its sender has the private key.
package struct CertificationRequest: Sendable {
    /// The key that the certificate is to be for.
    package let publicKey: P256.PublicKey

    /// The longest request that is read, in bytes.
    package static let maxByteCount = 4096

    /// Reads a request in DER, with nothing after it, and checks its signature. Its subject and requested extensions are not
    /// read: the authority decides on both.
    ///
    /// - Throws: `crypto.request` unless it has a key on P-256 and is signed with that key, with SHA-256.
    package init(der bytes: [UInt8]) throws(CryptoError) {
        _ = OpenSSL.shared
        defer { ERR_clear_error() }
        guard bytes.count <= Self.maxByteCount, let request = unsafe Self.read(bytes) else {
            throw CryptoError(.request, "the certification request cannot be read")
        }
        defer { unsafe X509_REQ_free(request) }
        let algorithm = unsafe X509_REQ_get_signature_nid(request)
        var info: UnsafeMutablePointer<UInt8>?
        let count = Int(unsafe i2d_X509_PUBKEY(X509_REQ_get_X509_PUBKEY(request), &info))
        guard count > 0, let info = unsafe info else { throw CryptoError(.request, "the certification request has no key") }
        defer { unsafe CRYPTO_free(info, nil, 0) }
        do throws(CryptoError) {
            publicKey = try P256.PublicKey(subjectPublicKeyInfo: unsafe Array(UnsafeBufferPointer(start: info, count: count)))
        } catch {
            throw CryptoError(.request, "the certification request is for a key that is not on the curve P-256")
        }
        guard algorithm == NID_ecdsa_with_SHA256, unsafe X509_REQ_verify(request, publicKey.key.key) == 1 else {
            throw CryptoError(.request, "the certification request is not signed with its own key")
        }
    }

    /// Writes a request in DER.
    ///
    /// - Parameters:
    ///   - commonName: the subject.
    ///   - publicKey: the key that the certificate is to be for.
    ///   - sign: returns R and S of a signature with its private half, 64 bytes.
    /// - Returns: the request in DER.
    /// - Throws: an error of `sign`.
    package static func make(
        commonName: String,
        publicKey: P256.PublicKey,
        sign: ([UInt8]) async throws -> [UInt8]
    ) async throws -> [UInt8] {
        let info = DER.sequence(
            DER.integer(0),
            DER.name(commonName),
            publicKey.subjectPublicKeyInfo,
            DER.explicit(0, [])
        )
        return DER.signed(info, by: try await sign(info))
    }

    private static func read(_ bytes: [UInt8]) -> OpaquePointer? {
        unsafe bytes.withUnsafeBufferPointer { buffer -> OpaquePointer? in
            var cursor = buffer.baseAddress
            guard let request = unsafe d2i_X509_REQ(nil, &cursor, buffer.count) else { return nil }
            guard let start = buffer.baseAddress, let end = unsafe cursor, unsafe end - start == buffer.count else {
                unsafe X509_REQ_free(request)
                return nil
            }
            return unsafe request
        }
    }
}

extension DER {
    /// A distinguished name of a common name alone (RFC 5280 §4.1.2.4).
    static func name(_ commonName: String) -> [UInt8] {
        sequence(set(sequence(objectIdentifier("2.5.4.3"), text(commonName))))
    }

    /// ECDSA with SHA-256 (RFC 5758 §3.2).
    static let ecdsaWithSHA256 = sequence(objectIdentifier("1.2.840.10045.4.3.2"))

    /// A document, its algorithm and its signature, as requests, certificates and lists have them.
    ///
    /// - Parameters:
    ///   - document: the content.
    ///   - signature: R and S, 64 bytes.
    /// - Returns: the document in DER.
    static func signed(_ document: [UInt8], by signature: [UInt8]) -> [UInt8] {
        sequence(document, ecdsaWithSHA256, bits(sequence(integer(signature[..<32]), integer(signature[32...]))))
    }
}
