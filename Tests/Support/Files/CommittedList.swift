// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A committed text that a test compares with its findings: in the folder of its target below `Tests/Golden`.
package enum CommittedList {
    /// Compares a text with the committed file; UPDATE_GOLDEN=1 rewrites the file instead.
    ///
    /// - Parameters:
    ///   - name: the file's name.
    ///   - text: the text.
    ///   - file: the test's file.
    /// - Returns: whether they are the same.
    package static func matches(_ name: String, _ text: String, file: String = #filePath) -> Bool {
        let path = path(name, file)
        if unsafe getenv("UPDATE_GOLDEN") != nil {
            guard let stream = unsafe fopen(path, "we") else { return false }
            defer { unsafe fclose(stream) }
            return unsafe fputs(text, stream) >= 0
        }
        return Fixtures.bytes(at: path) == Array(text.utf8)
    }

    /// Lines `name: reason` of a committed file.
    ///
    /// - Parameters:
    ///   - name: the file's name.
    ///   - file: the test's file.
    /// - Returns: reasons by their names.
    package static func reasons(_ name: String, file: String = #filePath) -> [String: String] {
        var reasons: [String: String] = [:]
        let text = String(decoding: Fixtures.bytes(at: path(name, file)) ?? [], as: UTF8.self)
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            let parts = line.split(separator: ":", maxSplits: 1)
            if parts.count == 2 { reasons[String(parts[0])] = String(parts[1].drop { $0 == " " }) }
        }
        return reasons
    }

    private static func path(_ name: String, _ file: String) -> String {
        let parts = file.split(separator: "/", omittingEmptySubsequences: false)
        let folder = parts[parts.count - 2].dropLast("Tests".count)
        return "\(Repository.path)/Tests/Golden/\(folder)/\(name)"
    }
}
