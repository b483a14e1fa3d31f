// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelXML

/// The package document of an EPUB (EPUB 3.3 §5, OPF 2.0.1): its elements, before conversion to a manifest.
struct PackageDocument {
    /// Its path; addresses in it are relative to it.
    let path: ResourcePath
    /// 2 or 3.
    let majorVersion: Int
    let uniqueIdentifier: String?
    let metadata: PackageMetadata
    let items: [PackageItem]
    let spine: [PackageSpineItem]
    let progression: Metadata.ReadingProgression?
    /// References of an EPUB 2 guide.
    let guide: [Link]
    /// The id of the NCX (EPUB 2, and EPUB 3 for older readers).
    let ncxID: String?

    init(_ read: PackageVisitor, _ warnings: Warnings) throws(ResourceError) {
        path = read.path
        guard read.root?.name.local == "package" else { throw ResourceError(.malformed, "\"\(path)\" is not a package document") }
        majorVersion = read.root?["version"].flatMap { Int($0.prefix { $0 != "." }) } ?? 2
        let metadata = PackageMetadata(read.trees["metadata"] ?? XMLElement(XMLName("metadata")), at: path)
        self.metadata = metadata
        uniqueIdentifier = read.root?["unique-identifier"].flatMap { metadata.identifier(withID: $0) } ?? metadata.firstIdentifier
        items = read.items
        for number in read.badItems {
            warnings.add(.minor, "item \(number) of \"\(path)\" has no id or no address and is left out")
        }
        spine = read.spine
        for number in read.badReferences {
            warnings.add(.minor, "reference \(number) in the spine of \"\(path)\" leads nowhere and is left out")
        }
        let order = read.order
        progression = order?["page-progression-direction"].map { Metadata.ReadingProgression(rawValue: $0) ?? .auto }
        ncxID = order?["toc"]
        guide = (read.trees["guide"]?.all("reference") ?? []).compactMap { [path] in Self.guideLink($0, path) }
        if order == nil { warnings.add(.major, "\"\(path)\" has no spine") }
    }

    /// Reads the document of a container, a piece at a time.
    ///
    /// - Parameters:
    ///   - path: the document's path.
    ///   - fetcher: the container's fetcher.
    ///   - warnings: receives omissions.
    /// - Returns: the document.
    /// - Throws: `resource.malformed` for other documents; errors of reading.
    static func read(
        _ path: ResourcePath,
        _ fetcher: any Fetcher,
        _ warnings: Warnings
    ) async throws(ResourceError) -> PackageDocument {
        let visitor = PackageVisitor(at: path)
        var reader = XMLReader(limits: EPUBDocument.limits, documentType: .skipped)
        try await EPUBDocument.stream(path, fetcher) { (piece) throws(Malformed) in
            try reader.read(piece, telling: visitor)
            return true
        }
        do throws(Malformed) { try reader.finish(telling: visitor) } catch { throw EPUBDocument.malformed(path, error) }
        return try PackageDocument(visitor, warnings)
    }

    private static func guideLink(_ element: XMLElement, _ path: ResourcePath) -> Link? {
        guard let href = element["href"], let target = ResourcePath(href: href, relativeTo: path) else { return nil }
        var link = Link(href: target.href + (href.firstIndex(of: "#").map { String(href[$0...]) } ?? ""))
        link.title = element["title"]
        // the guide's words for what landmarks call otherwise (EPUB 3.3 Structural Semantics Vocabulary)
        let names = ["text": "bodymatter", "title-page": "titlepage", "acknowledgements": "acknowledgments"]
        if let type = element["type"] { link.relations = ["http://idpf.org/epub/vocab/structure/#\(names[type] ?? type)"] }
        return link
    }
}
