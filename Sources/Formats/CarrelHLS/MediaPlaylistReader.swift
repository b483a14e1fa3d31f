// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// Reads a media playlist line by line.
struct MediaPlaylistReader {
    private(set) var playlist = MediaPlaylist(targetDuration: 0)
    var context: PlaylistContext
    private let limit: Int
    /// Tags of the whole playlist that came, by their raw values.
    private var once: UInt64 = 0
    private var hasTarget = false
    /// The lowest version that the lines so far require, the reason, and its offset.
    private var needed = (version: 1, why: "", offset: 0)
    private var newerNeeds: [(version: Int, why: String, offset: Int)] = []
    /// The keys in force, unless ``keyTags`` stands for them.
    var keys: [EncryptionKey] = [] { didSet { isStateStale = true } }
    /// The keys in force by their tags: of a strict reading without variables.
    var keyTags: [KeyTag] = [] { didSet { isStateStale = true } }
    var readsKeys: Bool
    var initialization: MediaSegment.Initialization? {
        didSet { (isStateStale, isInitializationNew) = (true, true) }
    }
    var isInitializationNew = false
    var bitrate: UInt64? { didSet { isStateStale = true } }
    var isStateStale = false
    var records: SegmentRecords
    /// The segment before the first one, when lines are read again.
    private var before: MediaSegment?

    // the segment whose URI is still to come
    private var microseconds: Int64 = 0
    private var discontinuity = false
    private var isGap = false
    private var title = TextRange.none
    private var date = 0..<0
    private var details = SegmentDetails.Values()
    private var hasDetails = false
    private var hasDuration = false
    private var range: (length: UInt64, offset: UInt64?)?
    private var passageStart: Int
    private var headerEnd: Int?
    /// The longest segment, rounded, and the offset of its URI.
    private var longest: (seconds: UInt64, offset: Int) = (0, 0)
    private var longer: [(seconds: UInt64, offset: Int)] = []
    /// Segments without a duration, by their places, for a lenient reader.
    private var withoutDuration: [Int] = []
    private var lastPart: (uri: String, end: UInt64)?

    private init(_ context: PlaylistContext, limit: Int, start: Int) {
        self.context = context
        self.limit = limit
        passageStart = start
        readsKeys = context.isLenient || !context.variables.isEmpty || start > 0
        records = SegmentRecords(context.text)
    }

    /// Reads a whole playlist.
    ///
    /// - Parameters:
    ///   - bytes: the text of the context.
    ///   - first: the first line after `#EXTM3U`.
    ///   - context: gets the warnings.
    ///   - limit: maximum number of segments.
    /// - Returns: the playlist.
    /// - Throws: the fault, at the first byte of its line.
    static func read(
        _ bytes: RawSpan,
        from first: Int,
        _ context: inout PlaylistContext,
        limit: Int
    ) throws(Malformed) -> MediaPlaylist {
        var reader = MediaPlaylistReader(context, limit: limit, start: 0)
        // a segment has two lines at least
        reader.records.list.reserveCapacity(min(limit, bytes.byteCount / 40))
        try reader.take(bytes, first..<bytes.byteCount)
        try reader.finish(bytes.byteCount)
        context = reader.context
        return reader.playlist
    }

    /// Reads the lines of one segment as if they followed another one.
    ///
    /// - Returns: the segment; nil if the lines do not form one there.
    static func read(
        _ passage: PlaylistPassage,
        after last: MediaSegment?,
        part: PartialSegment?,
        in playlist: MediaPlaylist
    ) -> MediaSegment? {
        let text = passage.text
        var context = PlaylistContext(text, PlaylistWarnings(text.isLenient ? .lenient : .strict))
        let start = passage.range.lowerBound
        context.priorVariables = playlist.variables
        context.variables = PlaylistVariables(playlist.variables.filter { $0.source.place ?? 0 < start })
        var reader = MediaPlaylistReader(context, limit: 2, start: passage.range.lowerBound)
        reader.playlist.iFramesOnly = playlist.iFramesOnly
        if let last {
            reader.before = last
            (reader.keys, reader.initialization, reader.bitrate) = (last.keys, last.initialization, last.bitrate)
            if let part = last.parts.last, let range = part.byteRange {
                reader.lastPart = (part.uri, range.offset &+ range.length)
            }
        }
        if let part, let range = part.byteRange { reader.lastPart = (part.uri, range.offset &+ range.length) }
        reader.isStateStale = true
        let stored = text.bytes
        do { try reader.take(stored.rawSpan, passage.range) } catch { return nil }
        guard reader.records.list.count == 1 else { return nil }
        var segment = reader.records[0]
        if !reader.withoutDuration.isEmpty { segment.duration = .seconds(Int64(clamping: playlist.targetDuration)) }
        return segment
    }

    private mutating func take(_ bytes: RawSpan, _ lines: Range<Int>) throws(Malformed) {
        var next = lines.lowerBound
        // a segment takes a few lines; comments are few
        var linesLeft = limit &* 8 &+ 1000
        while next < lines.upperBound {
            let line = PlaylistLine(bytes, at: next)
            next = line.next
            guard !line.range.isEmpty else { continue }
            if bytes.u8(at: line.offset) != UInt8(ascii: "#") {
                guard !line.isBlank(bytes) else { continue }
                try finishSegment(bytes, line)
            } else if let (tag, value) = line.tag(bytes) {
                try read(tag, bytes, value, line)
            }
            linesLeft &-= 1
            guard linesLeft > 0 else { throw line.malformed("playlist has too many lines") }
        }
    }

    private mutating func finish(_ end: Int) throws(Malformed) {
        if hasDuration || range != nil || discontinuity && details.parts.isEmpty {
            try context.tolerate(.segmentIncomplete, "last segment has no URI", at: end)
        }
        playlist.trailingParts = details.parts
        playlist.trailingDateRanges = details.dateRanges
        if once & Self.bit(.targetDuration) == 0 {
            try context.tolerate(.targetDurationMissing, "playlist has no target duration", at: end)
        }
        if !hasTarget { playlist.targetDuration = longest.seconds }
        if needed.version > playlist.version { try context.tolerate(.versionTooLow, needed.why, at: needed.offset) }
        for need in newerNeeds where need.version > playlist.version {
            context.warnings.note(.versionTooLow, need.why, at: need.offset)
        }
        if longest.seconds > playlist.targetDuration {
            let offset = longer.first { $0.seconds > playlist.targetDuration }?.offset
            try context.tolerate(.durationAboveTarget, "segment is longer than the target duration", at: offset ?? longest.offset)
        }
        let target = Int64(clamping: min(playlist.targetDuration, 1 << 40)) * 1_000_000
        for index in withoutDuration { records.list[index].microseconds = target }
        playlist.segments = MediaSegments(records)
        var original = playlist
        original.segments = []
        let header = 0..<(headerEnd ?? end)
        let trailer = (headerEnd == nil ? end : passageStart)..<end
        playlist.source.place = MediaPlaylistSource(text: context.text, header: header, trailer: trailer, original: original)
    }

    /// Notes that the header is over.
    private mutating func beginSegment(_ line: PlaylistLine) {
        guard headerEnd == nil else { return }
        headerEnd = line.offset
        if passageStart == 0 { passageStart = line.offset }
    }

    private mutating func read(
        _ tag: PlaylistTag,
        _ bytes: RawSpan,
        _ value: Range<Int>?,
        _ line: PlaylistLine
    ) throws(Malformed) {
        if tag.isOfSegment { beginSegment(line) }
        switch tag {
        case .m3u, .unknown: return
        case .duration: try readDuration(bytes, value, line)
        case .byteRange:
            guard range == nil, let value, let range = Self.byteRange(bytes, context.isLenient ? bytes.trimmed(value) : value)
            else { throw line.malformed("byte range is not one") }
            self.range = range
            need(4, "byte ranges need version 4", line)
        case .discontinuity: discontinuity = true
        case .gap: isGap = true
        case .key: try readKey(bytes, value, line)
        case .map: try readMap(bytes, value, line)
        case .programDateTime:
            guard let value, !value.isEmpty else {
                return try context.tolerate(.tagInvalid, "date has no value", at: line.offset)
            }
            // dates are shorter; other texts have a place of their own
            if value.count < 256 {
                date = value
                details.programDateTime = nil
            } else {
                date = 0..<0
                details.programDateTime = bytes.text(value)
                hasDetails = true
            }
        case .bitrate: bitrate = value.flatMap { DecimalInteger.parse(bytes, bytes.trimmed($0)) } ?? bitrate
        case .dateRange:
            details.dateRanges.append(DateRange(try context.attributes(bytes, value, line)))
            hasDetails = true
        case .tiles:
            details.tiles = try context.newerAttributes(bytes, value, line) ?? details.tiles
            hasDetails = true
        case .part: try readPart(bytes, value, line)
        case .preloadHint:
            if let list = try context.newerAttributes(bytes, value, line) { playlist.preloadHints.append(PreloadHint(list)) }
        case .renditionReport:
            if let list = try context.newerAttributes(bytes, value, line) {
                playlist.renditionReports.append(RenditionReport(list))
            }
        case .define:
            needNewer(8, "variables need version 8", line)
            readKeys(bytes)
            if let variable = try context.define(bytes, value, line, canImport: true) {
                playlist.variables.append(variable)
                if variable.origin == .queryParameter {
                    needNewer(11, "variables of the query need version 11", line)
                }
            }
        case .rendition, .variant, .iFrameVariant, .sessionData, .sessionKey, .contentSteering, .imageVariant:
            throw line.malformed("tag belongs to a multivariant playlist")
        case .version, .targetDuration, .mediaSequence, .discontinuitySequence, .endList, .playlistType, .iFramesOnly,
            .partInformation, .serverControl, .skip, .imagesOnly, .independentSegments, .start:
            try readOnce(tag, bytes, value, line)
        }
    }

    private static func bit(_ tag: PlaylistTag) -> UInt64 { 1 << UInt64(tag.rawValue) }

    /// Tags of the whole playlist, which occur once.
    private mutating func readOnce(
        _ tag: PlaylistTag,
        _ bytes: RawSpan,
        _ value: Range<Int>?,
        _ line: PlaylistLine
    ) throws(Malformed) {
        if once & Self.bit(tag) != 0 {
            if tag.isNewer {
                context.warnings.note(.tagRepeated, "tag appears twice", at: line.offset)
            } else {
                try context.tolerate(.tagRepeated, "tag appears twice", at: line.offset)
            }
        }
        once |= Self.bit(tag)
        switch tag {
        case .version:
            playlist.version = Int(clamping: try context.integer(bytes, value, line, .versionInvalid) ?? UInt64(playlist.version))
        case .targetDuration:
            guard let seconds = try context.integer(bytes, value, line) else { return }
            playlist.targetDuration = seconds
            hasTarget = true
        case .mediaSequence:
            guard records.list.isEmpty else { throw line.malformed("media sequence comes after a segment") }
            playlist.mediaSequence = try context.integer(bytes, value, line) ?? playlist.mediaSequence
        case .discontinuitySequence:
            guard records.list.isEmpty, !discontinuity else {
                return try context.tolerate(.discontinuitySequenceLate, "discontinuity sequence comes late", at: line.offset)
            }
            playlist.discontinuitySequence = try context.integer(bytes, value, line) ?? playlist.discontinuitySequence
        case .endList: playlist.isEnded = true
        case .playlistType:
            guard
                let kind = value.flatMap({ MediaPlaylist.Kind(rawValue: bytes.text(context.isLenient ? bytes.trimmed($0) : $0)) })
            else {
                return try context.tolerate(.tagInvalid, "playlist type is neither EVENT nor VOD", at: line.offset)
            }
            playlist.kind = kind
        case .iFramesOnly:
            playlist.iFramesOnly = true
            need(4, "I-frame playlists need version 4", line)
        case .imagesOnly: playlist.imagesOnly = true
        case .independentSegments: playlist.independentSegments = true
        case .start: playlist.start = try context.newerAttributes(bytes, value, line).map(StartPoint.init)
        case .serverControl: playlist.serverControl = try context.newerAttributes(bytes, value, line).map(ServerControl.init)
        case .partInformation:
            playlist.partTarget = try context.newerAttributes(bytes, value, line)?.seconds("PART-TARGET")
        case .skip:
            guard let list = try context.newerAttributes(bytes, value, line) else { return }
            guard let count = list.integer("SKIPPED-SEGMENTS"), count < 1 << 40 else {
                return context.warnings.note(.tagInvalid, "skipped segments have no number", at: line.offset)
            }
            var skipped = SkippedSegments(count: count)
            skipped.attributes = list
            playlist.skipped = skipped
            needNewer(
                list["RECENTLY-REMOVED-DATERANGES"] == nil ? 9 : 10,
                "skipped segments need version 9, or 10 with date ranges",
                line
            )
        default: break
        }
    }

    private mutating func readDuration(_ bytes: RawSpan, _ value: Range<Int>?, _ line: PlaylistLine) throws(Malformed) {
        if hasDuration { try context.tolerate(.durationRepeated, "segment has two durations", at: line.offset) }
        guard let value else { throw line.malformed("duration is not ended by a comma") }
        var comma = value.lowerBound
        while comma < value.upperBound, bytes.u8(at: comma) != UInt8(ascii: ",") { comma += 1 }
        if comma == value.upperBound { try context.tolerate(.missingComma, "duration is not ended by a comma", at: line.offset) }
        var number = value.lowerBound..<comma
        var duration = DecimalInteger.parseMicroseconds(bytes, number)
        if duration == nil, context.isLenient {
            number = bytes.trimmed(number)
            duration = DecimalInteger.parseMicroseconds(bytes, number)
            if duration != nil { context.warnings.note(.blank, "number has spaces beside it", at: line.offset) }
        }
        guard let duration else {
            // the target duration stands for it once the playlist is read
            return try context.tolerate(.durationMissing, "duration is not a number", at: line.offset)
        }
        if needed.version < 3 {
            for position in number where bytes.u8(at: position) == UInt8(ascii: ".") {
                need(3, "fractional durations need version 3", line)
            }
        }
        microseconds = duration
        hasDuration = true
        title = comma + 1 < value.upperBound ? TextRange(comma + 1..<value.upperBound) : .none
    }

    private mutating func readMap(_ bytes: RawSpan, _ value: Range<Int>?, _ line: PlaylistLine) throws(Malformed) {
        let list = try context.attributes(bytes, value, line)
        guard let uri = list["URI"]?.text, !uri.isEmpty else { throw line.malformed("initialization has no URI") }
        if list.quoted("URI") == nil { try context.tolerate(.quotation, "initialization has no URI", at: line.offset) }
        var initialization = MediaSegment.Initialization(uri: uri, keys: keysInForce(bytes))
        if let text = list["BYTERANGE"] {
            if case .bare = text { try context.tolerate(.quotation, "byte range is not one", at: line.offset) }
            guard let range = Self.byteRange(text.text) else { throw line.malformed("byte range is not one") }
            initialization.byteRange = MediaSegment.ByteRange(offset: range.offset ?? 0, length: range.length)
        }
        try context.keep(initialization.keys.count * MemoryLayout<EncryptionKey>.stride, line)
        self.initialization = initialization
        need(playlist.iFramesOnly ? 5 : 6, "initializations need version 6, or 5 in I-frame playlists", line)
    }

    private mutating func readPart(_ bytes: RawSpan, _ value: Range<Int>?, _ line: PlaylistLine) throws(Malformed) {
        guard let list = try context.newerAttributes(bytes, value, line) else { return }
        guard let uri = list["URI"]?.text, !uri.isEmpty, let duration = list.seconds("DURATION") else {
            return context.warnings.note(.tagInvalid, "part has no URI or duration", at: line.offset)
        }
        var part = PartialSegment(uri: uri, duration: duration)
        part.attributes = list
        if let text = list["BYTERANGE"] {
            if case .bare = text {
                context.warnings.note(.quotation, "byte range of a part has no quotation marks", at: line.offset)
            }
            guard let range = Self.byteRange(text.text) else { throw line.malformed("byte range is not one") }
            guard let offset = range.offset ?? lastPart.flatMap({ $0.uri == uri ? $0.end : nil }) else {
                throw line.malformed("byte range has no offset, and none goes before it")
            }
            let (end, over) = offset.addingReportingOverflow(range.length)
            guard !over else { throw line.malformed("byte range is not one") }
            part.byteRange = MediaSegment.ByteRange(offset: offset, length: range.length)
            lastPart = (uri, end)
        } else {
            lastPart = nil
        }
        details.parts.append(part)
        hasDetails = true
    }

    private mutating func finishSegment(_ bytes: RawSpan, _ line: PlaylistLine) throws(Malformed) {
        guard records.list.count < limit else { throw line.malformed("playlist has too many segments") }
        beginSegment(line)
        var uriRange = line.range
        if bytes.hasBlank(uriRange) {
            try context.tolerate(.blank, "URI holds a blank", at: line.offset)
            uriRange = bytes.trimmed(uriRange)
        }
        if !hasDuration {
            guard context.isLenient else { throw line.malformed("segment has no duration") }
            context.warnings.note(.durationMissing, "segment has no duration", at: line.offset)
            withoutDuration.append(records.list.count)
        }
        var record = SegmentRecords.Record(
            microseconds: microseconds,
            uri: uriRange,
            title: title,
            lines: passageStart,
            date: date
        )
        record.discontinuity = discontinuity
        record.isGap = isGap
        if !context.variables.isEmpty {
            let uri = bytes.text(uriRange)
            let expanded = try context.expand(uri, line)
            if expanded != uri {
                record.address = Int32(clamping: records.addresses.count)
                records.addresses.append(expanded)
            }
        }
        try keepState(line)
        record.state = Int32(clamping: records.states.count - 1)
        if let range {
            guard let offset = range.offset ?? endOfLast(record) else {
                throw line.malformed("byte range has no offset, and none goes before it")
            }
            guard !offset.addingReportingOverflow(range.length).overflow else { throw line.malformed("byte range is not one") }
            (record.offset, record.length, record.hasRange) = (offset, range.length, true)
            self.range = nil
        }
        if hasDetails, details != SegmentDetails.Values() {
            try context.keep(128, line)
            record.details = Int32(clamping: records.details.count)
            records.details.append(SegmentDetails(details))
        }
        let seconds = UInt64(clamping: (microseconds + 500_000) / 1_000_000)
        if seconds > longest.seconds {
            longest = (seconds, line.offset)
            // the first above any target duration is one of those above all before them
            if longer.count < 1000 { longer.append(longest) }
        }
        records.list.append(record)
        microseconds = 0
        discontinuity = false
        isGap = false
        if hasDetails {
            details = SegmentDetails.Values()
            hasDetails = false
        }
        hasDuration = false
        title = .none
        date = 0..<0
        passageStart = line.next
        records.end = passageStart
    }

    /// The end of the range of the segment before, when it is of the same resource.
    private func endOfLast(_ record: SegmentRecords.Record) -> UInt64? {
        if let last = records.list.last {
            return last.hasRange && records.isSameAddress(last, record) ? last.offset + last.length : nil
        }
        guard let before, before.uri == records.uri(record) else { return nil }
        return before.byteRange.map { $0.offset + $0.length }
    }

    /// `length[@offset]` (§4.3.2.2).
    private static func byteRange(_ bytes: RawSpan, _ value: Range<Int>) -> (length: UInt64, offset: UInt64?)? {
        var at = value.lowerBound
        while at < value.upperBound, bytes.u8(at: at) != UInt8(ascii: "@") { at += 1 }
        guard let length = DecimalInteger.parse(bytes, value.lowerBound..<at) else { return nil }
        guard at < value.upperBound else { return (length, nil) }
        guard let offset = DecimalInteger.parse(bytes, at + 1..<value.upperBound) else { return nil }
        return (length, offset)
    }

    private static func byteRange(_ text: String) -> (length: UInt64, offset: UInt64?)? {
        let bytes = Array(text.utf8)
        return byteRange(bytes.rawSpan, bytes.indices)
    }

    /// Records the version required by a tag that RFC 8216 does not define; a lower declared version is a warning.
    private mutating func needNewer(_ version: Int, _ why: String, _ line: PlaylistLine) {
        newerNeeds.append((version, why, line.offset))
    }

    mutating func need(_ version: Int, _ why: String, _ line: PlaylistLine) {
        if version > needed.version { needed = (version, why, line.offset) }
    }
}
