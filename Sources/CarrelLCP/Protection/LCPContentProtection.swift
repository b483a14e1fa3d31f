import CarrelBytes
import CarrelCrypto
public import CarrelPublication
import CarrelThreads

/// Opens publications that Readium LCP protects: with a passphrase, or restricted, when only metadata and cover can be seen.
public struct LCPContentProtection: ContentProtection {
    /// Asks for passphrases; nil where the streamer's `onAskCredentials` does.
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
        onAskCredentials: OnAskCredentials?
    ) async throws(Publication.OpeningError) -> ProtectedAsset? {
        let package: LicensedPackage
        do throws(ResourceError) {
            guard let found = try await LicensedPackage(fetcher) else { return nil }
            package = found
        } catch {
            throw Publication.OpeningError(error)
        }
        var asset = asset
        asset.mediaType = package.mediaType ?? asset.mediaType
        let license: UnverifiedLicense
        do throws(LCPError) { license = try UnverifiedLicense(package.license) } catch {
            return Self.restricted(asset, fetcher, Publication.OpeningError(error), license: nil)
        }
        let prompt = prompt(asset, allowUserInteraction, sender, onAskCredentials)
        let opening = LicenseOpening(service: service, credentials: credentials, ask: prompt)
        let outcome = await opening.open(await service.newest(license))
        let container = LicenseContainer(asset: asset, fetcher: fetcher, path: package.licensePath, store: service.store)
        if outcome.isFresh, let fresh = outcome.verified { try? await container.replace(fresh) }
        let lcpLicense = LCPLicense(outcome, service) { license throws(LCPError) in try await container.replace(license) }
        switch outcome.unlocked {
        case .failure(let error):
            return Self.restricted(asset, container.fetcher, Publication.OpeningError(error), license: lcpLicense)
        case .success(let keys):
            let decrypted: TransformingFetcher
            do throws(ResourceError) {
                let encrypted = try await container.fetcher.encryptedResources(warnings: nil)
                decrypted = TransformingFetcher(
                    container.fetcher,
                    TransformingFetcher.decrypting(with: keys.content, properties: encrypted)
                )
            } catch {
                throw Publication.OpeningError(error)
            }
            let rights = outcome.license.document.rights
            let metered = MeteredUserRights(
                publication: outcome.license.document.id,
                copy: rights.copy,
                print: rights.print,
                store: service.store.rights
            )
            return ProtectedAsset(asset: asset, fetcher: decrypted) { builder in
                builder.services.set((any ContentProtectionService).self) { _ in
                    LCPContentProtectionService(
                        license: lcpLicense,
                        error: nil,
                        rights: metered,
                        credentials: keys.user.hexDigest
                    )
                }
            }
        }
    }

    private static func restricted(
        _ asset: PublicationAsset,
        _ fetcher: any Fetcher,
        _ error: Publication.OpeningError,
        license: LCPLicense?
    ) -> ProtectedAsset {
        ProtectedAsset(asset: asset, fetcher: fetcher) { builder in
            builder.services.set((any ContentProtectionService).self) { _ in
                LCPContentProtectionService(license: license, error: error, rights: AllRestrictedUserRights(), credentials: nil)
            }
        }
    }

    /// How the user is asked; nil when nobody may be.
    private func prompt(
        _ asset: PublicationAsset,
        _ allowUserInteraction: Bool,
        _ sender: (any Sendable)?,
        _ onAskCredentials: OnAskCredentials?
    ) -> ((LCPAuthenticatedLicense) async -> String?)? {
        guard allowUserInteraction else { return nil }
        if let authentication { return { license in await authentication.requestPassphrase(license: license) } }
        guard let onAskCredentials else { return nil }
        return { license in
            let message: LocalizedString =
                license.reason == .passphraseNotFound
                ? LocalizedString("\(asset.name) is protected by Readium LCP.")
                : LocalizedString("That is not the passphrase of \(asset.name).")
            return await onAskCredentials(Dialog(title: "Passphrase", message: message, hint: license.hint), sender)
        }
    }
}

/// A package with a license in it.
struct LicensedPackage {
    let license: [UInt8]
    let licensePath: ResourcePath
    /// Of the publication without its protection; nil where the package does not say what it is.
    let mediaType: MediaType?

    private static let inEPUB: ResourcePath = "META-INF/license.lcpl"
    private static let inPackage: ResourcePath = "license.lcpl"

    /// Nil for a package without a license.
    init?(_ fetcher: any Fetcher) async throws(ResourceError) {
        let paths = Set(try await fetcher.links().compactMap(\.path))
        if paths.contains(Self.inEPUB) {
            licensePath = Self.inEPUB
            mediaType = Format.epub.mediaType
        } else if paths.contains(Self.inPackage) {
            licensePath = Self.inPackage
            mediaType = try await Self.mediaType(fetcher)
        } else {
            return nil
        }
        license = try await fetcher.get(Link(licensePath)).read(upTo: LicenseDocument.sizeLimit)
    }

    private static func mediaType(_ fetcher: any Fetcher) async throws(ResourceError) -> MediaType? {
        let bytes = try await fetcher.get("manifest.json").read(upTo: 16 << 20)
        guard let manifest = try? Manifest(bytes.rawSpan) else { return nil }
        let profiles = manifest.metadata.conformsTo
        if profiles.contains(.audiobook) || manifest.metadata.type?.hasSuffix("schema.org/Audiobook") == true {
            return Format.audiobookPackage.mediaType
        }
        if profiles.contains(.divina) { return Format.divinaPackage.mediaType }
        return Format.webPublicationPackage.mediaType
    }
}
