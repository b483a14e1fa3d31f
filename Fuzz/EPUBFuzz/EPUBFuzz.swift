// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
@testable import CarrelIngest
import CarrelWorks
import CarrelZlib
import Glibc

/// A file without a name, since archives are opened by path and descriptors have one.
private let file: Int32 = {
    var path = Array("/dev/shm/carrel-fuzz-XXXXXX".utf8CString)
    let file = unsafe mkstemp(&path)
    unsafe unlink(path)
    return file
}()
private let names = ["META-INF/container.xml", "META-INF/encryption.xml", "OEBPS/package.opf", "OEBPS/cover.jpg"]

/// No publication makes the reader of its package document trap. The input is its documents, separated by zeros: they are put
/// into an archive here, so that no checksum shields the reader.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    let documents = bytes.split(separator: 0, maxSplits: names.count - 1, omittingEmptySubsequences: false)
    let zip = archive(zip(names, documents).filter { !$0.1.isEmpty })
    ftruncate(file, 0)
    guard unsafe pwrite(file, zip, zip.count, 0) == zip.count else { return 0 }
    guard let archive = try? EditionArchive(path: "/proc/self/fd/\(file)", limit: 1 << 20) else {
        precondition(zip.count == 22, "an archive of our own could not be read")  // libzip opens no archive without entries
        return 0
    }
    guard let package = try? EPUBPackage(archive, path: "fuzz.epub", untitled: .fileName) else { return 0 }
    let metadata = package.metadata
    precondition(!metadata.title.isEmpty && metadata.title.count <= 300, "no title: \(metadata.title)")
    precondition(metadata.authors.count <= 20 && metadata.authors.allSatisfy { !$0.isEmpty && $0.count <= 300 })
    precondition(package.coverName.map { names.contains($0) } ?? true, "a cover that is not there")
    return 0
}

/// Writes entries without compression (PKWARE APPNOTE 6.3.10 §4.3).
private func archive(_ entries: [(String, ArraySlice<UInt8>)]) -> [UInt8] {
    func little(_ value: Int, _ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) } }
    var (out, directory): ([UInt8], [UInt8]) = ([], [])
    for (name, content) in entries {
        var crc = CRC32()
        crc.update(Array(content).rawSpan)
        let common =
            little(20, 2) + little(0, 8) + little(Int(crc.value), 4) + little(content.count, 4) + little(content.count, 4)
            + little(name.utf8.count, 2) + little(0, 2)
        directory += little(0x0201_4b50, 4) + little(20, 2) + common + little(0, 10) + little(out.count, 4) + name.utf8
        out += little(0x0403_4b50, 4) + common + name.utf8 + content
    }
    let start = out.count
    out += directory
    return out + little(0x0605_4b50, 4) + little(0, 4) + little(entries.count, 2) + little(entries.count, 2)
        + little(directory.count, 4) + little(start, 4) + little(0, 2)
}
