// SPDX-License-Identifier: Apache-2.0

/// Asks the user for the passphrase of a license. Implemented by the reading app; without one, the question goes to the
/// `onAskCredentials` of the streamer.
public protocol LCPAuthenticating: Sendable {
    /// Asks the user for the passphrase of a license.
    ///
    /// - Parameter license: what may be shown to the user.
    /// - Returns: the passphrase, or its SHA-256 in 64 hexadecimal digits; nil when the user gives none. A wrong one is asked for
    ///   again.
    func requestPassphrase(license: LCPAuthenticatedLicense) async -> String?
}

/// A license whose passphrase is asked for. Its signature was checked, so the question is the provider's.
public struct LCPAuthenticatedLicense: Sendable {
    /// Why it is asked for.
    public enum Reason: Sendable, Equatable {
        /// None is known that fits.
        case passphraseNotFound
        /// The given passphrase is wrong.
        case invalidPassphrase
    }

    /// Why the passphrase is requested.
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
