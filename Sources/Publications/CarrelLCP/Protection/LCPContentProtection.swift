// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes
import CarrelCrypto
public import CarrelPublication

/// Opens publications that Readium LCP protects: with a passphrase, or restricted to metadata and cover.
public struct LCPContentProtection: ContentProtection {
    /// Prompts for passphrases; nil uses the streamer's `onAskCredentials`.
    public let authentication: (any LCPAuthenticating)?
    private let service: LCPService

    init(_ service: LCPService, authentication: (any LCPAuthenticating)?) {
        self.service = service
        self.authentication = authentication
    }

    public func open(
        _ asset: PublicationAsset,
        fetcher: any Fetcher,
        allowUserInteraction: Bool,
        credentials: String?,
        sender: (any Sendable)?,
        onAskCredentials: OnAskCredentialsCallback?
    ) async throws(Publication.OpeningError) -> ProtectedAsset? {
        var (package, packageFetcher) = (asset, fetcher)
        let bytes: [UInt8]
        let mediaType: MediaType?
        var warnings: [Warning] = []
        do throws(ResourceError) {
            if let license = try await LicensedPackage.document(alone: asset, fetcher) {
                package = try await service.package(of: license)
                let ofArchive = WarningList()
                packageFetcher = try await service.opener.fetcher(of: package, warnings: ofArchive)
                warnings = await LicensedPackage.warnings(of: license, packageFetcher) + ofArchive.warnings
            }
            let document = try await LicensedPackage.document(in: packageFetcher)
            if document == nil, try await !LicensedPackage.isEncrypted(packageFetcher) { return nil }
            mediaType = try await LicensedPackage.mediaType(of: package, packageFetcher)
            guard let document else {
                package.mediaType = mediaType ?? package.mediaType
                return Self.restrictedAsset(package, packageFetcher, Self.missingLicense, license: nil)
            }
            bytes = document
        } catch {
            throw Publication.OpeningError(error)
        }
        let unverified = Result { () throws(LCPError) in try UnverifiedLicense(bytes) }
        let container = LicenseContainer(
            asset: package,
            fetcher: packageFetcher,
            opener: service.opener,
            store: service.store,
            original: try? unverified.get().document
        )
        package.mediaType = mediaType ?? package.mediaType
        let license: UnverifiedLicense
        do throws(LCPError) { license = try unverified.get() } catch {
            return Self.restrictedAsset(package, packageFetcher, error, license: nil)
        }
        let opening = LicenseOpening(
            service: service,
            credentials: credentials,
            ask: prompt(package, allowUserInteraction, sender, onAskCredentials)
        )
        let outcome = await opening.open(await service.newest(license))
        // a license that cannot be stored is requested again the next time
        if outcome.isFresh, let fresh = outcome.verified { try? await container.replace(fresh) }
        let lcpLicense = LCPLicense(outcome, service) { license throws(LCPError) in try await container.replace(license) }
        var protected =
            switch outcome.unlocked {
            case .failure(let error): Self.restrictedAsset(package, container.fetcher, error, license: lcpLicense)
            case .success(let keys): try await open(package, container.fetcher, keys, lcpLicense)
            }
        protected.warnings = warnings
        return protected
    }

    private func open(
        _ asset: PublicationAsset,
        _ fetcher: any Fetcher,
        _ keys: (content: ContentKey, user: UserKey),
        _ license: LCPLicense
    ) async throws(Publication.OpeningError) -> ProtectedAsset {
        let encrypted: [ResourcePath: Encryption]
        do throws(ResourceError) { encrypted = try await fetcher.encryptedResources() } catch {
            throw Publication.OpeningError(error)
        }
        let decrypting = TransformingFetcher.decrypting(with: keys.content, properties: encrypted)
        let document = license.document
        let rights: any UserRights
        if let store = try? await service.store.rights() {
            rights = MeteredUserRights(
                publication: document.nameHere,
                copy: document.rights.copy,
                print: document.rights.print,
                store: store
            )
        } else {
            // what cannot be counted is forbidden
            rights = FixedUserRights(copy: document.rights.copy == nil, print: document.rights.print == nil)
        }
        let credentials = keys.user.hexDigest
        return ProtectedAsset(asset: asset, fetcher: TransformingFetcher(fetcher, decrypting)) { builder in
            builder.services.set((any ContentProtectionService).self) { _ in
                LCPContentProtectionService(license: license, error: nil, rights: rights, credentials: credentials)
            }
        }
    }

    private static let missingLicense = LCPError(
        .noLicense,
        "it is protected by Readium LCP, and its license is missing: open the license document (.lcpl) again"
    )

    private static func restrictedAsset(
        _ asset: PublicationAsset,
        _ fetcher: any Fetcher,
        _ error: LCPError,
        license: LCPLicense?
    ) -> ProtectedAsset {
        let error = Publication.OpeningError(error)
        return ProtectedAsset(asset: asset, fetcher: fetcher) { builder in
            builder.services.set((any ContentProtectionService).self) { _ in
                LCPContentProtectionService(license: license, error: error, rights: AllRestrictedUserRights(), credentials: nil)
            }
        }
    }

    /// The dialog; nil if none is allowed.
    private func prompt(
        _ asset: PublicationAsset,
        _ allowUserInteraction: Bool,
        _ sender: (any Sendable)?,
        _ onAskCredentials: OnAskCredentialsCallback?
    ) -> ((LCPAuthenticatedLicense) async -> String?)? {
        guard allowUserInteraction else { return nil }
        if let authentication { return { license in await authentication.requestPassphrase(license: license) } }
        guard let onAskCredentials else { return nil }
        return { license in
            let message =
                license.reason == .passphraseNotFound
                ? "\(asset.name) is protected by Readium LCP." : "That is not the passphrase of \(asset.name)."
            return await onAskCredentials(
                Dialog(title: "Passphrase", message: LocalizedString(message), hint: license.hint),
                sender
            )
        }
    }
}

extension LCPService {
    /// The protection for a `Streamer`.
    ///
    /// - Parameter authentication: asks for passphrases; without it the streamer's `onAskCredentials` does.
    /// - Returns: to be given to `Streamer.init`.
    public func contentProtection(_ authentication: (any LCPAuthenticating)? = nil) -> LCPContentProtection {
        LCPContentProtection(self, authentication: authentication)
    }
}
