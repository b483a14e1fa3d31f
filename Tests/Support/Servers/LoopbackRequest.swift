// SPDX-License-Identifier: Apache-2.0

/// A request as a ``LoopbackServer`` received it.
package struct LoopbackRequest: Sendable {
    package let method: String
    /// The request target as sent.
    package let target: String
    /// The field lines as sent.
    package let lines: [String]
    package internal(set) var body: [UInt8] = []

    init?(head: String) {
        let lines = head.split(separator: "\r\n").map(String.init)
        let words = lines.first?.split(separator: " ").map(String.init) ?? []
        guard words.count == 3 else { return nil }
        method = words[0]
        target = words[1]
        self.lines = Array(lines.dropFirst())
    }

    /// The value of the first field of that name, whatever its case.
    package subscript(name: String) -> String? {
        let prefix = name.lowercased() + ":"
        let line = lines.first { $0.lowercased().hasPrefix(prefix) }
        return line.map { String($0.dropFirst(prefix.count).drop { $0 == " " }) }
    }
}
