// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelCrypto

/// A license that was not checked yet: good for showing its claims, not for opening a publication.
public struct UnverifiedLicense: Sendable, Equatable {
    /// The license document; nothing in it is verified.
    public let document: LicenseDocument

    /// Reads a license document, which is not verified yet.
    ///
    /// - Parameter bytes: the document, in UTF-8.
    /// - Throws: `lcp.license` unless the bytes are a license of LCP 1.0.
    public init(_ bytes: [UInt8]) throws(LCPError) {
        document = try LicenseDocument(bytes)
    }

    fileprivate init(_ document: LicenseDocument) { self.document = document }

    /// Checks the profile, the certificate and the signature (LCP 1.0 §5.6). The current date does not matter: the certificate
    /// must have been valid when the license was last changed. ``LCPService`` also checks lists of revoked certificates.
    ///
    /// - Parameter profiles: the known profiles.
    /// - Returns: the verified license.
    /// - Throws: `lcp.profile`, `lcp.certificate`, `lcp.signature`.
    public func verified(by profiles: ProfileRegistry) throws(LCPError) -> VerifiedLicense {
        try verified(by: profiles, revocationLists: [])
    }

    /// Verifies the license and checks lists of revoked certificates.
    ///
    /// - Parameters:
    ///   - profiles: the known profiles.
    ///   - lists: revocation lists; only lists signed with the key that signed the certificate count.
    /// - Returns: the verified license.
    /// - Throws: what ``verified(by:)`` throws, and `lcp.certificate-revoked`.
    package func verified(
        by profiles: ProfileRegistry,
        revocationLists lists: [RevocationList]
    ) throws(LCPError) -> VerifiedLicense {
        let profile = try profile(of: profiles)
        let certificate = try certificate()
        guard let anchor = profile.anchors.first(where: { certificate.isSigned(by: $0.subjectPublicKeyInfo) }) else {
            throw LCPError(.certificate, "no trusted authority signed the provider's certificate")
        }
        guard let validity = certificate.validity, validity.contains(document.lastChange) else {
            throw LCPError(.certificate, "the provider's certificate was not valid when the license was made")
        }
        guard let algorithm = profile.signatures[document.signature.algorithm] else {
            throw LCPError(.signature, "the license is signed in a way that its profile does not have")
        }
        let isSigned = CanonicalForm.allCases.contains { form in
            let bytes = form.bytes(of: document.json)
            return certificate.isValid(document.signature.value, for: bytes.rawSpan, by: algorithm)
        }
        guard isSigned else { throw LCPError(.signature, "the license was changed after it was signed") }
        let isRevoked = lists.contains { $0.isSigned(by: anchor.subjectPublicKeyInfo) && $0.revokes(certificate) }
        if isRevoked { throw LCPError(.certificateRevoked, "the provider's certificate was revoked") }
        return VerifiedLicense(document, profile, certificate, anchor)
    }

    /// - Throws: `lcp.profile` if the profile is not registered, or its keys are encrypted in another way.
    func profile(of profiles: ProfileRegistry) throws(LCPError) -> LCPProfile {
        guard let profile = profiles[document.encryption.profile] else {
            throw LCPError(.unsupportedProfile, "the license follows a profile that cannot be opened here")
        }
        guard profile.hasAlgorithms(of: document.encryption) else {
            throw LCPError(.unsupportedProfile, "the license keeps its keys in a way that its profile does not have")
        }
        return profile
    }

    /// The provider's certificate, not verified.
    func certificate() throws(LCPError) -> Certificate {
        do throws(CryptoError) { return try Certificate(der: document.signature.certificate) } catch {
            throw LCPError(.certificate, "the provider's certificate cannot be read")
        }
    }
}

/// A license whose signature, certificate and profile were checked. Only ``UnverifiedLicense/verified(by:)`` creates it.
public struct VerifiedLicense: Sendable {
    /// The verified license document.
    public let document: LicenseDocument
    /// The encryption profile of the license.
    public let profile: LCPProfile
    /// The provider's.
    package let certificate: Certificate
    /// The authority that vouches for the provider.
    public let anchor: TrustAnchor

    fileprivate init(_ document: LicenseDocument, _ profile: LCPProfile, _ certificate: Certificate, _ anchor: TrustAnchor) {
        self.document = document
        self.profile = profile
        self.certificate = certificate
        self.anchor = anchor
    }
}

extension VerifiedLicense {
    /// The same, unverified.
    public var unverified: UnverifiedLicense { UnverifiedLicense(document) }
}
