// SPDX-License-Identifier: Apache-2.0

import CarrelThreads

/// Searches the documents of a publication in bounded steps: first the reading order, then documents outside it, such as notes
/// (`linear="no"` in EPUB).
package struct PublicationSearch: Sendable {
    let publication: Publication

    package init(publication: Publication) {
        self.publication = publication
    }

    /// The place at which a search continues.
    package struct Place: Sendable, Equatable {
        /// The index of the document in the search order.
        package var resource: Int
        /// Hits of that resource that were given before.
        package var hits: Int

        package init(resource: Int, hits: Int) {
            self.resource = resource
            self.hits = hits
        }
    }

    package struct Results: Sendable {
        package var locators: [Locator] = []
        /// Nil at the end of the publication.
        package var next: Place?
    }

    /// The maximum number of hits of one response.
    static let hitLimit = 50
    /// The maximum length of a query in characters.
    package static let queryLimit = 200
    /// The maximum number of bytes of documents read for one response.
    private static let readLimit = 16 << 20
    /// The maximum size of a document in bytes; longer documents are not searched.
    static let documentLimit = 8 << 20
    /// Characters before and after a hit.
    private static let context = 60

    static let threads = BlockingThreadPool(name: "carrel-search", count: 1)

    /// - Parameters:
    ///   - query: words; case, kinds of quotation marks and runs of white space are ignored.
    ///   - start: the position to continue from.
    /// - Returns: hits in the order of the publication.
    /// - Throws: errors of reading a document, unless it is missing or damaged: such documents have no hits; `resource.forbidden`
    ///   after the license has ended.
    package func hits(of query: String, from start: Place) async throws -> Results {
        var results = try await foundHits(of: query, from: start)
        // licenses may have ended since the documents were read
        if let reason = publication.endReason { throw ResourceError(.forbidden, reason) }
        results.locators.removeAll { publication.endReason(of: Link(href: $0.href)) != nil }
        return results
    }

    private func foundHits(of query: String, from start: Place) async throws -> Results {
        let wanted = Self.folded(query)
        var results = Results()
        guard !wanted.isEmpty else { return results }
        var read = 0
        let documents = documents
        for index in documents.indices where index >= start.resource {
            guard read < Self.readLimit else {
                results.next = Place(resource: index, hits: 0)
                return results
            }
            guard let document = try await document(documents[index]) else { continue }
            read += document.byteCount
            let skipped = index == start.resource ? start.hits : 0
            let limit = Self.hitLimit - results.locators.count
            let found = try await Self.threads.run {
                var document = document
                document.skipHits(of: wanted, count: skipped)
                return document.hits(of: wanted, limit: limit)
            }
            results.locators += found.locators
            if found.hasMore {
                results.next = Place(resource: index, hits: skipped + found.locators.count)
                return results
            }
        }
        return results
    }

    /// Reads a document.
    ///
    /// - Parameter link: a link of ``documents``.
    /// - Returns: the document; nil if it is missing, damaged or longer than ``documentLimit``.
    /// - Throws: `resource.unavailable` and `resource.cancelled`; `QueueFull`.
    func document(_ link: Link) async throws -> Document? {
        let bytes: [UInt8]
        do throws(ResourceError) {
            let resource = publication.get(link)
            defer { resource.close() }
            bytes = try await resource.read(upTo: Self.documentLimit)
        } catch {
            guard error.code != .unavailable, error.code != .cancelled else { throw error }
            return nil
        }
        return try await Self.threads.run { Document(link, bytes) }
    }

    /// Documents that hold words; the contents are words of others.
    var documents: [Link] {
        (publication.readingOrder + publication.manifest.resources.filter { !$0.relations.contains("contents") })
            .filter { $0.mediaType?.isHTML ?? false }
    }

    /// A document whose hits are taken one after another.
    struct Document: Sendable {
        let link: Link
        /// The length of the document with its markup.
        let byteCount: Int
        private let text: [Unicode.Scalar]
        /// The text folded for comparison; positions are the same in both.
        private let folded: [UInt32]
        /// The place in the text from which the next hit is looked for.
        private var at = 0

        init(_ link: Link, _ bytes: [UInt8]) {
            self.link = link
            byteCount = bytes.count
            text = DocumentText(bytes)?.scalars ?? []
            folded = text.map(fold)
        }

        /// Finds the next hits.
        ///
        /// - Parameters:
        ///   - wanted: the result of ``PublicationSearch/folded(_:)``, not empty.
        ///   - limit: the maximum number of hits.
        /// - Returns: hits in order, and whether there are more.
        mutating func hits(of wanted: [UInt32], limit: Int) -> (locators: [Locator], hasMore: Bool) {
            var locators: [Locator] = []
            while let range = nextHit(of: wanted) {
                if locators.count == limit {
                    at = range.lowerBound
                    return (locators, true)
                }
                locators.append(locator(range))
            }
            return (locators, false)
        }

        mutating func skipHits(of wanted: [UInt32], count: Int) {
            for _ in 0..<count {
                guard nextHit(of: wanted) != nil else { return }
            }
        }

        private mutating func nextHit(of wanted: [UInt32]) -> Range<Int>? {
            while at + wanted.count <= folded.count {
                if folded[at] == wanted[0], folded[at...].starts(with: wanted) {
                    defer { at += wanted.count }
                    return at..<at + wanted.count
                }
                at += 1
            }
            return nil
        }

        private func locator(_ range: Range<Int>) -> Locator {
            func string(_ part: ArraySlice<Unicode.Scalar>) -> String { String(String.UnicodeScalarView(part)) }
            var locator = Locator(
                href: link.href,
                mediaType: link.mediaType ?? Manifest.mediaType,
                title: link.title,
                text: Locator.Text(
                    before: string(text[max(0, range.lowerBound - context)..<range.lowerBound]),
                    highlight: string(text[range]),
                    after: string(text[range.upperBound..<min(text.count, range.upperBound + context)])
                )
            )
            locator.locations.progression = Double(range.lowerBound) / Double(text.count)
            return locator
        }
    }

    /// Folds a query for comparison; empty if it has no words.
    static func folded(_ query: String) -> [UInt32] { DocumentText.plain(query).map(fold) }

    private static func fold(_ scalar: Unicode.Scalar) -> UInt32 {
        switch scalar {
        case "A"..."Z": scalar.value | 0x20
        case "\u{0}"..."\u{7f}": scalar.value
        case "‘", "’", "‚", "‛": 0x27
        case "“", "”", "„", "‟": 0x22
        default:
            // one scalar for one, so that positions do not change
            scalar.properties.lowercaseMapping.unicodeScalars.first.map(\.value) ?? scalar.value
        }
    }
}
