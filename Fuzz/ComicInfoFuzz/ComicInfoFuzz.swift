// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelXML

@testable import CarrelPublication

private let pages = (0..<3).map { Link(href: "\($0).png") }

/// Whatever a ComicInfo says, the manifest has the pages that it had, one cover, and can be written and read again.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    guard let root = try? XMLElement.parse(bytes.rawSpan, limits: EPUBDocument.limits, documentType: .skipped) else { return 0 }
    var manifest = Manifest(metadata: Metadata(title: "Comic"), readingOrder: pages)
    ComicInfo(root).add(to: &manifest)
    precondition(manifest.readingOrder.map(\.href) == pages.map(\.href), "other pages")
    precondition(manifest.readingOrder.filter { $0.relations.contains("cover") }.count <= 1, "several covers")
    let json = manifest.json()
    guard let again = try? Manifest(json.rawSpan) else { fatalError("the manifest cannot be read again") }
    precondition(again == manifest, "another manifest is read than was written")
    return 0
}
