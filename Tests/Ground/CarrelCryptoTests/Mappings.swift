// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

/// The `VmFlags` of the mapping around `address`, from /proc/self/smaps (proc(5)); `dd` is "do not dump".
func mappingFlags(of address: UInt) throws -> [Substring] {
    let file = unsafe try #require(fopen("/proc/self/smaps", "r"))
    defer { unsafe fclose(file) }
    var inside = false
    var buffer = [CChar](repeating: 0, count: 4096)
    while unsafe fgets(&buffer, 4096, file) != nil {
        let line = String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        let words = line.split(whereSeparator: \.isWhitespace)
        guard let first = words.first else { continue }
        let bounds = first.split(separator: "-").compactMap { UInt($0, radix: 16) }
        if bounds.count == 2, words.count >= 5 { inside = bounds[0] <= address && address < bounds[1] }
        if inside, first == "VmFlags:" { return Array(words.dropFirst()) }
    }
    return []
}
