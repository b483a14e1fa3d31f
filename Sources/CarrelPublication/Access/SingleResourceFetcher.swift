/// One resource, as a publication of one: a PDF, an MP3.
public final class SingleResourceFetcher: Fetcher, DocumentedFetcher {
    let documents = ContainerDocuments()
    let resource: any Resource

    /// - Parameter resource: found at the address of its link; closed with this fetcher.
    public init(_ resource: any Resource) {
        self.resource = resource
    }

    public func links() async throws(ResourceError) -> [Link] { [resource.link] }

    public func get(_ link: Link) -> any Resource {
        guard let path = link.path, path == resource.link.path else { return FailingResource.notFound(link) }
        return resource
    }

    public func close() { resource.close() }
}
