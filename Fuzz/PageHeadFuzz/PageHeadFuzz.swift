// SPDX-License-Identifier: Apache-2.0

@testable import CarrelIngest

/// No page of HTML makes the reader of its head trap, and what it finds is lines of text that are not too long.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    let head = PageHead(bytes)
    for (text, limit) in [(head.title, 300), (head.author, 2000), (head.description, 2000)] {
        guard let text else { continue }
        precondition(!text.isEmpty && text.count <= limit && !text.contains("\n"), "no line of text: \(text)")
    }
    precondition(head.language.map { !$0.isEmpty && $0.utf8.count <= 35 } ?? true)
    return 0
}
