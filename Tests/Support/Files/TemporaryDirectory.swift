// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// A fresh directory that goes, with all that is in it, when the value does.
package final class TemporaryDirectory: Sendable {
    /// Its absolute path, without a slash at the end.
    package let path: String

    /// Makes the directory under TMPDIR, or /tmp.
    package init() {
        let parent = unsafe getenv("TMPDIR").map { unsafe String(cString: $0) } ?? "/tmp"
        var template = Array("\(parent)/carrel-test-XXXXXX".utf8CString)
        let made = unsafe mkdtemp(&template) != nil
        precondition(made, "no temporary directory can be made in \(parent)")
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        unsafe clinux_remove_tree(path)
    }

    /// The path of `name` inside it.
    package func file(_ name: String) -> String { "\(path)/\(name)" }

    /// Writes a file of this name and returns its path. Traps when that is not possible.
    @discardableResult
    package func write(_ name: String, _ bytes: [UInt8]) -> String {
        let file = file(name)
        guard let stream = unsafe fopen(file, "wbe") else { preconditionFailure("\(file) cannot be written") }
        defer { unsafe fclose(stream) }
        let wrote = unsafe fwrite(bytes, 1, bytes.count, stream)
        precondition(wrote == bytes.count, "\(file) cannot be written whole")
        return file
    }

    /// Writes a text file of this name and returns its path. Traps when that is not possible.
    @discardableResult
    package func write(_ name: String, _ text: String) -> String { write(name, Array(text.utf8)) }

    /// The bytes of a file, or nil if there is none.
    package func read(_ name: String) -> [UInt8]? { Fixtures.bytes(at: file(name)) }
}
