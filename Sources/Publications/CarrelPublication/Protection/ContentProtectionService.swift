// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The protection of a publication and the rights of its reader. A place for extensions: a technology's own service may carry
/// its license, and an extension of `Publication` may lead to it.
public protocol ContentProtectionService: PublicationService {
    /// Whether the resources are closed to this reader. A restricted publication can be put on a shelf, not read.
    var isRestricted: Bool { get }
    /// The reason why it is restricted: a ``Publication/OpeningError``, or an error of a third-party technology.
    var error: (any Error)? { get }
    /// The credentials that unlocked it, so that they need not be requested again. A secret: the app must keep it in a vault or
    /// not at all.
    var credentials: String? { get }
    /// The rights to copy and print; none if the publication is restricted.
    var rights: any UserRights { get }
    /// For "Protected by …".
    var name: LocalizedString? { get }
    /// Why the permission to read has ended since the publication was opened, as a lower-case sentence without a period; nil while
    /// it lasts. A navigator covers its page with it: every resource then fails with `resource.forbidden`.
    var endReason: String? { get }
    /// Why the permission to read one resource has ended, if resources have licenses of their own; otherwise ``endReason``.
    ///
    /// - Parameter link: the resource.
    /// - Returns: the reason, as a lower-case sentence without a period; nil while it lasts.
    func endReason(of link: Link) -> String?
    /// Whether the permission can end while the publication is open.
    var canEnd: Bool { get }
    /// A text that every page must carry when it is shown; nil for none.
    var watermark: String? { get }
    /// Whether whole documents must be kept from viewers with their own buttons to copy, print or save: their pages are drawn.
    var withholdsDocuments: Bool { get }
    /// Whether resources may leave the app as files.
    ///
    /// - Returns: true if they may be exported now.
    func allowsExport() async -> Bool
    /// Whether one resource may leave the app as a file, if resources have licenses of their own; otherwise ``allowsExport()``.
    ///
    /// - Parameter link: the resource.
    /// - Returns: true if it may be exported now.
    func allowsExport(of link: Link) async -> Bool
}

extension ContentProtectionService {
    public var error: (any Error)? { nil }
    public var credentials: String? { nil }
    public var rights: any UserRights { isRestricted ? AllRestrictedUserRights() : UnrestrictedUserRights() }
    public var name: LocalizedString? { nil }
    public var endReason: String? { nil }
    /// Returns ``endReason``.
    ///
    /// - Parameter link: the resource.
    /// - Returns: the reason.
    public func endReason(of link: Link) -> String? { endReason }
    public var canEnd: Bool { false }
    public var watermark: String? { nil }
    public var withholdsDocuments: Bool { !rights.isUnlimited }
    /// Returns true unless the publication is restricted.
    ///
    /// - Returns: whether resources may leave the app as files.
    public func allowsExport() async -> Bool { !isRestricted }
    /// Returns the result of ``allowsExport()``.
    ///
    /// - Parameter link: the resource.
    /// - Returns: whether it may leave the app as a file.
    public func allowsExport(of link: Link) async -> Bool { await allowsExport() }
}

extension Publication {
    private var protection: (any ContentProtectionService)? { findService((any ContentProtectionService).self) }

    /// Whether a content protection technology protects it.
    public var isProtected: Bool { protection != nil }
    /// Whether its resources are closed, so that no navigator may show it.
    public var isRestricted: Bool { protection?.isRestricted ?? false }
    /// The reason why it is restricted.
    public var protectionError: (any Error)? { protection?.error }
    /// The reason as a message for people: by convention a lower-case sentence without a period.
    public var protectionErrorMessage: String? { protectionError.map { ($0 as? OpeningError)?.message ?? "\($0)" } }
    /// The credentials that unlocked it.
    public var credentials: String? { protection?.credentials }
    /// The rights of its reader; everything when nothing protects it.
    public var rights: any UserRights { protection?.rights ?? UnrestrictedUserRights() }
    /// Why the permission to read has ended since it was opened; nil while it lasts.
    public var endReason: String? { protection?.endReason }
    /// Why the permission to read one of its resources has ended since it was opened.
    ///
    /// - Parameter link: the resource.
    /// - Returns: the reason; nil while the permission lasts.
    public func endReason(of link: Link) -> String? { protection?.endReason(of: link) }
    /// Whether the permission to read can end while it is open.
    public var canEnd: Bool { protection?.canEnd ?? false }
    /// A text that every page must carry when it is shown; nil for none.
    public var watermark: String? { protection?.watermark }
    /// Whether whole documents must be kept from viewers with their own buttons to copy, print or save.
    public var withholdsDocuments: Bool { protection?.withholdsDocuments ?? false }
    /// Whether its resources may leave the app as files.
    ///
    /// - Returns: true if they may be exported now.
    public func allowsExport() async -> Bool { await protection?.allowsExport() ?? true }
    /// Whether one of its resources may leave the app as a file.
    ///
    /// - Parameter link: the resource.
    /// - Returns: true if it may be exported now.
    public func allowsExport(of link: Link) async -> Bool { await protection?.allowsExport(of: link) ?? true }
    /// The name of the technology, in several languages.
    public var protectionLocalizedName: LocalizedString? { protection?.name }
    /// The name of the technology.
    public var protectionName: String? { protectionLocalizedName?.description }
}
