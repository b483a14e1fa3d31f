// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// Finds the tags of a UTF-8 document without a DOCTYPE that is known to be well-formed.
struct MarkupScanner {
    /// A tag by its place.
    struct Tag {
        /// From `<` up to and including `>`.
        let range: Range<Int>
        let isStart: Bool
        /// Whether the element has no content: `<a/>`.
        let isEmpty: Bool
    }

    private var position: Int

    init(at position: Int = 0) {
        self.position = position
    }

    /// The next tag; nil at the end.
    mutating func next(_ bytes: RawSpan) -> Tag? {
        while position < bytes.byteCount {
            guard bytes.u8(at: position) == UInt8(ascii: "<") else {
                position += 1
                continue
            }
            if bytes.matches("<!--", at: position) {
                skip(to: "-->", from: 4, bytes)
            } else if bytes.matches("<![CDATA[", at: position) {
                skip(to: "]]>", from: 9, bytes)
            } else if bytes.matches("<?", at: position) {
                skip(to: "?>", from: 2, bytes)
            } else {
                return tag(bytes)
            }
        }
        return nil
    }

    private mutating func skip(to end: StaticString, from length: Int, _ bytes: RawSpan) {
        position += length
        while position < bytes.byteCount, !bytes.matches(end, at: position) { position += 1 }
        position = min(bytes.byteCount, position + end.utf8CodeUnitCount)
    }

    private mutating func tag(_ bytes: RawSpan) -> Tag {
        let start = position
        let isStart = !bytes.matches("</", at: position)
        var quote: UInt8?
        while position < bytes.byteCount {
            let byte = bytes.u8(at: position)
            if let open = quote {
                if byte == open { quote = nil }
            } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
                quote = byte
            } else if byte == UInt8(ascii: ">") {
                break
            }
            position += 1
        }
        let isEmpty = isStart && position > start && position < bytes.byteCount && bytes.u8(at: position - 1) == UInt8(ascii: "/")
        position = min(bytes.byteCount, position + 1)
        return Tag(range: start..<position, isStart: isStart, isEmpty: isEmpty)
    }

    /// The offset of the start tag of an element by its number from zero; 0 if there is none, as in UTF-16.
    static func offset(ofElement number: Int, in bytes: RawSpan) -> Int {
        var scanner = MarkupScanner()
        var remaining = number
        while let tag = scanner.next(bytes) {
            guard tag.isStart else { continue }
            if remaining == 0 { return tag.range.lowerBound }
            remaining -= 1
        }
        return 0
    }

    /// Finds attributes of a start tag by their local names: each range includes the preceding space.
    ///
    /// - Parameters:
    ///   - names: the names of the attributes.
    ///   - prefixed: names that must have a prefix.
    ///   - tag: the range of the tag.
    ///   - bytes: the document.
    /// - Returns: the ranges, in order.
    static func attributes(
        _ names: [StaticString],
        prefixed: [StaticString],
        of tag: Range<Int>,
        in bytes: RawSpan
    ) -> [Range<Int>] {
        var ranges: [Range<Int>] = []
        var position = tag.lowerBound + 1
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || 0x09...0x0d ~= byte }
        // the element's name
        while position < tag.upperBound, !isSpace(bytes.u8(at: position)) { position += 1 }
        while position < tag.upperBound {
            let start = position
            while position < tag.upperBound, isSpace(bytes.u8(at: position)) { position += 1 }
            var local = position
            var hasPrefix = false
            while position < tag.upperBound, bytes.u8(at: position) != UInt8(ascii: "="), !isSpace(bytes.u8(at: position)) {
                if bytes.u8(at: position) == UInt8(ascii: ":") {
                    local = position + 1
                    hasPrefix = true
                }
                position += 1
            }
            let end = position
            while position < tag.upperBound, bytes.u8(at: position) != UInt8(ascii: "\""),
                bytes.u8(at: position) != UInt8(ascii: "'")
            {
                position += 1
            }
            guard position < tag.upperBound else { break }
            let quote = bytes.u8(at: position)
            position += 1
            while position < tag.upperBound, bytes.u8(at: position) != quote { position += 1 }
            position = min(tag.upperBound, position + 1)
            let candidates = hasPrefix ? names + prefixed : names
            for name in candidates where end - local == name.utf8CodeUnitCount && bytes.matches(name, at: local) {
                ranges.append(start..<position)
            }
        }
        return ranges
    }
}
