// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelLicenseKeys
public import CarrelPublication
import CarrelRights

/// The protection of a publication by a license of a player.
public final class LicensedContentProtectionService: ContentProtectionService {
    public let isRestricted: Bool
    public let error: (any Error)?
    public let rights: any UserRights
    public let name: LocalizedString? = "Carrel"
    public let watermark: String?
    public let withholdsDocuments: Bool
    /// The id of the license; nil if the publication is restricted.
    public let license: String?
    /// The content id of the protected file, or of the first protected entry.
    public let contentID: String

    private let forbidsExport: Bool
    private let access: LicenseAccess?

    /// A publication that can be read.
    init(_ access: LicenseAccess, license: String, contentID: String, _ conditions: ReadingConditions) {
        self.access = access
        self.license = license
        self.contentID = contentID
        isRestricted = false
        error = nil
        rights = LicenseRights(conditions, license: license, access)
        watermark = conditions.watermark
        forbidsExport = conditions.forbidsExport
        withholdsDocuments = !rights.isUnlimited || watermark != nil || forbidsExport
    }

    /// A publication that stays closed.
    init(contentID: String, error: Publication.OpeningError) {
        access = nil
        license = nil
        self.contentID = contentID
        isRestricted = true
        self.error = error
        rights = AllRestrictedUserRights()
        watermark = nil
        forbidsExport = true
        withholdsDocuments = true
    }

    public var endReason: String? { access?.endReason }

    public var canEnd: Bool { access != nil }

    /// Evaluates an export under the license. Nothing is counted.
    ///
    /// - Returns: false if the license forbids it, has ended, or cannot be evaluated.
    public func allowsExport() async -> Bool {
        guard let access, !forbidsExport, access.endReason == nil else { return false }
        for use in access.uses {
            guard let result = try? await use.check(.export), result.isGranted else { return false }
        }
        return true
    }

    /// Ends the use of the license.
    public func close() {
        guard let access else { return }
        Task { await access.end() }
    }
}
