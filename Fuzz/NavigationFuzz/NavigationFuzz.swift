// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelXML

@testable import CarrelPublication

private let path: ResourcePath = "EPUB/text/nav.xhtml"

/// Contents of EPUB 3 and EPUB 2 have labels, and lead nowhere outside the container but to absolute addresses.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    var reader = XMLReader(limits: EPUBDocument.limits, documentType: .skipped)
    if let events = try? reader.read(bytes.rawSpan), let last = try? reader.finish() {
        readLists(events + last)
    }
    readEncryption(bytes)
    readPackage(bytes)
    guard let root = try? XMLElement.parse(bytes.rawSpan, limits: EPUBDocument.limits, documentType: .skipped) else { return 0 }
    let document = NCXDocument(root, at: path)
    check(document.contents)
    check(document.pages)
    return 0
}

private func readLists(_ events: [XMLEvent]) {
    var document = NavigationDocument(at: path)
    document.add(events)
    for (type, links) in document.lists {
        precondition(!type.isEmpty, "a list without a type")
        check(links)
    }
}

private func readEncryption(_ bytes: [UInt8]) {
    var reader = XMLReader(limits: EPUBDocument.limits, documentType: .skipped)
    let visitor = EncryptionVisitor()
    guard (try? reader.read(bytes.rawSpan, telling: visitor)) != nil else { return }
    let document = visitor.document
    precondition(document.resources.values.allSatisfy { ($0.originalLength?.byteCount ?? 0) >= 0 }, "a negative length")
}

private func readPackage(_ bytes: [UInt8]) {
    var reader = XMLReader(limits: EPUBDocument.limits, documentType: .skipped)
    let visitor = PackageVisitor(at: path)
    guard (try? reader.read(bytes.rawSpan, telling: visitor)) != nil, (try? reader.finish(telling: visitor)) != nil,
        let package = try? PackageDocument(visitor, Warnings())
    else { return }
    precondition(package.items.allSatisfy { !$0.href.isEmpty }, "an item without an address")
}

private func check(_ links: [Link]) {
    for link in links {
        precondition(link.title?.isEmpty == false, "an entry without a label")
        precondition(link.href == "#" || link.path != nil || ResourcePath.hasScheme(link.href), "an address that leads out")
        check(link.children)
    }
}
