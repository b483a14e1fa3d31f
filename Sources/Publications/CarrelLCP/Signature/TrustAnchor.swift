// SPDX-License-Identifier: Apache-2.0

package import CarrelCrypto

/// A key whose signature makes a provider's certificate trusted. Only the key counts: a root that was replaced under its old name
/// is a different anchor, and a trusted intermediate authority needs no root above it (RFC 5280 §6.1.1 d).
public struct TrustAnchor: Sendable, Hashable {
    /// For messages, such as `EDRLab test root of 2016`.
    public let name: String
    /// DER (RFC 5280 §4.1.2.7).
    let subjectPublicKeyInfo: [UInt8]

    /// Creates an anchor from a key.
    ///
    /// - Parameters:
    ///   - name: a name for messages.
    ///   - subjectPublicKeyInfo: DER (RFC 5280 §4.1.2.7).
    public init(name: String, subjectPublicKeyInfo: [UInt8]) {
        self.name = name
        self.subjectPublicKeyInfo = subjectPublicKeyInfo
    }

    /// The key of an authority's certificate.
    package init(name: String, certificate: Certificate) {
        self.init(name: name, subjectPublicKeyInfo: certificate.subjectPublicKeyInfo)
    }

    /// The keys of the certificates in a file, in DER or PEM.
    ///
    /// - Parameter file: the file's bytes.
    /// - Returns: one anchor for each certificate.
    /// - Throws: `lcp.certificate` if it holds none.
    public static func all(in file: [UInt8]) throws(LCPError) -> [TrustAnchor] {
        do throws(CryptoError) {
            return try Certificate.all(in: file).map { TrustAnchor(name: "a certificate of the user's", certificate: $0) }
        } catch {
            throw LCPError(.certificate, "the trusted certificates cannot be read: \(error)")
        }
    }
}
