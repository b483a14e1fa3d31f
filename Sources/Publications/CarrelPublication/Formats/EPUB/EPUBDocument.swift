// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelXML

/// The name spaces of EPUB.
enum EPUBNamespace {
    static let container = "urn:oasis:names:tc:opendocument:xmlns:container"
    static let dublinCore = "http://purl.org/dc/elements/1.1/"
    static let package = "http://www.idpf.org/2007/opf"
    static let ops = "http://www.idpf.org/2007/ops"
    static let encryption = "http://www.w3.org/2001/04/xmlenc#"
}

/// XML documents of an EPUB.
enum EPUBDocument {
    /// Packages with 50,000 resources exist, each with an item, a reference, and four elements of an NCX. A document takes less
    /// than 64 MiB in memory.
    static let limits = XMLLimits(
        bytes: 16 << 20,
        depth: 128,
        elements: 220_000,
        attributes: 64,
        text: 1 << 20,
        totalAttributes: 400_000
    )
    private static let pieceSize: Int64 = 256 << 10

    /// Reads a document of the publication.
    ///
    /// - Parameters:
    ///   - path: the document's path.
    ///   - fetcher: the container's fetcher.
    /// - Returns: its root element.
    /// - Throws: `resource.malformed` if it is not XML; errors of reading.
    static func read(_ path: ResourcePath, _ fetcher: any Fetcher) async throws(ResourceError) -> XMLElement {
        var tree = XMLTree(limits: limits, documentType: .skipped, spaces: spaces)
        try await stream(path, fetcher) { (piece) throws(Malformed) in
            try tree.read(piece)
            return true
        }
        do throws(Malformed) { return try tree.finish() } catch { throw malformed(path, error) }
    }

    /// Reads a document that a publication can do without.
    ///
    /// - Parameters:
    ///   - path: where it is.
    ///   - fetcher: of the container.
    ///   - warnings: receives the fault of a damaged document.
    /// - Returns: its root element; nil if it is missing or damaged.
    /// - Throws: `resource.unavailable`, `resource.cancelled`.
    static func optional(
        _ path: ResourcePath,
        _ fetcher: any Fetcher,
        _ warnings: Warnings
    ) async throws(ResourceError) -> XMLElement? {
        try await optional(warnings) { () async throws(ResourceError) in try await read(path, fetcher) }
    }

    /// As `optional(_:_:_:)`, for another way of reading.
    static func optional(
        _ warnings: Warnings,
        _ read: () async throws(ResourceError) -> XMLElement
    ) async throws(ResourceError) -> XMLElement? {
        do throws(ResourceError) {
            return try await read()
        } catch {
            switch error.code {
            case .notFound: return nil
            case .malformed, .tooLarge, .forbidden, .decryption:
                warnings.add(.major, error.message)
                return nil
            default: throw error
            }
        }
    }

    /// The tokens of a space-separated list.
    static func tokens(_ text: String?) -> [String] {
        guard let text, !text.isEmpty else { return [] }
        return text.split(whereSeparator: \.isWhitespace).map(String.init)
    }

    /// Reads a document of the publication up to a limit.
    ///
    /// - Parameters:
    ///   - path: the document's path.
    ///   - fetcher: the container's fetcher.
    /// - Returns: its root element, and the limit that cut the document off; nil if it is complete.
    /// - Throws: the errors of `read(_:_:)`, except for documents that are too large.
    static func readBeginning(
        of path: ResourcePath,
        _ fetcher: any Fetcher
    ) async throws(ResourceError) -> (root: XMLElement, cutOff: Malformed?) {
        var tree = XMLTree(limits: limits, documentType: .skipped, spaces: spaces)
        var cutOff: Malformed?
        try await stream(path, fetcher) { (piece) throws(Malformed) in
            do throws(Malformed) { try tree.read(piece) } catch {
                guard tree.isOverLimit else { throw error }
                cutOff = error
            }
            return cutOff == nil
        }
        if cutOff != nil, let root = tree.finishEarly() { return (root, cutOff) }
        do throws(Malformed) { return (try tree.finish(), nil) } catch { throw malformed(path, error) }
    }

    private static let spaces: Set<String> = ["br"]

    /// Reads a document of the publication a piece at a time.
    ///
    /// - Parameters:
    ///   - path: the document's path.
    ///   - fetcher: the container's fetcher.
    ///   - take: receives each piece in order; returns whether to continue.
    /// - Throws: `resource.malformed` if `take` throws; errors of reading.
    static func stream(
        _ path: ResourcePath,
        _ fetcher: any Fetcher,
        _ take: (RawSpan) throws(Malformed) -> Bool
    ) async throws(ResourceError) {
        try await stream(fetcher.get(Link(path)), take)
    }

    /// Reads a document a piece at a time.
    ///
    /// - Parameters:
    ///   - resource: the document.
    ///   - take: receives each piece in order; returns whether to continue.
    /// - Throws: `resource.malformed` if `take` throws; errors of reading.
    static func stream(_ resource: any Resource, _ take: (RawSpan) throws(Malformed) -> Bool) async throws(ResourceError) {
        var at: Int64 = 0
        var piece: [UInt8] = []
        while true {
            piece.removeAll(keepingCapacity: true)
            try await resource.read(at..<at + pieceSize, into: &piece)
            if piece.isEmpty { return }
            do throws(Malformed) { guard try take(piece.rawSpan) else { return } } catch {
                throw ResourceError(
                    .malformed,
                    "\"\(resource.link.path?.string ?? resource.link.href)\" cannot be read: \(error)"
                )
            }
            at += Int64(piece.count)
        }
    }

    static func malformed(_ path: ResourcePath, _ error: Malformed) -> ResourceError {
        ResourceError(.malformed, "\"\(path)\" cannot be read: \(error)")
    }
}

extension XMLElement {
    func all(_ local: String) -> [XMLElement] { children.filter { $0.name.local == local } }

    /// The value of an attribute in a name space.
    subscript(name: String, in namespace: String) -> String? {
        attributes.first { $0.name.local == name && $0.name.namespace == namespace }?.value
    }

    var language: String? { self["lang", in: "http://www.w3.org/XML/1998/namespace"] }

    /// Its text, trimmed, with every run of white space replaced by a single space.
    var words: String { text.split(whereSeparator: \.isWhitespace).joined(separator: " ") }
}
