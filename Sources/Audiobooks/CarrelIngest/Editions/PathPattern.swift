// SPDX-License-Identifier: Apache-2.0

/// A pattern of paths: `*` is any text without a slash, `**` any text, `?` one character but a slash.
package struct PathPattern: Sendable {
    private enum Part: Sendable { case character(UInt8), one, run, any }

    private let parts: [Part]

    package init(_ text: String) {
        var parts: [Part] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "*"):
                if case .run? = parts.last {
                    parts[parts.count - 1] = .any
                } else if case .any? = parts.last {
                } else {
                    parts.append(.run)
                }
            case UInt8(ascii: "?"): parts.append(.one)
            default: parts.append(.character(byte))
            }
        }
        self.parts = parts
    }

    /// Whether the whole path fits. Takes at most the product of both lengths.
    package func matches(_ path: String) -> Bool {
        let slash = UInt8(ascii: "/")
        // reached[i]: the first i parts match the text read so far
        var reached = [Bool](repeating: false, count: parts.count + 1)
        reached[0] = true
        skipEmpty(&reached)
        for byte in path.utf8 {
            var next = [Bool](repeating: false, count: parts.count + 1)
            for (i, part) in parts.enumerated() {
                switch part {
                case .character(let character): if reached[i], byte == character { next[i + 1] = true }
                // A character of several bytes counts once: its later bytes do not advance.
                case .one:
                    if reached[i], byte != slash { next[i + 1] = true }
                    if reached[i + 1], byte & 0xc0 == 0x80 { next[i + 1] = true }
                case .run: if reached[i + 1] || reached[i], byte != slash { next[i + 1] = true }
                case .any: if reached[i + 1] || reached[i] { next[i + 1] = true }
                }
            }
            reached = next
            skipEmpty(&reached)
        }
        return reached[parts.count]
    }

    /// A wildcard for any text matches the empty text too.
    private func skipEmpty(_ reached: inout [Bool]) {
        for (i, part) in parts.enumerated() {
            switch part {
            case .run, .any: if reached[i] { reached[i + 1] = true }
            default: break
            }
        }
    }
}
