// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

/// The folder of files that others made, named by the environment variable `CARREL_FIXTURES`. They are not part of the package.
package enum Fixtures {
    /// The folder, or nil if the variable is not set.
    package static let directory: String? = unsafe getenv("CARREL_FIXTURES").map { unsafe String(cString: $0) }

    /// The path of a file in the folder. Without the folder the test is skipped and says so; without the file it fails.
    ///
    /// - Parameter name: relative to the folder, such as `media/sine.mp3`.
    /// - Returns: its absolute path.
    /// - Throws: what skips the test, or ``Missing``.
    package static func path(_ name: String) throws -> String {
        guard let directory else { try Test.cancel("CARREL_FIXTURES is not set: \(name) is not there to test with") }
        let path = "\(directory)/\(name)"
        guard unsafe access(path, R_OK) == 0 else { throw Missing(path: path) }
        return path
    }

    /// The bytes of a file in the folder. Without the folder the test is skipped and says so; without the file it fails.
    ///
    /// - Parameter name: relative to the folder, such as `media/sine.mp3`.
    /// - Returns: all of them.
    /// - Throws: what skips the test, or ``Missing``.
    package static func bytes(_ name: String) throws -> [UInt8] {
        let path = try path(name)
        guard let bytes = bytes(at: path) else { throw Missing(path: path) }
        return bytes
    }

    /// A file that should be in the folder and is not.
    package struct Missing: Error, CustomStringConvertible {
        let path: String

        package init(path: String) {
            self.path = path
        }

        package var description: String { "\(path) is not there" }
    }

    /// The bytes of a file, or nil if there is none.
    package static func bytes(at path: String) -> [UInt8]? {
        guard let stream = unsafe fopen(path, "rbe") else { return nil }
        defer { unsafe fclose(stream) }
        var bytes: [UInt8] = []
        while unsafe feof(stream) == 0 {
            let part = unsafe [UInt8](unsafeUninitializedCapacity: 65536) { buffer, count in
                count = unsafe fread(buffer.baseAddress, 1, buffer.count, stream)
            }
            if unsafe ferror(stream) != 0 { return nil }
            bytes += part
        }
        return bytes
    }
}
