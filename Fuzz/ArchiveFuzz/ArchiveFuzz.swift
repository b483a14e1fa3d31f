// SPDX-License-Identifier: Apache-2.0

import CarrelArchive
import Glibc

private let limit: Int64 = 1 << 20

/// A file without a name, since archives are opened by path and descriptors have one.
private let file: Int32 = {
    var path = Array("/dev/shm/carrel-fuzz-XXXXXX".utf8CString)
    let file = unsafe mkstemp(&path)
    unsafe unlink(path)
    return file
}()

/// No archive makes the reader trap or give more than its limits.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    ftruncate(file, 0)
    guard unsafe pwrite(file, start, count, 0) == count else { return 0 }
    let limits = ArchiveLimits(totalBytes: limit)
    guard let archive = try? Archive(path: "/proc/self/fd/\(file)", limits: limits) else { return 0 }
    var total: Int64 = 0
    for entry in archive.entries {
        guard !entry.name.hasPrefix("/"), !entry.name.split(separator: "/").contains("..") else { fatalError("an unsafe name") }
        guard let reader = try? archive.open(entry) else { continue }
        while let part = try? reader.read(atMost: 65536), !part.isEmpty { total += Int64(part.count) }
    }
    guard total <= limit else { fatalError("more came out than allowed") }
    return 0
}
