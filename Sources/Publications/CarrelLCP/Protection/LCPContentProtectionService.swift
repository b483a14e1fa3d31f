// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
public import CarrelPublication

/// The protection of a publication by Readium LCP.
public final class LCPContentProtectionService: ContentProtectionService {
    /// The license; nil if its document cannot be read.
    public let license: LCPLicense?
    public let isRestricted: Bool
    public let error: (any Error)?
    /// The rights to copy and print that are left.
    public let rights: any UserRights
    public let name: LocalizedString? = "Readium LCP"
    /// The digest of the passphrase that opened it, in hexadecimal. A secret.
    public let credentials: String?

    init(
        license: LCPLicense?,
        error: Publication.OpeningError?,
        rights: any UserRights,
        credentials: String?
    ) {
        self.license = license
        self.error = error
        self.rights = rights
        self.credentials = credentials
        isRestricted = error != nil
    }
}

extension Publication {
    /// The license of a publication that Readium LCP protects.
    public var lcpLicense: LCPLicense? { findService(LCPContentProtectionService.self)?.license }
}

extension Publication.OpeningError {
    /// Converts an LCP error to the reason why a publication is restricted; the LCP code is kept.
    init(_ error: LCPError) {
        switch error.code {
        case .passphraseRequired: self.init(.credentialsRequired, error.message)
        case .passphrase: self.init(.incorrectCredentials, error.message)
        case .cancelled: self.init(.cancelled, error.message)
        default: self.init(Code(error.code.identifier), error.message)
        }
    }
}
