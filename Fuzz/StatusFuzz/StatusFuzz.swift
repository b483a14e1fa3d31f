// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

@testable import CarrelLCP

/// No status document makes its reader trap, and an address that is made of a template has no more than the values put into it.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    guard let document = try? StatusDocument(bytes) else { return 0 }
    for link in document.links {
        let address = URITemplate.expand(link.href, ["id": "a b", "name": "ü"])
        precondition(address.utf8.count <= 16 * (link.href.utf8.count + 1), "an address that grows")
    }
    return 0
}
