// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes
import CarrelDCF
package import CarrelHTTPClient
import CarrelMedia
public import CarrelPlayer
public import CarrelPublication
import CarrelRights

/// Opens publications that a license of a player protects: an EPUB or PDF in an OMA DCF, and an EPUB with entries that are DCF files.
///
/// ```swift
/// let streamer = Streamer(contentProtections: [LicensedContentProtection(engine)])
/// let book = try await streamer.open(asset: PublicationAsset(path: "book.dcf"), allowUserInteraction: true)
/// ```
///
/// Opening only evaluates the license: directory, metadata and cover cost no play. The first read of content costs one play, and the
/// count is on the disk before the first byte is returned. When the license ends, resources that were obtained earlier, the cover,
/// search results and the iterators of content fail with `resource.forbidden` within two seconds.
///
/// Entries of an EPUB may have different licenses. A read costs a play of the license of its entry, and ends with that license. What
/// the licenses demand applies together: each copy counts under all of them, and all watermarks are shown.
///
/// Without a license, a token is redeemed once: the credentials, or what the file's silent license URL returns. Without that, too,
/// the publication is restricted: it has the title of the file, and the reason.
public struct LicensedContentProtection: ContentProtection {
    private let player: @Sendable () async throws -> PlayerEngine
    private let obligations: Set<String>
    private let silent: SilentAcquisition?
    private let clock: any WallClock

    /// The obligations that `Publication.rights` enforces, for apps that copy and print by it alone.
    public static let countedRights: Set<String> = [Obligation.Kind.copyLimit.rawValue, Obligation.Kind.printLimit.rawValue]
    /// ``countedRights``, and the obligation to show `Publication.watermark` on every page: what `WebReader` enforces.
    public static let shownRights: Set<String> = countedRights.union([Obligation.Kind.watermark.rawValue])

    /// Creates a protection for a player.
    ///
    /// - Parameters:
    ///   - engine: the player with the licenses.
    ///   - obligations: the obligations that the app enforces, such as ``countedRights`` or ``shownRights``. A license that demands
    ///     another one does not open the publication.
    public init(_ engine: PlayerEngine, obligations: Set<String> = countedRights) {
        self.init(obligations: obligations) { engine }
    }

    /// Creates a protection whose player is opened for the first protected publication.
    ///
    /// - Parameters:
    ///   - obligations: the obligations that the app enforces.
    ///   - player: opens the player. If it throws, the publication is restricted for that reason.
    public init(obligations: Set<String> = countedRights, player: @escaping @Sendable () async throws -> PlayerEngine) {
        self.init(
            obligations: obligations,
            client: HTTPClient(configuration: HTTPClientConfiguration(addresses: .publicOnly)),
            player: player
        )
    }

    /// - Parameters:
    ///   - obligations: the obligations that the app enforces.
    ///   - client: requests silent licenses; nil for none.
    ///   - silentLimit: the time for such a request; nil for ten seconds.
    ///   - clock: the clock by which keys end.
    ///   - player: opens the player.
    package init(
        obligations: Set<String>,
        client: HTTPClient?,
        silentLimit: Duration? = nil,
        clock: any WallClock = SystemClock(),
        player: @escaping @Sendable () async throws -> PlayerEngine
    ) {
        self.obligations = obligations
        self.player = player
        self.clock = clock
        silent = client.map { SilentAcquisition($0, timeLimit: silentLimit ?? SilentAcquisition.timeLimit) }
    }

    public func open(
        _ asset: PublicationAsset,
        fetcher: any Fetcher,
        allowUserInteraction: Bool,
        credentials: String?,
        sender: (any Sendable)?,
        onAskCredentials: OnAskCredentialsCallback?
    ) async throws(Publication.OpeningError) -> ProtectedAsset? {
        do {
            if let single = fetcher as? SingleResourceFetcher {
                // another protection may be able to read what cannot be read here
                guard (try? await ProtectedFile.matches(single.resource)) == true,
                    let file = try await ProtectedFile(single.resource)
                else { return nil }
                return try await open(file, asset, fetcher, credentials)
            }
            guard let entries = try await ProtectedEntries(fetcher) else { return nil }
            return try await open(entries, asset, fetcher, credentials)
        } catch let error as Publication.OpeningError {
            throw error
        } catch let error as Malformed {
            throw Publication.OpeningError(.parsingFailed, "the protected file is damaged: \(error)")
        } catch {
            throw Publication.OpeningError(ResourceError(reading: error, Link(href: "publication")))
        }
    }

    // MARK: - A publication in a DCF

    private func open(
        _ file: ProtectedFile,
        _ asset: PublicationAsset,
        _ fetcher: any Fetcher,
        _ credentials: String?
    ) async throws -> ProtectedAsset {
        guard file.isEncrypted else { return try await openClear(file, asset) }
        let access: LicenseAccess
        switch await license(of: [file], credentials) {
        case .granted(let granted): access = granted
        case .refused(let error): return Self.restricted(file, asset, fetcher, error)
        }
        do {
            let stream = try await access.open(file)
            // the padding shows another key, and most damage, before anything is parsed
            if !stream.detectsChanges, stream.size > 0 { _ = try await stream.read(stream.size - 1..<stream.size) }
            var opened = try await Self.opened(file, asset, ClearContent(Self.link(file, asset), stream, clock: clock))
            if !stream.detectsChanges { opened.warnings.append(Self.untagged) }
            opened.onCreatePublication = Self.guarding(access, file.object.headers.contentID, protected: nil)
            return opened
        } catch let error as MediaError where [.refusedKey, .expiredKey, .outputControl].contains(error.code) {
            await access.end()
            return Self.restricted(file, asset, fetcher, Publication.OpeningError(.forbidden, error.message))
        } catch {
            await access.end()
            throw error
        }
    }

    /// Opens a DCF whose content is not encrypted.
    private func openClear(_ file: ProtectedFile, _ asset: PublicationAsset) async throws -> ProtectedAsset {
        guard !file.object.headers.contentID.hasPrefix("urn:carrel:title:") else {
            throw Publication.OpeningError(.parsingFailed, "the file of a title is not encrypted: it was changed")
        }
        let stream = try await MediaStream.open(file.object, of: file.source, keys: GivenKeys(), clock: clock)
        return try await Self.opened(file, asset, ClearContent(Self.link(file, asset), stream, clock: clock))
    }

    /// The clear content as an asset; its bytes determine the format.
    private static func opened(_ file: ProtectedFile, _ asset: PublicationAsset, _ content: ClearContent) async throws
        -> ProtectedAsset
    {
        let head = try await content.read(0..<4)
        let warnings = WarningList()
        let isArchive = head == [0x50, 0x4b, 3, 4] || head == [0x50, 0x4b, 5, 6]
        let fetcher: any Fetcher =
            isArchive ? try await ArchiveFetcher(content, warnings: warnings) : SingleResourceFetcher(content)
        var asset = asset
        asset.mediaType = MediaType(file.object.contentType)
        asset.mediaType = try await AssetOpener.sniff(asset, fetcher).mediaType
        var opened = ProtectedAsset(asset: asset, fetcher: fetcher)
        opened.warnings = warnings.warnings
        return opened
    }

    private static func link(_ file: ProtectedFile, _ asset: PublicationAsset) -> Link {
        Link(ResourcePath(decoded: asset.name) ?? "publication", mediaType: MediaType(file.object.contentType))
    }

    private static let untagged = Warning(
        .moderate,
        "the protected file has no tags: a change of its content would not be noticed"
    )

    /// A publication of which only the title of its file is known.
    private static func restricted(
        _ file: ProtectedFile,
        _ asset: PublicationAsset,
        _ fetcher: any Fetcher,
        _ error: Publication.OpeningError
    ) -> ProtectedAsset {
        let title = file.title ?? asset.name
        let manifest = Manifest(metadata: Metadata(title: LocalizedString(title.isEmpty ? "Untitled" : title)))
        var protected = ProtectedAsset(asset: asset, fetcher: fetcher)
        protected.publication = Publication.Builder(manifest: manifest, format: .dcf, fetcher: fetcher)
        protected.onCreatePublication = restricting(file.object.headers.contentID, error)
        return protected
    }

    // MARK: - An EPUB with entries that are DCF files

    private func open(
        _ entries: ProtectedEntries,
        _ asset: PublicationAsset,
        _ fetcher: any Fetcher,
        _ credentials: String?
    ) async throws -> ProtectedAsset {
        let contentID = entries.probed[0].object.headers.contentID
        switch await license(of: entries.probed, credentials) {
        case .refused(let error):
            return ProtectedAsset(asset: asset, fetcher: fetcher, onCreatePublication: Self.restricting(contentID, error))
        case .granted(let access):
            let paths = entries.paths
            let clear = TransformingFetcher(fetcher) { resource in
                guard let path = resource.link.path, paths.contains(path), !(resource is FailingResource) else { return resource }
                return ClearEntry(resource, path, access)
            }
            var opened = ProtectedAsset(asset: asset, fetcher: clear)
            opened.onCreatePublication = Self.guarding(access, contentID, protected: paths)
            if entries.probed.contains(where: { $0.object.tags == nil }) { opened.warnings.append(Self.untagged) }
            return opened
        }
    }

    // MARK: - Licenses

    private enum Outcome {
        case granted(LicenseAccess)
        case refused(Publication.OpeningError)
    }

    /// The licenses that some files have, at least one. Redeems a token, once, if there is none.
    private func license(of files: [ProtectedFile], _ credentials: String?) async -> Outcome {
        let engine: PlayerEngine
        do { engine = try await player() } catch {
            let reason = (error as? any CodedError)?.message ?? "\(error)"
            return .refused(Publication.OpeningError(.forbidden, "its license cannot be used: \(reason)"))
        }
        let access = LicenseAccess(engine, enforced: obligations, clock: clock)
        var refusal: PlayerError?
        func find() async -> Bool {
            for file in files where file.isEncrypted {
                do throws(PlayerError) { _ = try await access.license(of: file) } catch { refusal = refusal ?? error }
            }
            return !access.uses.isEmpty
        }
        if await find() { return .granted(access) }
        do {
            if let token = try await token(for: files, credentials, isRefused: refusal != nil) {
                refusal = nil
                do throws(PlayerError) {
                    try await access.add(token, isFromFile: credentials == nil)
                } catch {
                    guard credentials == nil else { throw error }
                    throw SilentAcquisition.failure(error.message)
                }
                if await find() { return .granted(access) }
            }
        } catch {
            await access.end()
            let reason = (error as? any CodedError)?.message ?? "the license cannot be acquired"
            return .refused(Publication.OpeningError(.forbidden, refusal?.message ?? reason))
        }
        await access.end()
        return .refused(Publication.OpeningError(.forbidden, refusal?.message ?? "there is no license for it on this device"))
    }

    /// The token to redeem: the caller's, or without any license the one that a file's address gives.
    private func token(
        for files: [ProtectedFile],
        _ credentials: String?,
        isRefused: Bool
    ) async throws(Publication.OpeningError) -> String? {
        if let credentials { return credentials }
        if isRefused { return nil }
        return try await silent?.token(for: files[0])
    }

    // MARK: - The publication

    private static func restricting(_ contentID: String, _ error: Publication.OpeningError) -> Publication.Builder.Transform {
        { builder in
            builder.services.set((any ContentProtectionService).self) { _ in
                LicensedContentProtectionService(contentID: contentID, error: error)
            }
        }
    }

    /// Puts the resources of a publication under its licenses; its cover costs no use.
    private static func guarding(
        _ access: LicenseAccess,
        _ contentID: String,
        protected: Set<ResourcePath>?
    ) -> Publication.Builder.Transform {
        { builder in
            let clear = builder.fetcher
            let guarded = GuardedFetcher(clear, access, protected: protected)
            builder.fetcher = guarded
            builder.services.set((any CoverService).self) { context in
                LicensedCoverService(context.manifest, GuardedFetcher(clear, access, protected: protected, isCounted: false))
            }
            builder.services.set((any ContentProtectionService).self) { _ in
                LicensedContentProtectionService(access, guarded, contentID: contentID)
            }
        }
    }
}
