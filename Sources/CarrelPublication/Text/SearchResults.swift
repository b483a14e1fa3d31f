/// The places of words in a publication, found as they are asked for: a document is read when the results of the one before it have
/// been taken.
public struct SearchResults: AsyncSequence, Sendable {
    /// A place, with the words that were found and those around them.
    public typealias Element = Locator
    /// The error that ends the search.
    public typealias Failure = ResourceError

    let publication: Publication
    let query: String

    /// Finds one place after the other.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let publication: Publication
        private let query: String
        private var found: ArraySlice<Locator> = []
        /// Nil when the publication was searched to its end.
        private var place: PublicationSearch.Place? = PublicationSearch.Place(resource: 0, hits: 0)

        init(_ results: SearchResults) {
            publication = results.publication
            query = results.query
        }

        /// The next place.
        ///
        /// - Returns: nil at the end of the publication.
        /// - Throws: `resource.forbidden` for a restricted publication; `resource.unavailable` and `resource.cancelled`. In a document
        ///   that is missing or damaged nothing is found.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(ResourceError) -> Locator? {
            guard !publication.isRestricted else {
                throw ResourceError(.forbidden, publication.protectionErrorMessage ?? "the publication is restricted")
            }
            while found.isEmpty, let start = place {
                do {
                    let results = try await PublicationSearch(publication: publication).hits(of: query, from: start)
                    (found, place) = (results.locators[...], results.next)
                } catch let error as ResourceError {
                    throw error
                } catch is CancellationError {
                    throw ResourceError(.cancelled, "the search was cancelled")
                } catch {
                    throw ResourceError(.unavailable, "the search cannot go on: \(error)")
                }
            }
            return found.popFirst()
        }
    }

    /// Begins at the first document.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }
}

extension Publication {
    /// Whether there are documents to look for words in: HTML and XHTML.
    public var isSearchable: Bool {
        !isRestricted && (readingOrder + manifest.resources).contains { $0.mediaType?.isHTML ?? false }
    }

    /// Looks for words in the documents of the reading order, then in those beside it, such as notes.
    ///
    ///     for try await locator in publication.search("white whale") { … }
    ///
    /// - Parameter query: words; case, kinds of quotation marks and runs of white space do not count.
    /// - Returns: places in the order of the publication, with the words around them in ``Locator/text-swift.property``.
    public func search(_ query: String) -> SearchResults { SearchResults(publication: self, query: query) }
}
