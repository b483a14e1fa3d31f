// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The relation of subtitles to the clock of transport streams (`X-TIMESTAMP-MAP`, RFC 8216 §3.5).
package enum WebVTTClock {
    /// The ticks at which media begin that are remuxed here.
    private static let start: UInt64 = 900_000
    private static let field = "X-TIMESTAMP-MAP="
    private static let clock = "MPEGTS:"

    /// Converts the subtitles of fragments to the clock of the transport streams made from these fragments.
    ///
    /// - Parameter bytes: a WebVTT file or segment; other bytes are returned unchanged.
    /// - Returns: the same cues, with times relative to the beginning of the media.
    package static func shifted(_ bytes: [UInt8]) -> [UInt8] {
        let text = bytes.starts(with: [0xef, 0xbb, 0xbf]) ? bytes[3...] : bytes[...]
        guard text.starts(with: "WEBVTT".utf8) else { return bytes }
        let first = line(at: text.startIndex, of: text)
        var next = first.end
        // the header ends with the first empty line
        while next < text.endIndex {
            let line = line(at: next, of: text)
            let isEmpty = text[line.text].allSatisfy { $0 == 0x20 || $0 == 0x09 }
            guard !isEmpty else { break }
            if text[line.text].starts(with: field.utf8) {
                let map = shiftedMap(String(decoding: text[line.text].dropFirst(field.utf8.count), as: UTF8.self))
                return joined([text[..<line.text.lowerBound], Array((field + map).utf8)[...], text[line.text.upperBound...]])
            }
            next = line.end
        }
        let map = Array("\(field)\(clock)\(start),LOCAL:00:00:00.000".utf8)
        let lineEnd = text[first.text.upperBound..<first.end]
        // a file may be its first line alone, without an end
        guard !lineEnd.isEmpty else { return joined([text, [0x0a], map[...], [0x0a]]) }
        return joined([text[..<first.end], map[...], lineEnd, text[first.end...]])
    }

    private static func joined(_ parts: [ArraySlice<UInt8>]) -> [UInt8] { Array(parts.joined()) }

    /// A line, and the index after its line break: CR, LF, or both (WebVTT §4.1).
    private static func line(at start: Int, of text: ArraySlice<UInt8>) -> (text: Range<Int>, end: Int) {
        let end = text[start...].firstIndex { $0 == 0x0a || $0 == 0x0d } ?? text.endIndex
        let isPair = text[end...].starts(with: [0x0d, 0x0a])
        return (start..<end, min(text.endIndex, end + (isPair ? 2 : 1)))
    }

    /// The value of a map, for media that begin later.
    private static func shiftedMap(_ value: String) -> String {
        let parts = value.split(separator: ",").map { part in
            let value = part.drop { $0 == " " }
            guard value.hasPrefix(clock), let ticks = UInt64(value.dropFirst(clock.count).prefix { $0.isNumber }), ticks < 1 << 33
            else { return String(value) }
            return "\(clock)\((ticks + start) % (1 << 33))"
        }
        return parts.joined(separator: ",")
    }
}
