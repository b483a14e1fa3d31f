// SPDX-License-Identifier: Apache-2.0

/// A range of bytes of a resource, written as the first and the last byte (ISO/IEC 23009-1 §5.3.9.2).
package struct MPDByteRange: Sendable, Hashable {
    /// The offset of the first byte.
    package var offset: Int64
    /// Bytes; nil up to the end of the resource.
    package var length: Int64?

    package init(offset: Int64, length: Int64?) {
        self.offset = offset
        self.length = length
    }

    /// Reads `first-last` or `first-`; nil for anything else.
    init?(_ text: String) {
        let parts = text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let first = Self.number(parts[0]) else { return nil }
        if parts[1].isEmpty {
            self.init(offset: first, length: nil)
        } else {
            guard let last = Self.number(parts[1]), last >= first else { return nil }
            self.init(offset: first, length: last - first + 1)
        }
    }

    private static func number(_ text: Substring) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else { return nil }
        return Int64(text).flatMap { $0 < 1 << 62 ? $0 : nil }
    }

    /// The range as an MPD writes it.
    var text: String { length.map { "\(offset)-\(offset + $0 - 1)" } ?? "\(offset)-" }
}
