import CLinux
import CarrelPDF
import Glibc

private let file: Int32 = clinux_memory_file()

/// No document makes its reader trap, and what it says of itself is within limits.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    ftruncate(file, 0)
    guard unsafe pwrite(file, start, count, 0) == count, let document = try? PDFDocument(descriptor: file),
        let description = try? document.describe()
    else { return 0 }
    precondition(description.pageCount > 0, "a document without a page")
    precondition(description.pageLabels.isEmpty || description.pageLabels.count == description.pageCount, "pages without a label")
    check(description.outline, description.pageCount, depth: 0)
    return 0
}

private func check(_ items: [PDFOutlineItem], _ pageCount: Int, depth: Int) {
    precondition(depth <= 32, "an outline that is too deep")
    for item in items {
        precondition(item.page.map { 0..<pageCount ~= $0 } ?? true, "an entry that leads to no page")
        check(item.children, pageCount, depth: depth + 1)
    }
}
