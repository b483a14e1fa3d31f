// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// A metadata region of an MP3 file.
package struct MP3Tag: Sendable, Hashable {
    package enum Kind: String, Sendable, Hashable {
        case id3v2, id3v1, enhancedID3v1, ape, lyrics3
    }

    /// The format of the tag.
    package let kind: Kind
    /// Its range, in bytes from the start of the file.
    package let range: Range<Int64>
}

/// The structure that begins at some byte outside the frames.
enum MP3Mark {
    /// Nothing known.
    case none
    /// Too few bytes to decide.
    case undecided
    /// A tag of this many bytes.
    case tag(MP3Tag.Kind, Int64)
    /// The footer of an APE tag, whose items precede it: the size of the whole tag, footer included.
    case apeFooter(Int64)
    /// Lyrics3, which ends with a mark and not after a length.
    case lyrics
    /// A RIFF wave header of 12 bytes, followed by chunks.
    case riff
}

extension MP3Mark {
    /// Identifies the structure that begins at `start`.
    ///
    /// - Parameters:
    ///   - start: an index in the span.
    ///   - span: bytes of the file.
    ///   - last: whether the file ends with the span.
    ///   - boundary: whether the preceding byte was identified too; less is trusted in the middle of junk.
    /// - Returns: the structure, or that more bytes are needed.
    static func at(_ start: Int, in span: RawSpan, last: Bool, boundary: Bool) -> MP3Mark {
        switch span.u8(at: start) {
        case UInt8(ascii: "I"): id3(start, span, last, boundary)
        case UInt8(ascii: "T"): id3v1(start, span, last)
        case UInt8(ascii: "A"): ape(start, span, last)
        case UInt8(ascii: "L"): begins("LYRICSBEGIN", start, span, last) { .lyrics }
        case UInt8(ascii: "R"):
            if boundary {
                begins("RIFF", start, span, last, need: 12) { span.matches("WAVE", at: start + 8) ? .riff : .none }
            } else {
                .none
            }
        default: .none
        }
    }

    /// Whether some tag seems to begin at `start`, by its first bytes only; nil if there are too few of them.
    static func isLikely(_ start: Int, in span: RawSpan, last: Bool) -> Bool? {
        if span.byteCount - start < 11, !last { return nil }
        return span.matches("ID3", at: start) || span.matches("TAG", at: start) || span.matches("APETAGEX", at: start)
            || span.matches("LYRICSBEGIN", at: start)
    }

    /// Checks for `text`, then for `need` bytes in all, then calls `result`.
    private static func begins(
        _ text: StaticString,
        _ start: Int,
        _ span: RawSpan,
        _ last: Bool,
        need: Int = 0,
        _ result: () -> MP3Mark
    ) -> MP3Mark {
        let available = span.byteCount - start
        let needed = max(need, text.utf8CodeUnitCount)
        if available >= text.utf8CodeUnitCount, !span.matches(text, at: start) { return .none }
        if available < needed { return last ? .none : .undecided }
        return result()
    }

    private static func id3(_ start: Int, _ span: RawSpan, _ last: Bool, _ boundary: Bool) -> MP3Mark {
        begins("ID3", start, span, last, need: 10) {
            guard let length = ID3.headerLength(span.extracting(start..<span.byteCount)) else { return .none }
            if !boundary, span.u8(at: start + 3) > 4 || span.u8(at: start + 5) & 0x0f != 0 { return .none }
            return .tag(.id3v2, Int64(length))
        }
    }

    private static func id3v1(_ start: Int, _ span: RawSpan, _ last: Bool) -> MP3Mark {
        begins("TAG", start, span, last, need: 4) {
            guard span.u8(at: start + 3) == UInt8(ascii: "+") else { return .tag(.id3v1, 128) }
            if span.matches("TAG", at: start + 227) { return .tag(.enhancedID3v1, 227) }
            return last || span.byteCount - start >= 230 ? .tag(.id3v1, 128) : .undecided
        }
    }

    private static func ape(_ start: Int, _ span: RawSpan, _ last: Bool) -> MP3Mark {
        begins("APETAGEX", start, span, last, need: APETag.headerLength) {
            let size = Int64(span.u32le(at: start + 12))
            let isHeader = span.u32le(at: start + 20) & 0x2000_0000 != 0
            return isHeader ? .tag(.ape, size + 32) : .apeFooter(max(size, 32))
        }
    }
}
