public import CarrelCrypto
public import CarrelPublication

/// An encryption profile of LCP (LCP 1.0 §5): which signatures and roots count, and what becomes of the user key.
///
/// The open profile is ``basic``. Others differ in the three members, and whoever has them under contract registers them.
public struct LCPProfile: Sendable {
    /// The URI that licenses name.
    public let uri: String
    public let anchors: [TrustAnchor]
    let signatures: [String: CertificateSignature]
    let transform: @Sendable (Secret) -> Secret
    private let contentKeyAlgorithms: Set<String>
    private let userKeyAlgorithms: Set<String>

    /// - Parameters:
    ///   - uri: that licenses name.
    ///   - anchors: whose signature makes a provider's certificate trusted.
    ///   - signatures: how licenses may be signed.
    ///   - contentKeyAlgorithms: URIs of how the content key may be encrypted.
    ///   - userKeyAlgorithms: URIs of how the passphrase may be hashed.
    ///   - transform: makes the key that decrypts out of the digest of the passphrase; both have 32 bytes.
    public init(
        uri: String,
        anchors: [TrustAnchor],
        signatures: Set<CertificateSignature>,
        contentKeyAlgorithms: Set<String> = [Encryption.aes256CBC],
        userKeyAlgorithms: Set<String> = ["http://www.w3.org/2001/04/xmlenc#sha256"],
        transform: @escaping @Sendable (Secret) -> Secret
    ) {
        self.uri = uri
        self.anchors = anchors
        self.signatures = Self.names.filter { signatures.contains($0.value) }
        self.contentKeyAlgorithms = contentKeyAlgorithms
        self.userKeyAlgorithms = userKeyAlgorithms
        self.transform = transform
    }

    /// Whether the keys of a license are kept as licenses of the profile keep them.
    func hasAlgorithms(of encryption: LicenseEncryption) -> Bool {
        contentKeyAlgorithms.contains(encryption.contentKeyAlgorithm)
            && userKeyAlgorithms.contains(encryption.userKeyAlgorithm)
    }

    /// The basic profile, with EDRLab's test roots.
    ///
    /// - Parameter anchors: further roots that the user or the app trusts.
    /// - Returns: a profile that takes the passphrase's digest as it is.
    public static func basic(adding anchors: [TrustAnchor] = []) -> LCPProfile {
        basic(trusting: TrustAnchor.edrlabTestRoots + anchors)
    }

    /// The basic profile without EDRLab's test roots.
    ///
    /// - Parameter anchors: the roots that are trusted; with none, no license is.
    /// - Returns: a profile that takes the passphrase's digest as it is.
    public static func basic(trusting anchors: [TrustAnchor]) -> LCPProfile {
        LCPProfile(uri: basicURI, anchors: anchors, signatures: [.rsaSHA256]) { $0 }
    }

    static let basicURI = "http://readium.org/lcp/basic-profile"

    private static let names: [String: CertificateSignature] = [
        "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256": .rsaSHA256,
        "http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256": .ecdsaSHA256,
    ]
}

/// The profiles that licenses may follow here.
public struct ProfileRegistry: Sendable {
    private let profiles: [String: LCPProfile]

    /// - Parameter profiles: of two with one URI, the later counts.
    public init(_ profiles: [LCPProfile] = [.basic()]) {
        self.profiles = Dictionary(profiles.map { ($0.uri, $0) }, uniquingKeysWith: { $1 })
    }

    /// The profile of that URI.
    public subscript(uri: String) -> LCPProfile? { profiles[uri] }

    /// The roots of all profiles.
    var anchors: [TrustAnchor] { profiles.values.flatMap(\.anchors) }
}
