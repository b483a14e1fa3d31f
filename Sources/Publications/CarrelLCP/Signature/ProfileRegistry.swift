// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
public import CarrelPublication

/// An encryption profile of LCP (LCP 1.0 §5): its accepted signatures and roots, and the transform of the user key.
///
/// The open profile is ``basic(adding:)``. Others differ in roots, algorithms and the transform; an app with a licensed profile
/// registers it.
public struct LCPProfile: Sendable {
    /// Makes the key that decrypts out of the digest of a passphrase; both have 32 bytes.
    public typealias UserKeyTransform = @Sendable (_ userKey: [UInt8]) -> [UInt8]

    /// The URI that licenses name.
    public let uri: String
    /// The roots that may vouch for a provider's certificate.
    public let anchors: [TrustAnchor]
    let signatures: [String: CertificateSignature]
    private let transform: UserKeyTransform?
    private let contentKeyAlgorithms: Set<String>
    private let userKeyAlgorithms: Set<String>

    /// Creates a profile.
    ///
    /// - Parameters:
    ///   - uri: the profile's URI in licenses.
    ///   - anchors: the keys whose signature makes a provider's certificate trusted.
    ///   - signatures: the accepted signature algorithms of licenses.
    ///   - contentKeyAlgorithms: URIs of the accepted encryption algorithms of the content key.
    ///   - userKeyAlgorithms: URIs of the accepted hash algorithms of the passphrase.
    ///   - transform: derives the decryption key from the passphrase's digest; nil if the digest is the key.
    public init(
        uri: String,
        anchors: [TrustAnchor],
        signatures: Set<LCPSignatureAlgorithm>,
        contentKeyAlgorithms: Set<String> = [Encryption.aes256CBC],
        userKeyAlgorithms: Set<String> = ["http://www.w3.org/2001/04/xmlenc#sha256"],
        transform: UserKeyTransform?
    ) {
        self.uri = uri
        self.anchors = anchors
        self.signatures = signatures.reduce(into: [:]) { $0[$1.uri] = $1.certificateSignature }
        self.contentKeyAlgorithms = contentKeyAlgorithms
        self.userKeyAlgorithms = userKeyAlgorithms
        self.transform = transform
    }

    /// The key that decrypts, made out of a user key.
    ///
    /// - Throws: `lcp.profile` if the profile makes a key of another length than 32 bytes.
    func key(_ userKey: Secret) throws(LCPError) -> Secret {
        guard let transform else { return userKey }
        var digest = userKey.withBytes { [UInt8](copying: $0) }
        var key = transform(digest)
        // release the key first: if the transform returned its argument, the digest is unique only then
        defer {
            SecretMemory.wipe(&key)
            SecretMemory.wipe(&digest)
        }
        guard key.count == 32 else {
            throw LCPError(.unsupportedProfile, "the profile \(uri) makes a key of \(key.count) bytes: it must have 32")
        }
        return Secret(key)
    }

    /// Whether the keys of a license are kept as licenses of the profile keep them.
    func hasAlgorithms(of encryption: LicenseEncryption) -> Bool {
        contentKeyAlgorithms.contains(encryption.contentKeyAlgorithm)
            && userKeyAlgorithms.contains(encryption.userKeyAlgorithm)
    }

    /// The basic profile, with EDRLab's test roots.
    ///
    /// - Parameter anchors: further roots that the user or the app trusts.
    /// - Returns: a profile that uses the passphrase's digest unchanged.
    public static func basic(adding anchors: [TrustAnchor] = []) -> LCPProfile {
        basic(trusting: TrustAnchor.edrlabTestRoots + anchors)
    }

    /// The basic profile without EDRLab's test roots.
    ///
    /// - Parameter anchors: the trusted roots; without any, no license is trusted.
    /// - Returns: a profile that uses the passphrase's digest unchanged.
    public static func basic(trusting anchors: [TrustAnchor]) -> LCPProfile {
        LCPProfile(uri: basicURI, anchors: anchors, signatures: [.rsaSHA256], transform: nil)
    }

    static let basicURI = "http://readium.org/lcp/basic-profile"
}

/// A signature algorithm of licenses (LCP 1.0 §5.2).
public enum LCPSignatureAlgorithm: Sendable, Hashable, CaseIterable {
    /// RSASSA-PKCS1-v1_5 with SHA-256 (RFC 8017 §8.2), under a key of 2,048 to 8,192 bits.
    case rsaSHA256
    /// ECDSA with SHA-256 on P-256, P-384 or P-521; R and S side by side, each as long as the curve's order (RFC 4050 §3.3).
    case ecdsaSHA256

    /// The URI of the algorithm in licenses (RFC 9231).
    var uri: String {
        switch self {
        case .rsaSHA256: "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"
        case .ecdsaSHA256: "http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256"
        }
    }

    var certificateSignature: CertificateSignature {
        switch self {
        case .rsaSHA256: .rsaSHA256
        case .ecdsaSHA256: .ecdsaSHA256
        }
    }
}

/// The profiles that licenses may follow here.
public struct ProfileRegistry: Sendable {
    private let profiles: [String: LCPProfile]

    /// Creates a registry of profiles.
    ///
    /// - Parameter profiles: the profiles; a later profile replaces an earlier one of the same URI.
    public init(_ profiles: [LCPProfile] = [.basic()]) {
        self.profiles = Dictionary(profiles.map { ($0.uri, $0) }, uniquingKeysWith: { $1 })
    }

    /// The profile of that URI.
    ///
    /// - Parameter uri: the profile's URI, as licenses name it.
    public subscript(uri: String) -> LCPProfile? { profiles[uri] }

    /// The roots of all profiles.
    var anchors: [TrustAnchor] { profiles.values.flatMap(\.anchors) }
}
