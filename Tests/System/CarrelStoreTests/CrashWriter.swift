// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

/// The program, built next to the test's own, that writes and is killed.
func crashWriter() throws -> [String] {
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = unsafe readlink("/proc/self/exe", &buffer, buffer.count)
    let own = String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
    let folder = own.prefix(upTo: own.lastIndex(of: "/") ?? own.startIndex)
    let path = "\(folder)/StoreCrashWriter"
    try #require(unsafe access(path, X_OK) == 0, "\(path) was not built")
    return [path]
}
