// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
public import CarrelHTTP
public import CarrelHTTPClient
import Glibc

/// Opens files, folders and addresses as fetchers, and detects their format.
public struct AssetOpener: Sendable {
    let client: HTTPClient
    private let headers: @Sendable () async throws(ResourceError) -> HTTPFields
    /// The name for an address without a path.
    private static let unnamed: ResourcePath = "publication"

    /// Creates an opener of files and addresses.
    ///
    /// - Parameters:
    ///   - client: sends the requests.
    ///   - headers: fields of every request to the origin of the address, such as a bearer token; they are not sent to other
    ///     origins after a redirect.
    public init(
        client: HTTPClient = HTTPClient(),
        headers: @escaping @Sendable () async throws(ResourceError) -> HTTPFields = { () throws(ResourceError) in HTTPFields() }
    ) {
        self.client = client
        self.headers = headers
    }

    /// An asset and a fetcher of its content.
    struct Opened {
        let fetcher: any Fetcher
        let format: Format
        /// The error if its server refuses access: a protection may still be able to read it.
        var refusal: ResourceError?
    }

    func open(_ asset: PublicationAsset, warnings: (any WarningLogger)?) async throws(Publication.OpeningError) -> Opened {
        do throws(ResourceError) {
            let fetcher = try await fetcher(of: asset, warnings: warnings)
            let format = try await FormatSniffer(asset, fetcher).sniff()
            try requireContainer(asset, format, warnings)
            await checkContainer(of: fetcher, format, warnings)
            return Opened(fetcher: fetcher, format: format)
        } catch  where error.code == .forbidden && asset.isRemote {
            let closed = FailingResource(Self.link(asset), error)
            return Opened(fetcher: SingleResourceFetcher(closed), format: .unknown, refusal: error)
        } catch {
            throw Publication.OpeningError(error)
        }
    }

    /// Refuses a picture or a recording whose name says that it is a package of a publication.
    private func requireContainer(
        _ asset: PublicationAsset,
        _ format: Format,
        _ warnings: (any WarningLogger)?
    ) throws(ResourceError) {
        let name = ResourcePath(decoded: asset.name)?.fileExtension
        guard let name, let named = Format(fileExtension: name), named != .zip,
            named.conforms(to: .zip) || named.conforms(to: .pdf),
            format.mediaType.isBitmap || format.mediaType.isAudio, !format.conforms(to: .zip)
        else { return }
        let message = "its name ends in .\(name), but it is a file of the type \(format.mediaType.essence)"
        warnings?.log(Warning(.major, message))
        throw ResourceError(.malformed, "the publication cannot be opened: \(message)")
    }

    /// Checks the archive of an EPUB.
    ///
    /// - Parameters:
    ///   - fetcher: a fetcher of the archive, still protected.
    ///   - format: its format, as far as known.
    ///   - warnings: receives the warnings; nil for none.
    private func checkContainer(of fetcher: any Fetcher, _ format: Format, _ warnings: (any WarningLogger)?) async {
        guard let warnings, format.conforms(to: .epub), let archive = fetcher.underlyingArchive else { return }
        await ContainerCheck.check(archive, Warnings(warnings))
    }

    /// Detects the format of an asset that a protection has unlocked.
    ///
    /// - Parameters:
    ///   - asset: the asset, with its new media type if the protection changed it.
    ///   - fetcher: a fetcher of the unlocked content.
    ///   - before: the format of the locked asset.
    ///   - warnings: receives mistakes in a container that could not be checked before.
    /// - Returns: the new format; for an archive with a password, detected from its content.
    /// - Throws: errors of reading the content.
    func format(
        of asset: PublicationAsset,
        fetcher: any Fetcher,
        before: Format,
        warnings: (any WarningLogger)?
    ) async throws(Publication.OpeningError) -> Format {
        let format = try await format(of: asset, fetcher: fetcher, before: before)
        if !before.conforms(to: .epub) { await checkContainer(of: fetcher, format, warnings) }
        return format
    }

    private func format(
        of asset: PublicationAsset,
        fetcher: any Fetcher,
        before: Format
    ) async throws(Publication.OpeningError) -> Format {
        let named = asset.mediaType.flatMap { Format(mediaType: $0) }
        // a password hid the content; a license that names no type leads to a package of any
        if before.conforms(to: .zipPassword) || before == .unknown || before.conforms(to: .lcpLicense) && named == nil {
            do throws(ResourceError) {
                return try await FormatSniffer(asset, fetcher).sniff()
            } catch {
                throw Publication.OpeningError(error)
            }
        }
        return named ?? before
    }

    /// Detects the format of a package from its content, like the streamer.
    ///
    /// - Parameters:
    ///   - asset: the asset, whose name and media type are hints.
    ///   - fetcher: a fetcher of the package.
    /// - Returns: its format, including its protection.
    /// - Throws: errors of reading.
    package static func sniff(_ asset: PublicationAsset, _ fetcher: any Fetcher) async throws(ResourceError) -> Format {
        try await FormatSniffer(asset, fetcher).sniff()
    }

    /// Opens the resources of an asset without transforming them: a package on a server is read by ranges and not downloaded.
    ///
    /// - Parameters:
    ///   - asset: a file, a folder or an address; its license, if any, has the path that it would have in the package.
    ///   - warnings: receives mistakes in an archive.
    /// - Returns: a fetcher that the caller closes.
    /// - Throws: `resource.malformed` for a broken archive; errors of reading.
    public func fetcher(
        of asset: PublicationAsset,
        warnings: (any WarningLogger)? = nil
    ) async throws(ResourceError) -> any Fetcher {
        let package = try await package(asset, warnings)
        guard let license = asset.license else { return package }
        return try await LicensedFetcher(package, license: license)
    }

    private func package(_ asset: PublicationAsset, _ warnings: (any WarningLogger)?) async throws(ResourceError) -> any Fetcher {
        let link = Self.link(asset)
        let resource: any Resource
        switch asset.location {
        case .file(let path):
            var status = stat()
            if unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR { return FolderFetcher(path: path) }
            resource = try FileResource(link, path: path)
        case .remote(let url):
            // its end comes first, and of an archive its end is enough
            resource = BufferingResource(HTTPResource(link, url: url, client: client, headers: headers))
            do throws(ResourceError) {
                return try await ArchiveFetcher(resource, warnings: warnings)
            } catch  where error.code == .malformed {
                if try await Self.isArchive(resource) { throw error }
                return SingleResourceFetcher(resource)
            }
        }
        guard try await Self.isArchive(resource) else { return SingleResourceFetcher(resource) }
        return try await ArchiveFetcher(resource, warnings: warnings)
    }

    /// Whether it begins as a ZIP archive does, with an entry or with its end.
    private static func isArchive(_ resource: any Resource) async throws(ResourceError) -> Bool {
        let head = try await resource.read(0..<4)
        return head == [0x50, 0x4b, 3, 4] || head == [0x50, 0x4b, 5, 6]
    }

    private static func link(_ asset: PublicationAsset) -> Link {
        Link(ResourcePath(decoded: asset.name) ?? unnamed, mediaType: asset.mediaType)
    }
}
