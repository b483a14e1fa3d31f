// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelXML
import Glibc

@testable import CarrelPublication

private let names = ["META-INF/container.xml", "META-INF/encryption.xml", "EPUB/package.opf", "EPUB/nav.xhtml", "EPUB/toc.ncx"]
private let limit = 1 << 20

/// No container makes the parser of EPUB trap, and what it makes of one is a manifest that can be written and read again. The input
/// is its documents, a zero between one and the next.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    let documents = bytes.split(separator: 0, maxSplits: names.count - 1, omittingEmptySubsequences: false)
    let files = zip(names, documents).filter { !$0.1.isEmpty }.map { ($0.0, Array($0.1)) }
    let warnings = WarningList(limit: 1000)
    let container = DocumentContainer(files)
    guard
        let builder = finish({ () async -> Publication.Builder? in
            try? await EPUBParser()
                .parse(PublicationAsset(path: "fuzz.epub"), format: .epub, fetcher: container, warnings: warnings)
        })
    else { return 0 }
    for warning in warnings.warnings {
        precondition(!warning.message.isEmpty && warning.message.utf8.count < limit, "a warning without words, or with too many")
    }
    let json = builder.manifest.json()
    guard let again = try? Manifest(json.rawSpan) else { fatalError("the manifest cannot be read again") }
    precondition(again == builder.manifest, "another manifest is read than was written")
    let publication = builder.build()
    for link in publication.readingOrder + publication.manifest.resources where link.path != nil {
        precondition(publication.link(withHREF: link.href) != nil, "a link of the manifest is not found")
    }
    return 0
}

/// Documents in memory.
private final class DocumentContainer: Fetcher {
    private let files: [ResourcePath: [UInt8]]

    init(_ files: [(String, [UInt8])]) {
        self.files = Dictionary(
            files.compactMap { name, bytes in ResourcePath(decoded: name).map { ($0, bytes) } },
            uniquingKeysWith: { first, _ in first }
        )
    }

    func links() async throws(ResourceError) -> [Link] { files.keys.map { Link($0) } }

    func get(_ link: Link) -> any Resource {
        link.path.flatMap { files[$0] }.map { BytesResource(link, $0) } ?? FailingResource.notFound(link)
    }

    func close() {}
}
