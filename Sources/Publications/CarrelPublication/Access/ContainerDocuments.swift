// SPDX-License-Identifier: Apache-2.0

import CarrelThreads

/// A document of a container that several readers need, such as its manifest.
protocol ContainerDocument: Sendable {
    /// Reads and parses the document.
    ///
    /// - Parameter fetcher: the container's.
    /// - Returns: the document; an empty one if the container has none.
    /// - Throws: `resource.unavailable` and `resource.cancelled`, after which another attempt may succeed.
    static func read(_ fetcher: any Fetcher) async throws(ResourceError) -> Self
}

/// A cache of a container's documents by their type: each is read and parsed once.
final class ContainerDocuments: Sendable {
    private let documents = Locked<[ObjectIdentifier: any Sendable]>([:])

    func document<Document: ContainerDocument>(
        _ type: Document.Type,
        _ fetcher: any Fetcher
    ) async throws(ResourceError) -> Document {
        let document = documents.withLock { documents in
            let known = documents[ObjectIdentifier(type)] as? AsyncLazy<Document>
            let document = known ?? AsyncLazy<Document>()
            documents[ObjectIdentifier(type)] = document
            return document
        }
        return try await document.value { () async throws(ResourceError) in try await Document.read(fetcher) }
    }
}

/// A fetcher with a cache of its container's documents.
protocol DocumentedFetcher: Fetcher {
    var documents: ContainerDocuments { get }
}

extension Fetcher {
    /// The cache of the fetcher; a new one if it has none.
    var containerDocuments: ContainerDocuments { (self as? any DocumentedFetcher)?.documents ?? ContainerDocuments() }

    /// A document of the container, from the cache if the fetcher has one.
    func document<Document: ContainerDocument>(_ type: Document.Type) async throws(ResourceError) -> Document {
        try await containerDocuments.document(type, self)
    }
}
