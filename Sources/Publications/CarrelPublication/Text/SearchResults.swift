// SPDX-License-Identifier: Apache-2.0

import CarrelThreads

/// The search results in a publication. Each document is read once, after all results in the previous one have been consumed.
public struct SearchResults: AsyncSequence, Sendable {
    /// A place, with the words that were found and those around them.
    public typealias Element = Locator
    /// The error that ends the search.
    public typealias Failure = ResourceError

    let publication: Publication
    let query: String

    /// Iterates over the results.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let search: PublicationSearch
        private let wanted: [UInt32]
        private var links: ArraySlice<Link>
        /// The document with more hits than `found`; nil before it is read.
        private var document: PublicationSearch.Document?
        private var found: ArraySlice<Locator> = []

        init(_ results: SearchResults) {
            search = PublicationSearch(publication: results.publication)
            wanted = PublicationSearch.folded(results.query)
            links = wanted.isEmpty ? [] : search.documents[...]
        }

        /// The next place.
        ///
        /// - Returns: nil at the end of the publication.
        /// - Throws: `resource.forbidden` for a restricted publication, and after its license has ended; `resource.unavailable` and
        ///   `resource.cancelled`. In a document that is missing or damaged, or whose own license has ended, nothing is found.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(ResourceError) -> Locator? {
            guard !search.publication.isRestricted else {
                throw ResourceError(.forbidden, search.publication.protectionErrorMessage ?? "the publication is restricted")
            }
            while true {
                if let reason = search.publication.endReason { throw ResourceError(.forbidden, reason) }
                if let hit = found.popFirst() {
                    // its license may have ended since the document was read
                    if search.publication.endReason(of: Link(href: hit.href)) == nil { return hit }
                    continue
                }
                do {
                    if document == nil {
                        guard let link = links.first else { return nil }
                        document = try await search.document(link)
                        links = links.dropFirst()
                    }
                    try await takeHits()
                } catch let error as ResourceError {
                    throw error
                } catch is CancellationError {
                    throw ResourceError(.cancelled, "the search was cancelled")
                } catch {
                    throw ResourceError(.unavailable, "the search cannot go on: \(error)")
                }
            }
        }

        private mutating func takeHits() async throws {
            guard let document = document.take() else { return }
            let (rest, hits) = try await PublicationSearch.threads.run { [wanted] in
                var rest = document
                let hits = rest.hits(of: wanted, limit: PublicationSearch.hitLimit)
                return (rest, hits)
            }
            found = hits.locators[...]
            self.document = hits.hasMore ? rest : nil
        }
    }

    /// Begins at the first document.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }
}

extension Publication {
    /// Whether there are documents to look for words in: HTML and XHTML, except the table of contents.
    public var isSearchable: Bool {
        !isRestricted && !PublicationSearch(publication: self).documents.isEmpty
    }

    /// Searches the documents of the reading order, then documents outside it, such as notes.
    ///
    ///     for try await locator in publication.search("white whale") { … }
    ///
    /// - Parameter query: words; case, kinds of quotation marks and runs of white space are ignored.
    /// - Returns: positions in the order of the publication, with the surrounding text in ``Locator/text-swift.property``.
    public func search(_ query: String) -> SearchResults { SearchResults(publication: self, query: query) }
}
