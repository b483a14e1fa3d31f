// SPDX-License-Identifier: Apache-2.0

/// The parts of a segment that tags of their own stand for, in the order in which they are written.
enum MediaSegmentField: CaseIterable {
    case discontinuity, keys, initialization, programDateTime, bitrate, gap, dateRanges, tiles, parts, duration, byteRange, uri

    /// The field of a tag; nil for tags of the whole playlist and unknown ones.
    init?(_ tag: PlaylistTag) {
        switch tag {
        case .discontinuity: self = .discontinuity
        case .key: self = .keys
        case .map: self = .initialization
        case .programDateTime: self = .programDateTime
        case .bitrate: self = .bitrate
        case .gap: self = .gap
        case .dateRange: self = .dateRanges
        case .tiles: self = .tiles
        case .part: self = .parts
        case .duration: self = .duration
        case .byteRange: self = .byteRange
        default: return nil
        }
    }

    func isEqual(_ a: MediaSegment, _ b: MediaSegment) -> Bool {
        switch self {
        case .discontinuity: a.discontinuity == b.discontinuity
        // key tags before and after EXT-X-MAP belong to the same field
        case .keys, .initialization: a.keys == b.keys && a.initialization == b.initialization
        case .programDateTime: a.programDateTime == b.programDateTime
        case .bitrate: a.bitrate == b.bitrate
        case .gap: a.isGap == b.isGap
        case .dateRanges: a.dateRanges == b.dateRanges
        case .tiles: a.tiles == b.tiles
        case .parts: a.parts == b.parts
        case .duration: a.duration == b.duration && a.title == b.title
        case .byteRange: a.byteRange == b.byteRange
        case .uri: a.uri == b.uri
        }
    }

    /// Writes the field of a segment.
    ///
    /// - Parameters:
    ///   - segment: the segment.
    ///   - last: the previous segment, whose keys, initialization and bit rate stay in force.
    ///   - version: the version of the playlist.
    ///   - out: gets the lines.
    /// - Throws: if a playlist cannot contain a URI or string.
    func write(
        _ segment: MediaSegment,
        after last: MediaSegment,
        version: Int,
        to out: inout [UInt8]
    ) throws(PlaylistError) {
        switch self {
        case .discontinuity: if segment.discontinuity { out.append(line: "#EXT-X-DISCONTINUITY") }
        case .keys:
            if segment.initialization != last.initialization, let initialization = segment.initialization {
                try Self.write(initialization.keys, after: last.keys, to: &out)
                var list = AttributeList()
                list["URI"] = .quoted(initialization.uri)
                if let range = initialization.byteRange { list["BYTERANGE"] = .quoted("\(range.length)@\(range.offset)") }
                let map = "#EXT-X-MAP:\(try list.text())"
                out.append(line: map)
                try Self.write(segment.keys, after: initialization.keys, to: &out)
            } else {
                try Self.write(segment.keys, after: last.keys, to: &out)
            }
        case .initialization: break  // with the keys
        case .programDateTime: if let time = segment.programDateTime { out.append(line: "#EXT-X-PROGRAM-DATE-TIME:\(time)") }
        case .bitrate:
            if segment.bitrate != last.bitrate, let rate = segment.bitrate { out.append(line: "#EXT-X-BITRATE:\(rate)") }
        case .gap: if segment.isGap { out.append(line: "#EXT-X-GAP") }
        case .dateRanges: for range in segment.dateRanges { out.append(line: "#EXT-X-DATERANGE:\(try range.attributes.text())") }
        case .tiles: if let tiles = segment.tiles { out.append(line: "#EXT-X-TILES:\(try tiles.text())") }
        case .parts: for part in segment.parts { out.append(line: "#EXT-X-PART:\(try part.tagAttributes.text())") }
        case .duration:
            if version >= 3 {
                out.append(contentsOf: "#EXTINF:".utf8)
                out.append(seconds: segment.duration.wholeMicroseconds)
                out.append(line: ",\(segment.title)")
            } else {
                out.append(line: "#EXTINF:\(segment.duration.roundedSeconds),\(segment.title)")
            }
        case .byteRange: if let range = segment.byteRange { out.append(line: "#EXT-X-BYTERANGE:\(range.length)@\(range.offset)") }
        case .uri: try out.append(uri: segment.uri)
        }
    }

    private static func write(
        _ keys: [EncryptionKey],
        after last: [EncryptionKey],
        to out: inout [UInt8]
    ) throws(PlaylistError) {
        guard keys != last else { return }
        let formats = Set(keys.map(\.keyFormat))
        if !last.allSatisfy({ formats.contains($0.keyFormat) }) { out.append(line: "#EXT-X-KEY:METHOD=NONE") }
        for key in keys { out.append(line: "#EXT-X-KEY:\(try key.attributes.text())") }
    }
}
