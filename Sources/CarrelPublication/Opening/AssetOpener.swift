public import CarrelHTTP
public import CarrelHTTPClient
import Glibc

/// Opens files, folders and addresses as fetchers, and finds out what they are.
public struct AssetOpener: Sendable {
    let client: HTTPClient
    private let headers: @Sendable () async throws(ResourceError) -> HTTPFields
    /// Of an address without a path.
    private static let unnamed: ResourcePath = "publication"

    /// - Parameters:
    ///   - client: for addresses.
    ///   - headers: fields of every request to the origin of the address, such as a bearer token; redirects to another origin do
    ///     not get them.
    public init(
        client: HTTPClient = HTTPClient(),
        headers: @escaping @Sendable () async throws(ResourceError) -> HTTPFields = { () throws(ResourceError) in HTTPFields() }
    ) {
        self.client = client
        self.headers = headers
    }

    /// An asset with access to what is in it.
    struct Opened {
        let fetcher: any Fetcher
        let format: Format
        /// Why nothing of it can be read, where its server refuses it: a protection may know how to get it all the same.
        var refusal: ResourceError?
    }

    func open(_ asset: PublicationAsset, warnings: (any WarningLogger)?) async throws(Publication.OpeningError) -> Opened {
        do throws(ResourceError) {
            let fetcher = try await fetcher(of: asset, warnings: warnings)
            let format = try await FormatSniffer(asset, fetcher).sniff()
            return Opened(fetcher: fetcher, format: format)
        } catch  where error.code == .forbidden && asset.isRemote {
            let closed = FailingResource(Self.link(asset), error)
            return Opened(fetcher: SingleResourceFetcher(closed), format: .unknown, refusal: error)
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
        if before.conforms(to: .zipPassword) || before == .unknown {
            do throws(ResourceError) {
                return try await FormatSniffer(asset, fetcher).sniff()
            } catch {
                throw Publication.OpeningError(error)
            }
        }
        return asset.mediaType.flatMap { Format(mediaType: $0) } ?? before
    }

    /// Access to what is in an asset: the files of a folder, the entries of an archive, or the one file that it is.
    ///
    /// - Parameters:
    ///   - asset: what to open.
    ///   - warnings: hears of entries that are left out.
    /// - Returns: a fetcher that the caller closes.
    /// - Throws: ``ResourceError``.
    public func fetcher(
        of asset: PublicationAsset,
        warnings: (any WarningLogger)? = nil
    ) async throws(ResourceError) -> any Fetcher {
        let link = Self.link(asset)
        let resource: any Resource
        switch asset.location {
        case .file(let path):
            var status = stat()
            if unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR { return FolderFetcher(path: path) }
            resource = try FileResource(link, path: path)
        case .remote(let url):
            resource = HTTPResource(link, url: url, client: client, headers: headers)
        }
        let head = try await resource.read(0..<4)
        if head == [0x50, 0x4b, 3, 4] || head == [0x50, 0x4b, 5, 6] {
            return try await ArchiveFetcher(resource, warnings: warnings)
        }
        return SingleResourceFetcher(resource)
    }

    private static func link(_ asset: PublicationAsset) -> Link {
        Link(ResourcePath(decoded: asset.name) ?? unnamed, mediaType: asset.mediaType)
    }
}
