// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
public import CarrelMedia
public import CarrelPublication

/// A resource of a publication, or an entry of a container, as the source of a medium.
///
/// ```swift
/// let source = try await ResourceSource(entry: "video/intro.dcf", of: PublicationAsset(path: "book.epub"))
/// let stream = try await MediaStream.open(source, as: .dcf(), keys: LicenseKeys(engine))
/// ```
public final class ResourceSource: MediaSource {
    private let resource: any Resource
    /// The container of the resource, if it is closed with the source.
    private let container: (any Fetcher)?

    /// Creates a source.
    ///
    /// - Parameter resource: the encrypted bytes; closed with the source.
    public init(_ resource: any Resource) {
        self.resource = resource
        container = nil
    }

    /// Opens an entry of a container, such as a ZIP archive or an EPUB. A container on a server is read by ranges.
    ///
    /// - Parameters:
    ///   - entry: the address of the entry in the container, percent-encoded where required (RFC 3986).
    ///   - asset: the container.
    ///   - opener: opens the container.
    /// - Throws: `resource.malformed` for a broken archive; errors of reading. A missing entry fails in ``open()``.
    public init(
        entry: String,
        of asset: PublicationAsset,
        opener: AssetOpener = AssetOpener()
    ) async throws(ResourceError) {
        let container = try await opener.fetcher(of: asset)
        self.container = container
        resource = container.get(entry)
    }

    public func open() async throws -> MediaSourceInformation {
        MediaSourceInformation(length: try await resource.length(), contentType: resource.link.mediaType?.description)
    }

    public func read(_ range: Range<Int64>) async throws -> [UInt8] {
        let bytes = try await resource.read(range)
        guard bytes.count == range.count else {
            throw MediaError(.unavailable, "\"\(resource.link.href)\" ended early")
        }
        return bytes
    }

    public func close() {
        resource.close()
        container?.close()
    }
}
