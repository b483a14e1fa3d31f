// SPDX-License-Identifier: Apache-2.0

/// One resource, as a publication of one: a PDF, an MP3.
public final class SingleResourceFetcher: Fetcher, DocumentedFetcher {
    let documents = ContainerDocuments()
    let resource: any Resource
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

    /// The resource as a file of this machine: itself, or a copy without a name that is made at the first use.
    ///
    /// - Parameter limit: bytes of a copy at most.
    /// - Returns: a file that stays open for as long as it is held.
    /// - Throws: `resource.too-large`, or what reading throws.
    func file(upTo limit: Int64) async throws(ResourceError) -> FileResource {
        if let file = resource as? FileResource { return file }
        return try await copy.value { [resource] () async throws(ResourceError) in
            try await AnonymousFile.copy(of: resource, upTo: limit)
        }
    }

    public func close() { resource.close() }
}
