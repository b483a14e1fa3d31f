// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

/// The command itself.
enum CarrelProgram {
    /// The command, built next to the test's own program.
    static func path() throws -> String {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = unsafe readlink("/proc/self/exe", &buffer, buffer.count)
        let own = String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
        let path = own.prefix(upTo: own.lastIndex(of: "/") ?? own.startIndex) + "/carrel"
        try #require(unsafe access(String(path), X_OK) == 0, "\(path) was not built")
        return String(path)
    }
}
