// SPDX-License-Identifier: Apache-2.0

import CLinux
import CarrelPDF
import Glibc

private let file: Int32 = clinux_memory_file()

/// No document makes its reader trap, with a password or without, and its metadata is within limits.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    ftruncate(file, 0)
    guard unsafe pwrite(file, start, count, 0) == count else { return 0 }
    for password in ["", "fuzz"] {
        guard let document = try? PDFDocument(descriptor: file, password: password) else { continue }
        _ = document.encryption
        guard let description = try? document.describe() else { continue }
        precondition(description.pageCount > 0, "a document without a page")
        precondition([0, description.pageCount].contains(description.pageLabels.count), "pages without a label")
        check(description.outline, description.pageCount, depth: 0)
    }
    return 0
}

private func check(_ items: [PDFOutlineItem], _ pageCount: Int, depth: Int) {
    precondition(depth <= 32, "an outline that is too deep")
    for item in items {
        precondition(item.page.map { 0..<pageCount ~= $0 } ?? true, "an entry that leads to no page")
        check(item.children, pageCount, depth: depth + 1)
    }
}
