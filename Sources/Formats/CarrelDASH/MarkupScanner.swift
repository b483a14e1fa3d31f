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

    private var place: Int

    init(at place: Int = 0) {
        self.place = place
    }

    /// The next tag; nil at the end.
    mutating func next(_ bytes: RawSpan) -> Tag? {
        while place < bytes.byteCount {
            guard bytes.u8(at: place) == UInt8(ascii: "<") else {
                place += 1
                continue
            }
            if bytes.matches("<!--", at: place) {
                skip(to: "-->", from: 4, bytes)
            } else if bytes.matches("<![CDATA[", at: place) {
                skip(to: "]]>", from: 9, bytes)
            } else if bytes.matches("<?", at: place) {
                skip(to: "?>", from: 2, bytes)
            } else {
                return tag(bytes)
            }
        }
        return nil
    }

    private mutating func skip(to end: StaticString, from length: Int, _ bytes: RawSpan) {
        place += length
        while place < bytes.byteCount, !bytes.matches(end, at: place) { place += 1 }
        place = min(bytes.byteCount, place + end.utf8CodeUnitCount)
    }

    private mutating func tag(_ bytes: RawSpan) -> Tag {
        let start = place
        let isStart = !bytes.matches("</", at: place)
        var quote: UInt8?
        while place < bytes.byteCount {
            let byte = bytes.u8(at: place)
            if let open = quote {
                if byte == open { quote = nil }
            } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
                quote = byte
            } else if byte == UInt8(ascii: ">") {
                break
            }
            place += 1
        }
        let isEmpty = isStart && place > start && place < bytes.byteCount && bytes.u8(at: place - 1) == UInt8(ascii: "/")
        place = min(bytes.byteCount, place + 1)
        return Tag(range: start..<place, isStart: isStart, isEmpty: isEmpty)
    }

    /// The offset of the start tag of an element by its number from zero; 0 if there is none, as in UTF-16.
    static func offset(ofElement number: Int, in bytes: RawSpan) -> Int {
        var scanner = MarkupScanner()
        var left = number
        while let tag = scanner.next(bytes) {
            guard tag.isStart else { continue }
            if left == 0 { return tag.range.lowerBound }
            left -= 1
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
        var found: [Range<Int>] = []
        var place = tag.lowerBound + 1
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || 0x09...0x0d ~= byte }
        // the element's name
        while place < tag.upperBound, !isSpace(bytes.u8(at: place)) { place += 1 }
        while place < tag.upperBound {
            let start = place
            while place < tag.upperBound, isSpace(bytes.u8(at: place)) { place += 1 }
            var local = place
            var hasPrefix = false
            while place < tag.upperBound, bytes.u8(at: place) != UInt8(ascii: "="), !isSpace(bytes.u8(at: place)) {
                if bytes.u8(at: place) == UInt8(ascii: ":") {
                    local = place + 1
                    hasPrefix = true
                }
                place += 1
            }
            let end = place
            while place < tag.upperBound, bytes.u8(at: place) != UInt8(ascii: "\""), bytes.u8(at: place) != UInt8(ascii: "'") {
                place += 1
            }
            guard place < tag.upperBound else { break }
            let quote = bytes.u8(at: place)
            place += 1
            while place < tag.upperBound, bytes.u8(at: place) != quote { place += 1 }
            place = min(tag.upperBound, place + 1)
            let candidates = hasPrefix ? names + prefixed : names
            for name in candidates where end - local == name.utf8CodeUnitCount && bytes.matches(name, at: local) {
                found.append(start..<place)
            }
        }
        return found
    }
}
