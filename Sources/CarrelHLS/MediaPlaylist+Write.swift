extension MediaPlaylist {
    /// The playlist as text. Segments' durations have six decimals from version 3 on, and are whole seconds before.
    ///
    /// - Throws: when a playlist cannot contain a URI or string, or a segment is longer than the target duration.
    package func write() throws(PlaylistError) -> [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(256 + segments.count * 72)
        out.append(line: "#EXTM3U")
        if version > 1 { out.append(line: "#EXT-X-VERSION:\(version)") }
        if independentSegments { out.append(line: "#EXT-X-INDEPENDENT-SEGMENTS") }
        out.append(line: "#EXT-X-TARGETDURATION:\(targetDuration)")
        if let kind { out.append(line: "#EXT-X-PLAYLIST-TYPE:\(kind.rawValue)") }
        out.append(line: "#EXT-X-MEDIA-SEQUENCE:\(mediaSequence)")
        if discontinuitySequence > 0 { out.append(line: "#EXT-X-DISCONTINUITY-SEQUENCE:\(discontinuitySequence)") }
        if iFramesOnly { out.append(line: "#EXT-X-I-FRAMES-ONLY") }
        var last = MediaSegment(uri: "", duration: .zero)
        for segment in segments {
            try write(segment, after: last, to: &out)
            last = segment
        }
        if isEnded { out.append(line: "#EXT-X-ENDLIST") }
        return out
    }

    private func write(_ segment: MediaSegment, after last: MediaSegment, to out: inout [UInt8]) throws(PlaylistError) {
        guard segment.duration.roundedSeconds <= targetDuration else {
            throw PlaylistError(.contradiction, "a segment is longer than the target duration")
        }
        if segment.discontinuity { out.append(line: "#EXT-X-DISCONTINUITY") }
        if segment.keys != last.keys {
            let formats = Set(segment.keys.map(\.keyFormat))
            if !last.keys.allSatisfy({ formats.contains($0.keyFormat) }) { out.append(line: "#EXT-X-KEY:METHOD=NONE") }
            for key in segment.keys { out.append(line: "#EXT-X-KEY:\(try key.attributes.text())") }
        }
        if segment.initialization != last.initialization, let initialization = segment.initialization {
            var list = AttributeList()
            list["URI"] = .quoted(initialization.uri)
            if let range = initialization.byteRange { list["BYTERANGE"] = .quoted("\(range.length)@\(range.offset)") }
            out.append(line: "#EXT-X-MAP:\(try list.text())")
        }
        if let time = segment.programDateTime { out.append(line: "#EXT-X-PROGRAM-DATE-TIME:\(time)") }
        if version >= 3 {
            out.append(contentsOf: "#EXTINF:".utf8)
            out.append(seconds: segment.duration.wholeMicroseconds)
            out.append(line: ",\(segment.title)")
        } else {
            out.append(line: "#EXTINF:\(segment.duration.roundedSeconds),\(segment.title)")
        }
        if let range = segment.byteRange { out.append(line: "#EXT-X-BYTERANGE:\(range.length)@\(range.offset)") }
        try out.append(uri: segment.uri)
    }
}

extension [UInt8] {
    /// Appends seconds with six decimals, as EXTINF has them.
    package mutating func append(seconds microseconds: Int64) {
        let (whole, rest) = microseconds.quotientAndRemainder(dividingBy: 1_000_000)
        append(contentsOf: String(whole).utf8)
        append(UInt8(ascii: "."))
        var unit: Int64 = 100_000
        while unit > 0 {
            append(UInt8(ascii: "0") + UInt8(rest / unit % 10))
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
}

extension Duration {
    var wholeMicroseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1_000_000 + attoseconds / 1_000_000_000_000
    }

    /// Rounded to the nearest second.
    var roundedSeconds: UInt64 { UInt64(max(0, (wholeMicroseconds + 500_000) / 1_000_000)) }
}
