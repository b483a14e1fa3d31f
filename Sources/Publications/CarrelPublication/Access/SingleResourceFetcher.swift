// SPDX-License-Identifier: Apache-2.0

/// A single resource as a publication, such as a PDF or an MP3.
public final class SingleResourceFetcher: Fetcher, DocumentedFetcher {
    let documents = ContainerDocuments()
    package let resource: any Resource
    private let copy = AsyncLazy<FileResource>()

    /// Creates a fetcher of one resource.
    ///
    /// - Parameter resource: found at the address of its link; closed with this fetcher.
    public init(_ resource: any Resource) {
        self.resource = resource
    }

    public func links() async throws(ResourceError) -> [Link] { [resource.link] }

    public func get(_ link: Link) -> any Resource {
        guard let path = link.path, path == resource.link.path else { return FailingResource.notFound(link) }
        return resource
    }

    /// Returns the resource as a local file: itself, or an unnamed copy created at first use.
    ///
    /// - Parameter limit: the maximum size of a copy in bytes.
    /// - Returns: a file that stays open while it is referenced.
    /// - Throws: `resource.too-large`, or errors of reading.
    func file(upTo limit: Int64) async throws(ResourceError) -> FileResource {
        if let file = resource as? FileResource { return file }
        return try await copy.value { [resource] () async throws(ResourceError) in
            try await AnonymousFile.copy(of: resource, upTo: limit)
        }
    }

    public func close() { resource.close() }
}
