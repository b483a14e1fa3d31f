// SPDX-License-Identifier: Apache-2.0

/// Changes each resource on its way: decrypts it, clears a font, injects a script.
public final class TransformingFetcher: Fetcher, DocumentedFetcher, WrappingFetcher {
    /// Transforms a resource; returns the resource itself if there is nothing to change.
    public typealias Transformer = @Sendable (any Resource) -> any Resource

    private let fetcher: any Fetcher
    private let transformers: [Transformer]
    /// Never encrypted, and so the same before and after.
    var documents: ContainerDocuments { fetcher.containerDocuments }
    var wrapped: any Fetcher { fetcher }

    /// Creates a fetcher that transforms resources.
    ///
    /// - Parameters:
    ///   - fetcher: the fetcher of the original resources; closed with the new one.
    ///   - transformers: applied in this order.
    public init(_ fetcher: any Fetcher, _ transformers: Transformer...) {
        self.fetcher = fetcher
        self.transformers = transformers
    }

    public func links() async throws(ResourceError) -> [Link] { try await fetcher.links() }

    public func paths() async throws(ResourceError) -> [ResourcePath] { try await fetcher.paths() }

    public func get(_ link: Link) -> any Resource {
        transformers.reduce(fetcher.get(link)) { $1($0) }
    }

    public func storedLength(of link: Link) -> LengthHint? { fetcher.storedLength(of: link) }

    public func close() { fetcher.close() }
}
