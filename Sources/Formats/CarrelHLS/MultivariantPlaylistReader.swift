// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// Reads a multivariant playlist line by line.
struct MultivariantPlaylistReader {
    private var playlist = MultivariantPlaylist()
    private var context: PlaylistContext
    private var once: UInt64 = 0
    private var names: Set<[String?]> = []  // of session data
    private var keys: Set<EncryptionKey> = []
    private var keyLines: [MultivariantPlaylist.SessionKeyLine] = []
    private var variant: (attributes: AttributeList, line: PlaylistLine)?  // whose URI has not come yet

    static func read(
        _ bytes: RawSpan,
        from first: Int,
        _ context: inout PlaylistContext,
        limit: Int
    ) throws(Malformed) -> MultivariantPlaylist {
        var reader = MultivariantPlaylistReader(context: context)
        var next = first
        var linesLeft = limit &* 8 &+ 1000
        while next < bytes.byteCount {
            let line = PlaylistLine(bytes, at: next)
            next = line.next
            guard !line.isBlank(bytes) else { continue }
            linesLeft &-= 1
            guard linesLeft > 0 else { throw line.malformed("playlist has too many lines") }
            guard reader.count <= limit else { throw line.malformed("playlist has too many entries") }
            if let (tag, value) = line.tag(bytes) {
                if reader.variant != nil, tag.scope != .unknown || !reader.context.isLenient {
                    throw line.malformed("variant is not followed by its URI")
                }
                try reader.read(tag, bytes, value, line)
            } else if bytes.u8(at: line.offset) != UInt8(ascii: "#") {
                try reader.finishVariant(bytes, line)
            }
        }
        guard reader.variant == nil else { throw Malformed("variant is not followed by its URI", at: bytes.byteCount) }
        context = reader.context
        let original = reader.playlist
        reader.playlist.source.place = MultivariantPlaylistSource(
            text: context.text,
            original: original,
            sessionKeys: reader.keyLines
        )
        return reader.playlist
    }

    private init(context: PlaylistContext) {
        self.context = context
    }

    private var count: Int {
        playlist.variants.count + playlist.renditions.count + playlist.sessionData.count + playlist.sessionKeys.count
            + playlist.iFrameVariants.count + playlist.imageVariants.count + playlist.variables.count
    }

    private func passage(_ line: PlaylistLine, from start: Int? = nil) -> PlaylistPassage {
        PlaylistPassage(text: context.text, range: (start ?? line.offset)..<line.next)
    }

    private mutating func read(
        _ tag: PlaylistTag,
        _ bytes: RawSpan,
        _ value: Range<Int>?,
        _ line: PlaylistLine
    ) throws(Malformed) {
        if tag.scope == .media { throw line.malformed("tag belongs to a media playlist") }
        switch tag {
        case .variant:
            let list = try context.attributes(bytes, value, line)
            guard list.integer("BANDWIDTH") != nil else { throw line.malformed("variant has no bandwidth") }
            variant = (list, line)
        case .iFrameVariant:
            let list = try context.attributes(bytes, value, line)
            guard list.quoted("URI") != nil else { throw line.malformed("I-frame variant has no bandwidth or URI") }
            if list.integer("BANDWIDTH") == nil {
                try context.tolerate(.entryIncomplete, "I-frame variant has no bandwidth or URI", at: line.offset)
            }
            var variant = MultivariantPlaylist.PictureVariant(list)
            variant.source.place = passage(line)
            playlist.iFrameVariants.append(variant)
        case .imageVariant:
            guard let list = try context.newerAttributes(bytes, value, line) else { return }
            guard list.quoted("URI") != nil else {
                return context.warnings.note(.entryIncomplete, "image variant has no URI", at: line.offset)
            }
            var variant = MultivariantPlaylist.PictureVariant(list)
            variant.source.place = passage(line)
            playlist.imageVariants.append(variant)
        case .rendition:
            let list = try context.attributes(bytes, value, line)
            if list.bare("TYPE") == nil || list.quoted("GROUP-ID") == nil || list.quoted("NAME") == nil {
                try context.tolerate(.entryIncomplete, "rendition has no type, group or name", at: line.offset)
                guard list["TYPE"] != nil else { return }
            }
            var rendition = MultivariantPlaylist.Rendition(list)
            rendition.source.place = passage(line)
            playlist.renditions.append(rendition)
        case .sessionData: try readSessionData(bytes, value, line)
        case .sessionKey:
            guard let key = try context.key(bytes, value, line) else {
                return try context.tolerate(.keyNone, "session key has method NONE", at: line.offset)
            }
            guard keys.insert(key).inserted else {
                return try context.tolerate(.entryRepeated, "session key appears twice", at: line.offset)
            }
            playlist.sessionKeys.append(key)
            keyLines.append(.init(key: key, passage: passage(line)))
        case .define:
            if let variable = try context.define(bytes, value, line, canImport: false) { playlist.variables.append(variable) }
        case .version, .independentSegments, .start, .contentSteering: try readOnce(tag, bytes, value, line)
        default: break
        }
    }

    private mutating func readOnce(
        _ tag: PlaylistTag,
        _ bytes: RawSpan,
        _ value: Range<Int>?,
        _ line: PlaylistLine
    ) throws(Malformed) {
        let bit: UInt64 = 1 << UInt64(tag.rawValue)
        if once & bit != 0 {
            if tag == .contentSteering {
                context.warnings.note(.tagRepeated, "tag appears twice", at: line.offset)
            } else {
                try context.tolerate(.tagRepeated, "tag appears twice", at: line.offset)
            }
        }
        once |= bit
        switch tag {
        case .version:
            playlist.version = Int(clamping: try context.integer(bytes, value, line, .versionInvalid) ?? UInt64(playlist.version))
        case .independentSegments: playlist.independentSegments = true
        case .start: playlist.start = try context.newerAttributes(bytes, value, line).map(StartPoint.init)
        default: playlist.contentSteering = try context.newerAttributes(bytes, value, line)
        }
    }

    private mutating func readSessionData(_ bytes: RawSpan, _ value: Range<Int>?, _ line: PlaylistLine) throws(Malformed) {
        var list = try context.attributes(bytes, value, line)
        guard let id = list.quoted("DATA-ID") else {
            return try context.tolerate(.entryIncomplete, "session data has no identifier", at: line.offset)
        }
        let content: MultivariantPlaylist.SessionData.Content
        switch (list.quoted("VALUE"), list.quoted("URI")) {
        case (let text?, nil): content = .value(text)
        case (nil, let uri?): content = .uri(uri)
        default:
            return try context.tolerate(.entryIncomplete, "session data has not one of value and URI", at: line.offset)
        }
        var data = MultivariantPlaylist.SessionData(id: id, content, language: list.quoted("LANGUAGE"))
        if !names.insert([data.id, data.language]).inserted {
            return try context.tolerate(.entryRepeated, "session data appears twice", at: line.offset)
        }
        for name in ["DATA-ID", "VALUE", "URI"] { list[name] = nil }
        if data.language != nil { list["LANGUAGE"] = nil }
        data.otherAttributes = list
        data.source.place = passage(line)
        playlist.sessionData.append(data)
    }

    private mutating func finishVariant(_ bytes: RawSpan, _ line: PlaylistLine) throws(Malformed) {
        guard let (list, first) = variant, let bandwidth = list.integer("BANDWIDTH") else {
            return try context.tolerate(.entryIncomplete, "URI has no variant before it", at: line.offset)
        }
        var uriRange = line.range
        if bytes.hasBlank(uriRange) {
            try context.tolerate(.blank, "URI holds a blank", at: line.offset)
            uriRange = bytes.trimmed(uriRange)
        }
        var variant = MultivariantPlaylist.Variant(
            uri: try context.expand(bytes.text(uriRange), line),
            bandwidth: bandwidth,
            averageBandwidth: list.integer("AVERAGE-BANDWIDTH"),
            codecs: list.quoted("CODECS")
        )
        variant.attributes = list
        variant.source.place = passage(line, from: first.offset)
        playlist.variants.append(variant)
        self.variant = nil
    }
}
