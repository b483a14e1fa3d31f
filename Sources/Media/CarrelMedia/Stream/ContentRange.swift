// SPDX-License-Identifier: Apache-2.0

/// The field `Content-Range` of a response (RFC 9110 §14.4).
package enum ContentRange {
    /// The length in `bytes 0-99/1234` or `bytes */1234`.
    package static func totalLength(_ text: String?) -> Int64? {
        guard let text, text.lowercased().hasPrefix("bytes "), let slash = text.lastIndex(of: "/") else { return nil }
        return number(text[text.index(after: slash)...])
    }

    /// The range in `bytes 0-99/1234`.
    package static func range(_ text: String) -> Range<Int64>? {
        guard text.lowercased().hasPrefix("bytes "), let slash = text.lastIndex(of: "/") else { return nil }
        let parts = text.dropFirst(6)[..<slash].split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let first = number(parts[0]), let last = number(parts[1]), first <= last, last < .max else {
            return nil
        }
        return first..<last + 1
    }

    /// Digits and nothing else.
    private static func number(_ text: Substring) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int64(text)
    }
}
