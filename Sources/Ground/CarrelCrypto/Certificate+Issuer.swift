// SPDX-License-Identifier: Apache-2.0

import COpenSSL
package import CarrelBytes

extension Certificate {
    /// The key that it is for, in DER (`SubjectPublicKeyInfo`, RFC 5280 §4.1.2.7).
    ///
    /// - Returns: empty if the library cannot write it.
    package var subjectPublicKeyInfo: [UInt8] {
        defer { ERR_clear_error() }
        let key = unsafe X509_get_X509_PUBKEY(certificate)
        let count = Int(unsafe i2d_X509_PUBKEY(key, nil))
        guard count > 0 else { return [] }
        return unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            var cursor = buffer.baseAddress
            filled = Int(unsafe i2d_X509_PUBKEY(key, &cursor))
        }
    }

    /// Whether it was signed with a key, and with a digest that is still secure (SHA-2). Names are not compared, so that a
    /// root that was replaced under its old name is not mistaken for the new one.
    ///
    /// - Parameter subjectPublicKeyInfo: the issuer's key in DER.
    /// - Returns: false for another key, and for a malformed key.
    package func isSigned(by subjectPublicKeyInfo: [UInt8]) -> Bool {
        guard SignatureDigest.holds(unsafe copenssl_certificate_digest(certificate)) else {
            ERR_clear_error()
            return false
        }
        return unsafe withKey(subjectPublicKeyInfo) { key in unsafe X509_verify(certificate, key) == 1 }
    }

    /// The instants at which it is valid, both ends included; nil if they cannot be read.
    package var validity: ClosedRange<Instant>? {
        var (start, end): (Int64, Int64) = (0, 0)
        guard unsafe copenssl_seconds(X509_get0_notBefore(certificate), &start) == 1,
            unsafe copenssl_seconds(X509_get0_notAfter(certificate), &end) == 1, start <= end
        else { return nil }
        // the last second is in it to its end
        return Instant(milliseconds: start * 1000)...Instant(milliseconds: end * 1000 + 999)
    }

    /// The addresses of its issuer's revocation lists (RFC 5280 §4.2.1.13), by HTTP.
    ///
    /// - Returns: at most four addresses.
    package var revocationListAddresses: [String] {
        defer { ERR_clear_error() }
        var addresses: [String] = []
        for index in 0..<4 {
            var start: UnsafePointer<UInt8>?
            var count: Int32 = 0
            var owner: UnsafeMutableRawPointer?
            let isThere = unsafe copenssl_list_address(certificate, Int32(index), &start, &count, &owner) == 1
            defer { unsafe copenssl_list_addresses_free(owner) }
            guard isThere else { break }
            let text = unsafe String(decoding: UnsafeBufferPointer(start: start, count: Int(count)), as: UTF8.self)
            if text.hasPrefix("http://") || text.hasPrefix("https://") { addresses.append(text) }
        }
        return addresses
    }
}

/// Lends a key that is read from DER; false for a malformed key.
func withKey(_ subjectPublicKeyInfo: [UInt8], _ body: (OpaquePointer) -> Bool) -> Bool {
    _ = OpenSSL.shared
    defer { ERR_clear_error() }
    let key = unsafe subjectPublicKeyInfo.withUnsafeBufferPointer { buffer -> OpaquePointer? in
        var cursor = buffer.baseAddress
        return unsafe d2i_PUBKEY(nil, &cursor, buffer.count)
    }
    guard let key = unsafe key else { return false }
    defer { unsafe EVP_PKEY_free(key) }
    return unsafe body(key)
}
