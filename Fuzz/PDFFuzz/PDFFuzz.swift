// SPDX-License-Identifier: Apache-2.0

@testable import CarrelIngest
import Glibc

/// A file without a name, since editions are read by path and descriptors have one.
private let file: Int32 = {
    var path = Array("/dev/shm/carrel-fuzz-XXXXXX".utf8CString)
    let file = unsafe mkstemp(&path)
    unsafe unlink(path)
    return file
}()

/// No PDF makes the reader of its title trap, and what it finds is one line that is not too long.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    ftruncate(file, 0)
    guard unsafe pwrite(file, start, count, 0) == count else { return 0 }
    guard let source = try? SourceFile(path: "/proc/self/fd/\(file)", name: "fuzz.pdf"),
        let information = try? PDFInformation(source)
    else { return 0 }
    for text in [information.title, information.author].compactMap(\.self) {
        precondition(!text.isEmpty && text.count <= 300 && !text.contains("\n"), "no line of text: \(text)")
        precondition(!information.isEncrypted, "an encrypted file said something")
    }
    return 0
}
