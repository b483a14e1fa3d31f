public import CarrelHTTPClient
import Glibc

/// Opens files, folders and addresses as fetchers, and finds out what they are.
public struct AssetOpener: Sendable {
    let client: HTTPClient
    /// Of an address without a path.
    private static let unnamed = ResourcePath(decoded: "publication")!

    /// - Parameter client: for addresses.
    public init(client: HTTPClient = HTTPClient()) {
        self.client = client
    }

    /// An asset with access to what is in it.
    struct Opened {
        let fetcher: any Fetcher
        let format: Format
    }

    func open(_ asset: PublicationAsset, warnings: (any WarningLogger)?) async throws(Publication.OpeningError) -> Opened {
        do throws(ResourceError) {
            let fetcher = try await fetcher(of: asset, warnings)
            let format = try await FormatSniffer(asset, fetcher).sniff()
            return Opened(fetcher: fetcher, format: format)
        } catch {
            throw Publication.OpeningError(error)
        }
    }

    /// The format of an asset that a protection has opened.
    ///
    /// - Parameters:
    ///   - asset: its media type says what it is now, where the protection changed it.
    ///   - fetcher: over what is unlocked.
    ///   - before: what it was when it was locked.
    /// - Returns: what it is now; of an archive with a password, what its content shows.
    /// - Throws: when the content cannot be read.
    func format(
        of asset: PublicationAsset,
        fetcher: any Fetcher,
        before: Format
    ) async throws(Publication.OpeningError) -> Format {
        if before.conforms(to: .zipPassword) {
            do throws(ResourceError) {
                return try await FormatSniffer(asset, fetcher).sniff()
            } catch {
                throw Publication.OpeningError(error)
            }
        }
        return asset.mediaType.flatMap { Format(mediaType: $0) } ?? before
    }

    private func fetcher(of asset: PublicationAsset, _ warnings: (any WarningLogger)?) async throws(ResourceError) -> any Fetcher
    {
        let link = Link(ResourcePath(decoded: asset.name) ?? Self.unnamed, mediaType: asset.mediaType)
        let resource: any Resource
        switch asset.location {
        case .file(let path):
            var status = stat()
            if unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR { return FolderFetcher(path: path) }
            resource = try FileResource(link, path: path)
        case .remote(let url):
            resource = HTTPResource(link, url: url, client: client)
        }
        let head = try await resource.read(0..<4)
        if head == [0x50, 0x4b, 3, 4] || head == [0x50, 0x4b, 5, 6] {
            return try await ArchiveFetcher(resource, warnings: warnings)
        }
        return SingleResourceFetcher(resource)
    }
}
