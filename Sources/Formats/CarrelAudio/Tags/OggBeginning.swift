// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The first packets of an Ogg file (RFC 3533) of Vorbis, Opus (RFC 7845) or FLAC (RFC 9639 §10.1): its codec and its metadata.
package struct OggBeginning {
    /// The content of the comments; nil if their end is missing.
    package let tags: AudioTags?
    private let serial: UInt32
    private let sampleRate: Int
    /// Samples at the beginning that are not heard.
    private let preSkip: Int

    /// Bytes of a page at most.
    package static let pageLimit = 27 + 255 + 255 * 255

    /// - Parameter bytes: bytes from the beginning of the file; the initializer returns nil for other formats.
    package init?(_ bytes: RawSpan) {
        guard let first = Page(bytes, at: 0) else { return nil }
        let packets = Self.packets(bytes, serial: first.serial)
        guard let head = packets.first else { return nil }
        let span = head.rawSpan
        var comments = packets.count > 1 ? packets[1] : nil
        let skipped: Int
        if span.byteCount >= 16, span.matches("\u{1}vorbis", at: 0) {
            sampleRate = Int(span.u32le(at: 12))
            preSkip = 0
            skipped = 7
        } else if span.byteCount >= 12, span.matches("OpusHead", at: 0) {
            sampleRate = 48_000
            preSkip = Int(span.u16le(at: 10))
            skipped = 8
        } else if span.byteCount >= 13 + 34, span.matches("\u{7f}FLAC", at: 0) {
            sampleRate = FLACBlock.sampleRate(span.extracting(17..<span.byteCount)) ?? 0
            preSkip = 0
            skipped = FLACBlock.headerLength
        } else {
            return nil
        }
        serial = first.serial
        if let count = comments?.count, count < skipped { comments = nil }
        tags = comments.map { VorbisComment.parse($0.rawSpan.extracting(skipped..<$0.count)) }
    }

    /// Returns the duration of the audio, from the position of its last page.
    ///
    /// - Parameter end: the last bytes of the file, twice the maximum page size.
    /// - Returns: seconds; nil if they contain no page of the stream.
    package func duration(_ end: RawSpan) -> Double? {
        guard sampleRate > 0 else { return nil }
        var last: UInt64?
        for at in 0..<max(0, end.byteCount - 26) where end.matches("OggS", at: at) {
            guard let page = Page(end, at: at, isWhole: false), page.serial == serial, page.position != .max else { continue }
            last = page.position
        }
        guard let last, last < 1 << 62, Int(last) > preSkip else { return nil }
        return Double(Int(last) - preSkip) / Double(sampleRate)
    }

    /// The header of a page (RFC 3533 §6).
    private struct Page {
        let position: UInt64
        let serial: UInt32
        /// The offsets of the table of segments, and of the segments.
        let table: Range<Int>

        init?(_ bytes: RawSpan, at start: Int, isWhole: Bool = true) {
            guard bytes.byteCount - start >= 27, bytes.matches("OggS", at: start), bytes.u8(at: start + 4) == 0 else {
                return nil
            }
            position = bytes.u64le(at: start + 6)
            serial = bytes.u32le(at: start + 14)
            table = start + 27..<start + 27 + Int(bytes.u8(at: start + 26))
            if isWhole, table.upperBound > bytes.byteCount { return nil }
        }
    }

    /// The first two packets of a stream, as far as present.
    private static func packets(_ bytes: RawSpan, serial: UInt32) -> [[UInt8]] {
        var packets: [[UInt8]] = []
        var open: [UInt8] = []
        var at = 0
        while packets.count < 2, let page = Page(bytes, at: at) {
            at = page.table.upperBound
            for index in page.table {
                let size = Int(bytes.u8(at: index))
                guard at + size <= bytes.byteCount else { return packets }
                if page.serial == serial {
                    open.append(copying: bytes.extracting(at..<at + size))
                    if size < 255 {
                        packets.append(open)
                        open = []
                    }
                }
                at += size
            }
        }
        return packets
    }
}
