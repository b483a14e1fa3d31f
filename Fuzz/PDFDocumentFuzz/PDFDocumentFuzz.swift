import CarrelPDF
import Glibc

/// A file without a name, since libqpdf opens files by path and descriptors have one.
private let file: Int32 = {
    var path = Array("/dev/shm/carrel-fuzz-XXXXXX".utf8CString)
    let file = unsafe mkstemp(&path)
    unsafe unlink(path)
    return file
}()

/// No document makes its reader trap, with a password or without; its outline leads to pages that are there, and each page has a label
/// or none has.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    ftruncate(file, 0)
    guard unsafe pwrite(file, start, count, 0) == count else { return 0 }
    for password in ["", "fuzz"] {
        guard let document = try? PDFDocument(descriptor: file, password: password) else { continue }
        _ = document.encryption
        guard let description = try? document.describe() else { continue }
        precondition(description.pageCount > 0, "a document without a page")
        precondition([0, description.pageCount].contains(description.pageLabels.count), "labels for other pages")
        check(description.outline, description.pageCount)
    }
    return 0
}

private func check(_ items: [PDFOutlineItem], _ pageCount: Int) {
    for item in items {
        precondition(item.page.map { 0..<pageCount ~= $0 } ?? true, "a page that is not there")
        check(item.children, pageCount)
    }
}
