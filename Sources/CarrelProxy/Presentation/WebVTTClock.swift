import CarrelBytes

/// The relation of subtitles to the clock of transport streams (`X-TIMESTAMP-MAP`, RFC 8216 §3.5).
enum WebVTTClock {
    /// The ticks at which media begin that are remuxed here.
    private static let start: UInt64 = 900_000
    private static let field = "X-TIMESTAMP-MAP="
    private static let clock = "MPEGTS:"

    /// Subtitles of fragments as those of the transport streams that are made of them.
    ///
    /// - Parameter bytes: a WebVTT file or segment; what is not one stays as it is.
    /// - Returns: the same cues, whose times count from the beginning of the media.
    static func shifted(_ bytes: [UInt8]) -> [UInt8] {
        var text = String(decoding: bytes, as: UTF8.self)
        if text.hasPrefix("\u{feff}") { text.removeFirst() }
        guard text.hasPrefix("WEBVTT") else { return bytes }
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { String($0) }
        // the header ends with the first empty line
        let header = lines.firstIndex { $0.allSatisfy(\.isWhitespace) } ?? lines.count
        guard let place = lines[..<header].firstIndex(where: { $0.hasPrefix(field) }) else {
            lines.insert("\(field)\(clock)\(start),LOCAL:00:00:00.000", at: 1)
            return Array(lines.joined(separator: "\n").utf8)
        }
        let parts = lines[place].dropFirst(field.count).split(separator: ",").map { part in
            let value = part.drop { $0 == " " }
            guard value.hasPrefix(clock), let ticks = UInt64(value.dropFirst(clock.count).prefix { $0.isNumber }), ticks < 1 << 33
            else { return String(value.filter { $0 != "\r" }) }
            return "\(clock)\((ticks + start) % (1 << 33))"
        }
        lines[place] = field + parts.joined(separator: ",")
        return Array(lines.joined(separator: "\n").utf8)
    }
}
