// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes
import CarrelHLS

/// The media playlist of one title in one form, without the parts that differ between orders: the ticket in each segment's URI,
/// and the keys. Created once, and rendered for each listener at the speed of a copy.
///
/// RFC 8216: version 3, VOD, media sequence from 0, initialization vectors by media sequence number. Each EXTINF is the
/// difference of two running totals of samples, rounded to the microsecond, so that even long titles do not drift.
package struct PlaylistTemplate: Sendable {
    /// Characters of a ticket.
    package static let ticketLength = 28

    /// The number of keys in the playlist: one, unless they rotate.
    package let keyCount: Int

    private let text: [UInt8]
    /// The offsets of the first segment and, when keys rotate, of the first of each key.
    private let keyPlaces: [Int]
    /// The offset of each ticket.
    private let ticketPlaces: [UInt32]

    /// - Parameters:
    ///   - index: the title's index.
    ///   - form: how segments carry their frames.
    ///   - segmentsPerKey: the number of segments per key; nil for one key.
    package init(_ index: SegmentIndex, form: SegmentForm, segmentsPerKey: Int? = nil) {
        let count = index.segmentCount
        let period = max(1, min(segmentsPerKey ?? count, count))
        let ending = Array(".\(form.fileExtension(for: index.format.codec))\n".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(160 + count * (64 + ending.count))
        text +=
            """
            #EXTM3U
            #EXT-X-VERSION:3
            #EXT-X-TARGETDURATION:\(Self.targetDuration(index))
            #EXT-X-PLAYLIST-TYPE:VOD
            #EXT-X-MEDIA-SEQUENCE:0

            """.utf8
        var keyPlaces: [Int] = []
        var ticketPlaces: [UInt32] = []
        ticketPlaces.reserveCapacity(count)
        var start: Int64 = 0
        for number in 0..<count {
            if number % period == 0 { keyPlaces.append(text.count) }
            let end = index.microseconds(atSegment: number + 1)
            text += "#EXTINF:".utf8
            text.append(seconds: end - start)
            start = end
            text += ",\n".utf8
            ticketPlaces.append(UInt32(text.count))
            text += [UInt8](repeating: UInt8(ascii: "-"), count: Self.ticketLength)
            text += "/\(number)".utf8
            text += ending
        }
        text += "#EXT-X-ENDLIST\n".utf8
        self.text = text
        self.keyPlaces = keyPlaces
        self.ticketPlaces = ticketPlaces
        keyCount = keyPlaces.count
    }

    /// Bytes of memory it takes, for a cache to count.
    package var memory: Int { text.count + ticketPlaces.count * 4 + keyPlaces.count * 8 }

    /// The playlist for one listener. Segments' URIs are `TICKET/NUMBER.EXTENSION`.
    ///
    /// - Parameters:
    ///   - ticket: `ticketLength` characters of the URL-safe alphabet (RFC 4648 §5).
    ///   - keyURI: the URI of a key by its number, from zero; nil leaves the segments unencrypted.
    /// - Returns: the text; equal for equal arguments.
    /// - Throws: `ticket` for an invalid ticket, `keyURI` if a playlist cannot contain a URI.
    package func render(ticket: String, keyURI: ((Int) -> String)?) throws(PackagerError) -> [UInt8] {
        let ticket = Array(ticket.utf8)
        guard ticket.count == Self.ticketLength, ticket.allSatisfy(Self.isURLSafe) else {
            throw PackagerError(.ticket, "a ticket has \(Self.ticketLength) characters of the URL-safe alphabet")
        }
        var keys: [[UInt8]] = []
        if let keyURI {
            for number in 0..<keyCount {
                let uri = keyURI(number)
                guard !uri.isEmpty, uri.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "\"") }) else {
                    throw PackagerError(.keyURI, "a playlist cannot contain the URI of a key")
                }
                keys.append(Array("#EXT-X-KEY:METHOD=AES-128,URI=\"\(uri)\"\n".utf8))
            }
        }
        return unsafe [UInt8](unsafeUninitializedCapacity: text.count + keys.reduce(0) { $0 + $1.count }) { buffer, filled in
            let raw = UnsafeMutableRawBufferPointer(buffer)
            var out = unsafe OutputRawSpan(buffer: raw, initializedCount: 0)
            render(ticket.rawSpan, keys, into: &out)
            filled = unsafe out.finalize(for: raw)
        }
    }

    /// Copies run by run, each up to the next key, then puts the ticket over its places in the run.
    private func render(_ ticket: RawSpan, _ keys: [[UInt8]], into out: inout OutputRawSpan) {
        var textOffset = 0
        var places = ticketPlaces[...]
        for run in 0...keys.count {
            let end = run < keys.count ? keyPlaces[run] : text.count
            let shift = out.byteCount - textOffset
            out.append(copying: text.rawSpan.extracting(textOffset..<end))
            let inRun = run < keys.count ? places.prefix { $0 < end } : places
            out.replace(inRun, shiftedBy: shift, with: ticket)
            places = places[inRun.endIndex...]
            if run < keys.count {
                let key = keys[run]
                out.append(copying: key.rawSpan)
            }
            textOffset = end
        }
    }

    /// The longest segment in whole seconds, rounded to the nearest (RFC 8216 §4.3.3.1); at least one.
    private static func targetDuration(_ index: SegmentIndex) -> Int64 {
        var longest: Int64 = 0
        var start: Int64 = 0
        for number in 0..<index.segmentCount {
            let end = index.microseconds(atSegment: number + 1)
            longest = max(longest, end - start)
            start = end
        }
        return max(1, (longest + 500_000) / 1_000_000)
    }

    private static func isURLSafe(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"): true
        default: false
        }
    }
}
