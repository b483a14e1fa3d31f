import CarrelThreads

/// Looks for words in the documents of a publication, a bounded piece of work at a time: those of the reading order, then those beside it, such as
/// notes (`linear="no"` in EPUB).
package struct PublicationSearch: Sendable {
    let publication: Publication

    package init(publication: Publication) {
        self.publication = publication
    }

    /// The place at which a search continues.
    package struct Place: Sendable, Equatable {
        /// Of the documents that are searched.
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

    /// Hits of one answer at most.
    static let hitLimit = 50
    /// Characters of what is looked for at most.
    package static let queryLimit = 200
    /// Bytes of documents that one answer may read.
    private static let readLimit = 16 << 20
    /// Bytes of a document at most; in a longer one nothing is looked for.
    static let documentLimit = 8 << 20
    /// Characters before and after a hit.
    private static let context = 60

    static let threads = BlockingThreadPool(name: "carrel-search", count: 1)

    /// - Parameters:
    ///   - query: words; case, kinds of quotation marks and runs of white space do not count.
    ///   - start: where to go on.
    /// - Returns: hits in the order of the publication.
    /// - Throws: what reading a document throws, unless it is missing or damaged: then nothing is found in it.
    package func hits(of query: String, from start: Place) async throws -> Results {
        let wanted = Self.folded(DocumentText.plain(query))
        var results = Results()
        guard !wanted.isEmpty else { return results }
        var read = 0
        let documents = documents
        for index in documents.indices where index >= start.resource {
            let link = documents[index]
            guard read < Self.readLimit else {
                results.next = Place(resource: index, hits: 0)
                return results
            }
            let bytes: [UInt8]
            do throws(ResourceError) {
                let resource = publication.get(link)
                defer { resource.close() }
                bytes = try await resource.read(upTo: Self.documentLimit)
            } catch {
                guard error.code != .unavailable, error.code != .cancelled else { throw error }
                continue
            }
            read += bytes.count
            let skipped = index == start.resource ? start.hits : 0
            let limit = Self.hitLimit - results.locators.count
            let found = try await Self.threads.run { Self.find(wanted, in: bytes, link, skipping: skipped, limit: limit) }
            results.locators += found.locators
            if found.hasMore {
                results.next = Place(resource: index, hits: skipped + found.locators.count)
                return results
            }
        }
        return results
    }

    /// Documents that hold words; the contents are words of others.
    private var documents: [Link] {
        (publication.readingOrder + publication.manifest.resources.filter { !$0.relations.contains("contents") })
            .filter { $0.mediaType?.isHTML ?? false }
    }

    private static func find(
        _ wanted: [UInt32],
        in bytes: [UInt8],
        _ link: Link,
        skipping skipped: Int,
        limit: Int
    ) -> (locators: [Locator], hasMore: Bool) {
        guard let text = DocumentText(bytes)?.scalars else { return ([], false) }
        let folded = text.map(fold)
        var locators: [Locator] = []
        var count = 0
        var at = 0
        while at + wanted.count <= folded.count {
            guard folded[at] == wanted[0], folded[at...].starts(with: wanted) else {
                at += 1
                continue
            }
            count += 1
            if count > skipped {
                if locators.count == limit { return (locators, true) }
                locators.append(locator(at..<at + wanted.count, text, link))
            }
            at += wanted.count
        }
        return (locators, false)
    }

    private static func locator(_ range: Range<Int>, _ text: [Unicode.Scalar], _ link: Link) -> Locator {
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

    private static func folded(_ text: [Unicode.Scalar]) -> [UInt32] { text.map(fold) }

    private static func fold(_ scalar: Unicode.Scalar) -> UInt32 {
        switch scalar {
        case "A"..."Z": scalar.value | 0x20
        case "\u{0}"..."\u{7f}": scalar.value
        case "‘", "’", "‚", "‛": 0x27
        case "“", "”", "„", "‟": 0x22
        default:
            // one for one, so that places stay what they are
            scalar.properties.lowercaseMapping.unicodeScalars.first.map(\.value) ?? scalar.value
        }
    }
}
