// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// Writes a media playlist: unchanged lines verbatim, and new lines for everything else.
struct MediaPlaylistWriter {
    private(set) var out: [UInt8] = []
    private let playlist: MediaPlaylist
    private let rules: PlaylistRules
    private let source: MediaPlaylistSource?
    /// The state that a reader of the output has before the first segment.
    private var initialState: MediaPlaylist
    /// The last part of the segments that are written.
    private var lastPart: PartialSegment?
    /// Fields of the playlist that are already written, or have a line that is kept.
    private var settled: Set<MediaPlaylistField> = []

    init(_ playlist: MediaPlaylist, _ rules: PlaylistRules = .rfc) {
        self.playlist = playlist
        self.rules = rules
        source = playlist.source.place
        initialState = source?.original ?? MediaPlaylist(targetDuration: playlist.targetDuration)
        initialState.variables = playlist.variables
        initialState.iFramesOnly = playlist.iFramesOnly
        out.reserveCapacity(source.map { $0.text.bytes.count } ?? 256 + playlist.segments.count * 72)
    }

    mutating func write() throws(PlaylistError) {
        try writeHead()
        var last: MediaSegment?
        for segment in playlist.segments {
            try write(segment, after: last)
            last = segment
            if let part = segment.parts.last { lastPart = part }
        }
        try writeEnd()
    }

    private mutating func writeHead() throws(PlaylistError) {
        guard let source else {
            out.append(line: "#EXTM3U")
            for field in MediaPlaylistField.allCases where field.isOfHead { try field.write(playlist, to: &out) }
            return
        }
        let stored = source.text.bytes
        let bytes = stored.rawSpan
        let retained = keptFields(source)
        var next = source.header.lowerBound
        var isFirst = true
        while next < source.header.upperBound {
            let line = PlaylistLine(bytes, at: next)
            next = line.next
            try write(line, bytes, source)
            guard isFirst, !line.isBlank(bytes) else { continue }
            isFirst = false  // #EXTM3U itself
            for field in MediaPlaylistField.allCases where field.isOfHead && !retained.contains(field) {
                if !field.isEqual(playlist, MediaPlaylist(targetDuration: playlist.targetDuration))
                    || field == .targetDuration && !isSame(field, source)
                {
                    try field.write(playlist, to: &out)
                }
                settled.insert(field)
            }
        }
    }

    /// Fields that have a line in the kept text.
    private func keptFields(_ source: MediaPlaylistSource) -> Set<MediaPlaylistField> {
        var fields: Set<MediaPlaylistField> = []
        let stored = source.text.bytes
        let bytes = stored.rawSpan
        func look(_ range: Range<Int>) {
            var next = range.lowerBound
            while next < range.upperBound {
                let line = PlaylistLine(bytes, at: next)
                next = line.next
                if let tag = line.tag(bytes)?.tag, let field = MediaPlaylistField(tag) { fields.insert(field) }
            }
        }
        look(source.header)
        look(source.trailer)
        for segment in playlist.segments {
            if segment.text === source.text { look(segment.lines) }
        }
        return fields
    }

    private func isSame(_ field: MediaPlaylistField, _ source: MediaPlaylistSource) -> Bool {
        field.isEqual(playlist, source.original)
    }

    /// Writes a line outside segments.
    private mutating func write(_ line: PlaylistLine, _ bytes: RawSpan, _ source: MediaPlaylistSource) throws(PlaylistError) {
        guard let tag = line.tag(bytes)?.tag, let field = MediaPlaylistField(tag), !isSame(field, source) else {
            return out.append(lines: line.offset..<line.next, of: source.text)
        }
        if settled.insert(field).inserted { try field.write(playlist, to: &out) }
    }

    private mutating func writeEnd() throws(PlaylistError) {
        guard let source else {
            for field in MediaPlaylistField.allCases where !field.isOfHead { try field.write(playlist, to: &out) }
            return
        }
        let stored = source.text.bytes
        let bytes = stored.rawSpan
        let retained = keptFields(source)
        for field in [MediaPlaylistField.trailingDateRanges, .trailingParts] where !isSame(field, source) {
            try field.write(playlist, to: &out)
        }
        var next = source.trailer.lowerBound
        while next < source.trailer.upperBound {
            let line = PlaylistLine(bytes, at: next)
            next = line.next
            switch line.tag(bytes)?.tag {
            case .dateRange where !isSame(.trailingDateRanges, source): continue
            case .part where !isSame(.trailingParts, source): continue
            default: break
            }
            // before the end tag, which remains the last line
            if line.tag(bytes)?.tag == .endList { try writeMissing([.preloadHints, .renditionReports], retained, source) }
            try write(line, bytes, source)
        }
        try writeMissing([.preloadHints, .renditionReports, .isEnded], retained, source)
    }

    private mutating func writeMissing(
        _ fields: [MediaPlaylistField],
        _ retained: Set<MediaPlaylistField>,
        _ source: MediaPlaylistSource
    ) throws(PlaylistError) {
        for field in fields where !retained.contains(field) && settled.insert(field).inserted {
            try field.write(playlist, to: &out)
        }
    }

    private mutating func write(_ segment: MediaSegment, after last: MediaSegment?) throws(PlaylistError) {
        let before = last ?? MediaSegment(uri: "", duration: .zero)
        guard rules == .rfc, let text = segment.text else {
            try checkDuration(segment)
            for field in MediaSegmentField.allCases {
                if rules == .compatible, field == .duration {
                    out.append(line: "#EXTINF:\(segment.duration.secondsRoundedUp),\(segment.title)")
                    continue
                }
                try field.write(segment, after: before, version: playlist.version, to: &out)
            }
            return
        }
        let passage = PlaylistPassage(text: text, range: segment.lines)
        let isHome = source.map { $0.text === text } ?? false
        let original = MediaPlaylistReader.read(passage, after: last, part: lastPart, in: initialState)
        let isTargetSame = source.map { isSame(.targetDuration, $0) } ?? false
        if original.map({ $0.duration != segment.duration }) ?? true || !isTargetSame { try checkDuration(segment) }
        try write(segment, original, passage, after: before, isHome: isHome)
    }

    private func checkDuration(_ segment: MediaSegment) throws(PlaylistError) {
        guard segment.duration.roundedSeconds <= playlist.targetDuration else {
            throw PlaylistError(.contradiction, "a segment is longer than the target duration")
        }
    }

    /// Writes a segment line by line.
    ///
    /// - Parameters:
    ///   - segment: the current segment.
    ///   - original: the segment as its lines define it; nil if they do not form one after the previous segment.
    ///   - passage: the lines.
    ///   - before: the previous segment, as written.
    ///   - isHome: whether the lines are this playlist's own text, so that tags of the whole playlist among them count.
    /// - Throws: if a playlist cannot contain a URI or string.
    private mutating func write(
        _ segment: MediaSegment,
        _ original: MediaSegment?,
        _ passage: PlaylistPassage,
        after before: MediaSegment,
        isHome: Bool
    ) throws(PlaylistError) {
        let changedFields = MediaSegmentField.allCases.filter { field in original.map { !field.isEqual($0, segment) } ?? true }
        let stored = passage.text.bytes
        let bytes = stored.rawSpan
        if changedFields.isEmpty, isHome, !hasTagsOfPlaylist(passage) {
            return out.append(lines: passage.range, of: passage.text)
        }
        var writtenFields: Set<MediaSegmentField> = []
        var lines: Set<MediaSegmentField> = []
        var next = passage.range.lowerBound
        while next < passage.range.upperBound {
            let line = PlaylistLine(bytes, at: next)
            next = line.next
            if let tag = line.tag(bytes)?.tag, let field = MediaSegmentField(tag) { lines.insert(field) }
        }
        if lines.contains(.initialization) { lines.insert(.keys) }
        next = passage.range.lowerBound
        while next < passage.range.upperBound {
            let line = PlaylistLine(bytes, at: next)
            next = line.next
            let isURI = line.next == passage.range.upperBound
            let tag = line.tag(bytes)?.tag
            if let tag, MediaPlaylistField(tag) != nil {
                guard isHome, let source else { continue }
                try write(line, bytes, source)
                continue
            }
            guard let field = isURI ? .uri : tag.flatMap({ MediaSegmentField($0) }) else {
                out.append(lines: line.offset..<line.next, of: passage.text)
                continue
            }
            if field == .duration || field == .uri {
                // fields without a line are inserted before this one
                for missing in changedFields
                where !lines.contains(missing) && missing != .uri && writtenFields.insert(missing).inserted {
                    guard missing != .byteRange || field == .uri || !lines.contains(.duration) else {
                        writtenFields.remove(missing)
                        continue
                    }
                    try missing.write(segment, after: before, version: playlist.version, to: &out)
                }
            }
            guard changedFields.contains(field) else {
                out.append(lines: line.offset..<line.next, of: passage.text)
                continue
            }
            let whole = field == .initialization ? .keys : field
            if writtenFields.insert(whole).inserted {
                try whole.write(segment, after: before, version: playlist.version, to: &out)
            }
        }
    }

    private func hasTagsOfPlaylist(_ passage: PlaylistPassage) -> Bool {
        let stored = passage.text.bytes
        let bytes = stored.rawSpan
        var next = passage.range.lowerBound
        while next < passage.range.upperBound {
            let line = PlaylistLine(bytes, at: next)
            next = line.next
            if let tag = line.tag(bytes)?.tag, MediaPlaylistField(tag) != nil { return true }
        }
        return false
    }
}
