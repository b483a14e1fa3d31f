import CarrelBytes
import CarrelXML

@testable import CarrelPublication

private let path: ResourcePath = "EPUB/text/nav.xhtml"

/// Contents of EPUB 3 and EPUB 2 have labels, and lead nowhere outside the container but to absolute addresses.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    if let document = try? NavigationDocument(bytes.rawSpan, at: path) {
        for (type, links) in document.lists {
            precondition(!type.isEmpty)
            check(links)
        }
    }
    readEncryption(bytes)
    guard let root = try? XMLElement.parse(bytes.rawSpan, limits: EPUBDocument.limits, documentType: .skipped) else { return 0 }
    let document = NCXDocument(root, at: path)
    check(document.contents)
    check(document.pages)
    return 0
}

private func readEncryption(_ bytes: [UInt8]) {
    var reader = XMLReader(limits: EPUBDocument.limits, documentType: .skipped)
    var document = EncryptionDocument()
    guard let events = try? reader.read(bytes.rawSpan), let last = try? reader.finish() else { return }
    document.add(events + last)
    precondition(document.resources.values.allSatisfy { ($0.originalLength?.byteCount ?? 0) >= 0 }, "a negative length")
}

private func check(_ links: [Link]) {
    for link in links {
        precondition(link.title?.isEmpty == false, "an entry without a label")
        precondition(link.href == "#" || link.path != nil || ResourcePath.hasScheme(link.href), "an address that leads out")
        check(link.children)
    }
}
