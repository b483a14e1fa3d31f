// SPDX-License-Identifier: Apache-2.0

import COpenSSL
package import CarrelBytes

/// A list of certificates that their issuer took back (RFC 5280 §5, and the version 1 of X.509 from before it), read and not yet
/// verified: ``isSigned(by:)`` verifies it.
package struct RevocationList: Sendable, Equatable {
    /// The published list, in DER.
    package let der: [UInt8]
    /// When it was made.
    package let thisUpdate: Instant
    /// The latest time of the next list; nil if the issuer declares none.
    package let nextUpdate: Instant?
    /// Whether it is signed with another digest than one of SHA-2, such as MD5 or SHA-1, which were broken: another party than
    /// the issuer may have made it.
    package let hasWeakDigest: Bool
    /// Whether it declares that a certificate which is not in it may be revoked all the same: it holds only changes, or only
    /// certificates or reasons of some kind, or has a critical extension (RFC 5280 §5.2).
    package let isPartial: Bool

    /// The longest list that is read, in bytes.
    package static let maxByteCount = 8 << 20

    /// Reads a list in DER, or the first one of a PEM file.
    ///
    /// - Throws: `crypto.certificate` for anything else, such as the page that a network shows instead of the list.
    package init(_ bytes: [UInt8]) throws(CryptoError) {
        _ = OpenSSL.shared
        let unreadable = CryptoError(.certificate, "a list of revoked certificates cannot be read")
        guard bytes.count <= Self.maxByteCount else { throw unreadable }
        guard let der = bytes.first == 0x30 ? bytes : PEM.objects("X509 CRL", in: bytes)?.first else { throw unreadable }
        var (start, end): (Int64, Int64) = (0, 0)
        var (isDated, hasNext, isWeak, isPartial) = (false, false, true, true)
        let isRead = unsafe Self.withList(der) { list in
            isDated = unsafe copenssl_seconds(X509_CRL_get0_lastUpdate(list), &start) == 1
            hasNext = unsafe copenssl_seconds(X509_CRL_get0_nextUpdate(list), &end) == 1
            isWeak = !SignatureDigest.holds(unsafe copenssl_list_digest(list))
            isPartial = unsafe copenssl_list_is_partial(list) != 0
            return true
        }
        guard isRead, isDated else { throw unreadable }
        self.der = der
        thisUpdate = Instant(milliseconds: start * 1000)
        nextUpdate = hasNext ? Instant(milliseconds: end * 1000) : nil
        hasWeakDigest = isWeak
        self.isPartial = isPartial
    }

    /// Whether it was signed with a key.
    ///
    /// - Parameter subjectPublicKeyInfo: the issuer's key in DER.
    /// - Returns: false for another key, and for a malformed key.
    package func isSigned(by subjectPublicKeyInfo: [UInt8]) -> Bool {
        unsafe withKey(subjectPublicKeyInfo) { key in
            unsafe Self.withList(der) { list in unsafe X509_CRL_verify(list, key) == 1 }
        }
    }

    /// Whether it names the issuer of a certificate as its own. A list of another name does not apply to that certificate,
    /// whatever key signed it.
    package func isByIssuer(of certificate: Certificate) -> Bool {
        unsafe Self.withList(der) { list in
            unsafe X509_NAME_cmp(X509_CRL_get_issuer(list), X509_get_issuer_name(certificate.certificate)) == 0
        }
    }

    /// Whether a certificate is in it, by its issuer's name and its serial number. Whose list it is must be known by
    /// ``isSigned(by:)``.
    package func revokes(_ certificate: Certificate) -> Bool {
        unsafe Self.withList(der) { list in
            var entry: OpaquePointer?
            return unsafe X509_CRL_get0_by_cert(list, &entry, certificate.certificate) == 1
        }
    }

    private static func withList(_ der: [UInt8], _ body: (OpaquePointer) -> Bool) -> Bool {
        defer { ERR_clear_error() }
        var isWhole = false
        let list = unsafe der.withUnsafeBufferPointer { buffer -> OpaquePointer? in
            var cursor = buffer.baseAddress
            guard let list = unsafe d2i_X509_CRL(nil, &cursor, buffer.count) else { return nil }
            if let start = buffer.baseAddress, let end = unsafe cursor { isWhole = unsafe end - start == buffer.count }
            return unsafe list
        }
        guard let list = unsafe list else { return false }
        defer { unsafe X509_CRL_free(list) }
        return unsafe isWhole && body(list)
    }
}
