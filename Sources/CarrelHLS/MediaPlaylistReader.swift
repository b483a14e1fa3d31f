import CarrelBytes

/// Reads a media playlist line by line.
struct MediaPlaylistReader {
    private var playlist = MediaPlaylist(targetDuration: 0)
    private var once: Set<Substring> = []
    /// The least version that what was read asks for, why, and where.
    private var needed = (version: 1, why: "", offset: 0)
    private var keys: [EncryptionKey] = []
    private var initialization: MediaSegment.Initialization?

    // the segment whose URI has not come yet
    private var duration: Duration?
    private var title = ""
    private var range: (length: UInt64, offset: UInt64?)?
    private var discontinuity = false
    private var programDateTime: String?

    static func read(_ lines: ArraySlice<PlaylistLine>, end: Int, limit: Int) throws(Malformed) -> MediaPlaylist {
        var reader = MediaPlaylistReader()
        var offsets: [Int] = []
        for line in lines {
            if let tag = line.tag {
                try reader.read(tag.name, tag.value, line)
            } else if let uri = line.uri {
                guard offsets.count < limit else { throw line.malformed("playlist has too many segments") }
                try reader.finishSegment(uri, line)
                offsets.append(line.offset)
            }
        }
        try reader.check(end, offsets)
        return reader.playlist
    }

    private func check(_ end: Int, _ offsets: [Int]) throws(Malformed) {
        guard duration == nil, range == nil, !discontinuity else { throw Malformed("last segment has no URI", at: end) }
        guard once.contains("EXT-X-TARGETDURATION") else { throw Malformed("playlist has no target duration", at: end) }
        guard needed.version <= playlist.version else { throw Malformed(needed.why, at: needed.offset) }
        for (segment, offset) in zip(playlist.segments, offsets) where segment.duration.roundedSeconds > playlist.targetDuration {
            throw Malformed("segment is longer than the target duration", at: offset)
        }
    }

    private mutating func read(_ name: Substring, _ value: Substring?, _ line: PlaylistLine) throws(Malformed) {
        switch TagKind(of: name) {
        case .multivariant: throw line.malformed("tag belongs to a multivariant playlist")
        case .unknown: return
        case .media, .either: break
        }
        switch name {
        case "EXTINF": try readDuration(value, line)
        case "EXT-X-BYTERANGE":
            guard range == nil, let range = Self.byteRange(value) else { throw line.malformed("byte range is not one") }
            self.range = range
            need(4, "byte ranges need version 4", line)
        case "EXT-X-DISCONTINUITY": discontinuity = true
        case "EXT-X-KEY": try readKey(value, line)
        case "EXT-X-MAP": try readMap(value, line)
        case "EXT-X-PROGRAM-DATE-TIME":
            guard let value, !value.isEmpty else { throw line.malformed("date has no value") }
            programDateTime = String(value)
        case "EXT-X-DATERANGE": _ = try line.attributes(value)
        default: try readOnce(name, value, line)
        }
    }

    /// Tags of the whole playlist, which occur once.
    private mutating func readOnce(_ name: Substring, _ value: Substring?, _ line: PlaylistLine) throws(Malformed) {
        guard once.insert(name).inserted else { throw line.malformed("tag appears twice") }
        switch name {
        case "EXT-X-VERSION": playlist.version = Int(clamping: try line.integer(value))
        case "EXT-X-TARGETDURATION": playlist.targetDuration = try line.integer(value)
        case "EXT-X-MEDIA-SEQUENCE":
            guard playlist.segments.isEmpty else { throw line.malformed("media sequence comes after a segment") }
            playlist.mediaSequence = try line.integer(value)
        case "EXT-X-DISCONTINUITY-SEQUENCE":
            guard playlist.segments.isEmpty, !discontinuity else { throw line.malformed("discontinuity sequence comes late") }
            playlist.discontinuitySequence = try line.integer(value)
        case "EXT-X-ENDLIST": playlist.isEnded = true
        case "EXT-X-PLAYLIST-TYPE":
            guard let kind = value.flatMap({ MediaPlaylist.Kind(rawValue: String($0)) }) else {
                throw line.malformed("playlist type is neither EVENT nor VOD")
            }
            playlist.kind = kind
        case "EXT-X-I-FRAMES-ONLY":
            playlist.iFramesOnly = true
            need(4, "I-frame playlists need version 4", line)
        case "EXT-X-INDEPENDENT-SEGMENTS": playlist.independentSegments = true
        default: break  // EXT-X-START is a hint
        }
    }

    private mutating func readDuration(_ value: Substring?, _ line: PlaylistLine) throws(Malformed) {
        guard duration == nil else { throw line.malformed("segment has two durations") }
        guard let value, let comma = value.firstIndex(of: ",") else { throw line.malformed("duration is not ended by a comma") }
        let number = value[..<comma]
        guard let duration = DecimalInteger.parseSeconds(number) else { throw line.malformed("duration is not a number") }
        if number.contains(".") { need(3, "fractional durations need version 3", line) }
        self.duration = duration
        title = String(value[value.index(after: comma)...])
    }

    private mutating func readKey(_ value: Substring?, _ line: PlaylistLine) throws(Malformed) {
        guard let key = try line.key(value) else {
            keys = []
            return
        }
        if key.initializationVector != nil { need(2, "initialization vectors need version 2", line) }
        if key.keyFormat != nil || key.keyFormatVersions != nil { need(5, "key formats need version 5", line) }
        let format = key.keyFormat ?? "identity"
        if let place = keys.firstIndex(where: { ($0.keyFormat ?? "identity") == format }) {
            keys[place] = key
        } else {
            keys.append(key)
        }
    }

    private mutating func readMap(_ value: Substring?, _ line: PlaylistLine) throws(Malformed) {
        let list = try line.attributes(value)
        guard let uri = list.quoted("URI"), !uri.isEmpty else { throw line.malformed("initialization has no URI") }
        var initialization = MediaSegment.Initialization(uri: uri)
        if list["BYTERANGE"] != nil {
            guard let range = Self.byteRange(list.quoted("BYTERANGE").map { $0[...] }) else {
                throw line.malformed("byte range is not one")
            }
            initialization.byteRange = MediaSegment.ByteRange(offset: range.offset ?? 0, length: range.length)
        }
        self.initialization = initialization
        need(playlist.iFramesOnly ? 5 : 6, "initializations need version 6, or 5 in I-frame playlists", line)
    }

    private mutating func finishSegment(_ uri: String, _ line: PlaylistLine) throws(Malformed) {
        guard let duration else { throw line.malformed("segment has no duration") }
        guard !uri.utf8.contains(where: { $0 == 0x20 || $0 == 0x09 }) else { throw line.malformed("URI holds a blank") }
        var segment = MediaSegment(uri: uri, duration: duration)
        segment.title = title
        segment.discontinuity = discontinuity
        segment.keys = keys
        segment.initialization = initialization
        segment.programDateTime = programDateTime
        if let range {
            var offset = range.offset
            if offset == nil, let last = playlist.segments.last, last.uri == uri, let before = last.byteRange {
                offset = before.offset + before.length
            }
            guard let offset else { throw line.malformed("byte range has no offset, and none goes before it") }
            guard !offset.addingReportingOverflow(range.length).overflow else { throw line.malformed("byte range is not one") }
            segment.byteRange = MediaSegment.ByteRange(offset: offset, length: range.length)
        }
        playlist.segments.append(segment)
        self.duration = nil
        title = ""
        range = nil
        discontinuity = false
        programDateTime = nil
    }

    /// `length[@offset]` (§4.3.2.2).
    private static func byteRange(_ value: Substring?) -> (length: UInt64, offset: UInt64?)? {
        guard let parts = value?.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false) else { return nil }
        guard let length = parts.first.flatMap({ DecimalInteger.parse($0) }) else { return nil }
        guard parts.count == 2 else { return (length, nil) }
        guard let offset = DecimalInteger.parse(parts[1]) else { return nil }
        return (length, offset)
    }

    private mutating func need(_ version: Int, _ why: String, _ line: PlaylistLine) {
        if version > needed.version { needed = (version, why, line.offset) }
    }
}
