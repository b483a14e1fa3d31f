// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

extension MediaPlaylist {
    /// Returns the playlist as text.
    ///
    /// Unchanged lines are written verbatim, including unknown tags, comments and blank lines. In new lines, segment durations
    /// have six decimals from version 3 on, and are whole seconds before.
    ///
    /// Under the rules of ``PlaylistRules/compatible`` every line is new: unknown tags and comments are left out, and so is the target duration of
    /// the playlist, unless it has no segments.
    ///
    /// - Parameter rules: the output rules; RFC 8216 by default.
    /// - Returns: the text.
    /// - Throws: if a playlist cannot contain a URI or string, or a segment is longer than the target duration.
    package func write(rules: PlaylistRules = .rfc) throws(PlaylistError) -> [UInt8] {
        var writer = MediaPlaylistWriter(rules == .rfc ? self : inWholeSeconds, rules)
        try writer.write()
        return writer.out
    }

    /// The playlist with the target duration that its segments have when they are rounded up, and without the text it was read from.
    private var inWholeSeconds: MediaPlaylist {
        var playlist = self
        playlist.source.place = nil
        playlist.targetDuration = segments.durations.lazy.map(\.secondsRoundedUp).max() ?? targetDuration
        return playlist
    }
}

extension [UInt8] {
    /// Appends seconds with six decimals, as EXTINF has them.
    package mutating func append(seconds microseconds: Int64) {
        let (whole, fraction) = microseconds.quotientAndRemainder(dividingBy: 1_000_000)
        append(contentsOf: String(whole).utf8)
        append(UInt8(ascii: "."))
        var unit: Int64 = 100_000
        while unit > 0 {
            append(UInt8(ascii: "0") + UInt8(fraction / unit % 10))
            unit /= 10
        }
    }

    mutating func append(line: String) {
        append(contentsOf: line.utf8)
        append(UInt8(ascii: "\n"))
    }

    mutating func append(uri: String) throws(PlaylistError) {
        guard let first = uri.utf8.first, first != UInt8(ascii: "#"), uri.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7f }) else {
            throw PlaylistError(.uri, "a URI is empty, holds white space, or begins like a tag")
        }
        append(line: uri)
    }

    /// Appends lines of a text verbatim; the last line gets an end if it has none.
    mutating func append(lines range: Range<Int>, of text: ParsedPlaylistText) {
        append(contentsOf: text.bytes[range])
        if !range.isEmpty, last != 0x0a { append(0x0a) }
    }
}

extension Duration {
    var wholeMicroseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1_000_000 + attoseconds / 1_000_000_000_000
    }

    /// Rounded to the nearest second.
    var roundedSeconds: UInt64 { UInt64(Swift.max(0, (wholeMicroseconds + 500_000) / 1_000_000)) }

    /// Rounded up to whole seconds.
    var secondsRoundedUp: UInt64 { UInt64(Swift.max(0, (wholeMicroseconds + 999_999) / 1_000_000)) }

    /// A decimal floating-point number with six decimals.
    var secondsText: String {
        var out: [UInt8] = []
        let microseconds = wholeMicroseconds
        if microseconds < 0 { out.append(UInt8(ascii: "-")) }
        out.append(seconds: Int64(clamping: microseconds.magnitude))
        return String(decoding: out, as: UTF8.self)
    }
}
