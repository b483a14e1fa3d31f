// SPDX-License-Identifier: Apache-2.0

/// Prompts the user for the passphrase of a license. Implemented by the reading app; without it, the streamer's
/// `onAskCredentials` is called.
public protocol LCPAuthenticating: Sendable {
    /// Asks the user for the passphrase of a license.
    ///
    /// - Parameter license: the information that may be shown to the user.
    /// - Returns: the passphrase, or its SHA-256 in 64 hexadecimal digits; nil if the user cancels. After a wrong passphrase the
    ///   method is called again.
    func requestPassphrase(license: LCPAuthenticatedLicense) async -> String?
}

/// A license whose passphrase is requested. Its signature was verified, so the hint comes from the provider.
public struct LCPAuthenticatedLicense: Sendable {
    /// The reason for a passphrase request.
    public enum Reason: Sendable, Equatable {
        /// None is known that fits.
        case passphraseNotFound
        /// The given passphrase is wrong.
        case invalidPassphrase
    }

    /// The reason for the request.
    public let reason: Reason
    /// The license document, its signature checked.
    public let document: LicenseDocument

    /// The provider's hint at the passphrase.
    public var hint: String { document.encryption.hint }
    /// A page with more about the passphrase.
    public var hintLink: LicenseLink? { document.links.first(withRelation: "hint") }
    /// Links to help: web, mail and telephone.
    public var supportLinks: [LicenseLink] { document.links.filter { $0.relations.contains("support") } }
    /// The provider's URI or name.
    public var provider: String { document.provider }
}
