// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import Glibc

/// A line of a playlist (RFC 8216 §4.1) by its place in the bytes.
struct PlaylistLine {
    /// Without the end of the line.
    let range: Range<Int>
    /// The offset after the line's end.
    let next: Int

    var offset: Int { range.lowerBound }

    func malformed(_ what: String) -> Malformed { Malformed(what, at: offset) }

    /// The line that begins at an offset: ended by LF, CRLF, or the end of the bytes.
    init(_ bytes: RawSpan, at start: Int) {
        let count = bytes.byteCount - start
        let lineEnd = unsafe bytes.withUnsafeBytes { buffer -> Int? in
            guard let base = buffer.baseAddress, let line = unsafe memchr(base + start, 0x0a, count) else { return nil }
            return unsafe UnsafeRawPointer(line) - base
        }
        next = lineEnd.map { $0 + 1 } ?? bytes.byteCount
        var end = lineEnd ?? bytes.byteCount
        if end > start, bytes.u8(at: end - 1) == 0x0d { end -= 1 }
        range = start..<end
    }

    /// Whether it has nothing but white space.
    func isBlank(_ bytes: RawSpan) -> Bool {
        for position in range where bytes.u8(at: position) != 0x20 && bytes.u8(at: position) != 0x09 { return false }
        return true
    }

    /// Whether it is a tag; a comment or a URI otherwise.
    func isTag(_ bytes: RawSpan) -> Bool { range.count >= 4 && bytes.matches("#EXT", at: offset) }

    /// The tag, and the range of its value after the colon; nil if the line is not a tag.
    func tag(_ bytes: RawSpan) -> (tag: PlaylistTag, value: Range<Int>?)? {
        if let (tag, value) = PlaylistTag.frequent(bytes, offset) { return (tag, value..<range.upperBound) }
        guard isTag(bytes) else { return nil }
        var colon = offset + 4
        while colon < range.upperBound, bytes.u8(at: colon) != UInt8(ascii: ":") { colon += 1 }
        let tag = PlaylistTag(bytes, offset + 1..<colon)
        return (tag, colon < range.upperBound ? colon + 1..<range.upperBound : nil)
    }
}

extension RawSpan {
    /// Bytes of UTF-8 as text.
    func text(_ range: Range<Int>) -> String {
        let part = extracting(range)
        return unsafe part.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
    }

    /// A range without the spaces and tabs at its ends.
    func trimmed(_ range: Range<Int>) -> Range<Int> {
        var (start, end) = (range.lowerBound, range.upperBound)
        while start < end, u8(at: start) == 0x20 || u8(at: start) == 0x09 { start += 1 }
        while start < end, u8(at: end - 1) == 0x20 || u8(at: end - 1) == 0x09 { end -= 1 }
        return start..<end
    }

    /// Whether spaces or tabs are in a range.
    func hasBlank(_ range: Range<Int>) -> Bool {
        var position = range.lowerBound
        let ones: UInt64 = 0x0101_0101_0101_0101
        while position &+ 8 <= range.upperBound {
            let word = u64(at: position)
            // the high bit of each byte below 0x21
            if (word &- ones &* 0x21) & ~word & (ones << 7) != 0 { break }
            position &+= 8
        }
        while position < range.upperBound {
            if u8(at: position) == 0x20 || u8(at: position) == 0x09 { return true }
            position &+= 1
        }
        return false
    }
}
