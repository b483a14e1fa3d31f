// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelLicenseKeys
public import CarrelPublication
import CarrelRights

/// The protection of a publication by licenses of a player.
///
/// Reads the conditions of the licenses each time: a renewal may change it, and an entry that is opened may bring another license.
public final class LicensedContentProtectionService: ContentProtectionService {
    public let isRestricted: Bool
    public let error: (any Error)?
    public let rights: any UserRights
    public let name: LocalizedString? = "Carrel"
    /// The id of the license, or of the first of several; nil if the publication is restricted.
    public let license: String?
    /// The content id of the protected file, or of the first protected entry.
    public let contentID: String

    /// The licenses and the resources under them; nil if the publication is restricted.
    private let opened: (access: LicenseAccess, fetcher: GuardedFetcher)?

    /// A publication that can be read.
    init(_ access: LicenseAccess, _ fetcher: GuardedFetcher, contentID: String) {
        opened = (access, fetcher)
        license = access.uses.first?.license
        self.contentID = contentID
        isRestricted = false
        error = nil
        rights = LicenseRights(access)
    }

    /// A publication that stays closed.
    init(contentID: String, error: Publication.OpeningError) {
        opened = nil
        license = nil
        self.contentID = contentID
        isRestricted = true
        self.error = error
        rights = AllRestrictedUserRights()
    }

    /// The watermarks of all licenses in use.
    public var watermark: String? { opened?.access.conditions.watermark }

    public var withholdsDocuments: Bool { opened?.access.conditions.isUnconditional != true }

    public var endReason: String? { opened?.access.endReason }

    public func endReason(of link: Link) -> String? {
        guard let (access, fetcher) = opened, fetcher.isProtected(link) else { return endReason }
        return access.endReason(of: fetcher.entry(link))
    }

    public var canEnd: Bool { opened != nil }

    /// Evaluates an export under all licenses in use. Nothing is counted.
    ///
    /// - Returns: false if a license forbids it, has ended, or cannot be evaluated.
    public func allowsExport() async -> Bool {
        guard let access = opened?.access else { return false }
        for use in access.uses { guard await Self.allowsExport(use) else { return false } }
        return access.endReason == nil
    }

    /// Evaluates an export of one resource under its own license, which is opened first. Nothing is counted.
    ///
    /// - Parameter link: the resource.
    /// - Returns: false if the license forbids it, has ended, is missing, or cannot be evaluated; true for a clear resource.
    public func allowsExport(of link: Link) async -> Bool {
        // the cover may be of any entry
        guard let (access, fetcher) = opened, fetcher.entry(link) != nil, link.href != Cover.href else {
            return await allowsExport()
        }
        guard endReason(of: link) == nil else { return false }
        let found = fetcher.get(link)
        defer { found.close() }
        guard let resource = found as? GuardedResource else { return true }
        do throws(ResourceError) { try await resource.openLicense() } catch { return false }
        guard let use = access.use(of: fetcher.entry(link)) else { return true }
        return await Self.allowsExport(use)
    }

    private static func allowsExport(_ use: LicenseUse) async -> Bool {
        guard !ReadingConditions(use.obligations).forbidsExport else { return false }
        return (try? await use.check(.export))?.isGranted ?? false
    }

    /// Ends the use of the licenses.
    public func close() {
        guard let access = opened?.access else { return }
        Task { await access.end() }
    }
}
