import CarrelBytes

/// Reads a multivariant playlist line by line.
struct MultivariantPlaylistReader {
    private var playlist = MultivariantPlaylist()
    private var once: Set<Substring> = []
    private var names: Set<[String?]> = []  // of session data
    private var keys: Set<EncryptionKey> = []
    private var variant: AttributeList?  // whose URI has not come yet

    static func read(_ lines: ArraySlice<PlaylistLine>, end: Int, limit: Int) throws(Malformed) -> MultivariantPlaylist {
        var reader = MultivariantPlaylistReader()
        for line in lines {
            guard reader.count <= limit else { throw line.malformed("playlist has too many entries") }
            if let tag = line.tag {
                guard reader.variant == nil else { throw line.malformed("variant is not followed by its URI") }
                try reader.read(tag.name, tag.value, line)
            } else if let uri = line.uri {
                try reader.finishVariant(uri, line)
            }
        }
        guard reader.variant == nil else { throw Malformed("variant is not followed by its URI", at: end) }
        return reader.playlist
    }

    private var count: Int {
        playlist.variants.count + playlist.renditions.count + playlist.sessionData.count + playlist.sessionKeys.count
            + playlist.iFrameVariants.count
    }

    private mutating func read(_ name: Substring, _ value: Substring?, _ line: PlaylistLine) throws(Malformed) {
        switch TagKind(of: name) {
        case .media: throw line.malformed("tag belongs to a media playlist")
        case .unknown: return
        case .multivariant, .either: break
        }
        switch name {
        case "EXT-X-STREAM-INF":
            let list = try line.attributes(value)
            guard list.integer("BANDWIDTH") != nil else { throw line.malformed("variant has no bandwidth") }
            variant = list
        case "EXT-X-I-FRAME-STREAM-INF":
            let list = try line.attributes(value)
            guard list.integer("BANDWIDTH") != nil, list.quoted("URI") != nil else {
                throw line.malformed("I-frame variant has no bandwidth or URI")
            }
            playlist.iFrameVariants.append(list)
        case "EXT-X-MEDIA":
            let list = try line.attributes(value)
            guard list.bare("TYPE") != nil, list.quoted("GROUP-ID") != nil, list.quoted("NAME") != nil else {
                throw line.malformed("rendition has no type, group or name")
            }
            playlist.renditions.append(list)
        case "EXT-X-SESSION-DATA": try readSessionData(value, line)
        case "EXT-X-SESSION-KEY":
            guard let key = try line.key(value) else { throw line.malformed("session key has method NONE") }
            guard keys.insert(key).inserted else { throw line.malformed("session key appears twice") }
            playlist.sessionKeys.append(key)
        default:
            guard once.insert(name).inserted else { throw line.malformed("tag appears twice") }
            if name == "EXT-X-VERSION" { playlist.version = Int(clamping: try line.integer(value)) }
            if name == "EXT-X-INDEPENDENT-SEGMENTS" { playlist.independentSegments = true }
        }
    }

    private mutating func readSessionData(_ value: Substring?, _ line: PlaylistLine) throws(Malformed) {
        let list = try line.attributes(value)
        guard let id = list.quoted("DATA-ID") else { throw line.malformed("session data has no identifier") }
        let content: MultivariantPlaylist.SessionData.Content
        switch (list.quoted("VALUE"), list.quoted("URI")) {
        case (let text?, nil): content = .value(text)
        case (nil, let uri?): content = .uri(uri)
        default: throw line.malformed("session data has not one of value and URI")
        }
        let data = MultivariantPlaylist.SessionData(id: id, content, language: list.quoted("LANGUAGE"))
        guard names.insert([data.id, data.language]).inserted else {
            throw line.malformed("session data appears twice")
        }
        playlist.sessionData.append(data)
    }

    private mutating func finishVariant(_ uri: String, _ line: PlaylistLine) throws(Malformed) {
        guard let list = variant, let bandwidth = list.integer("BANDWIDTH") else {
            throw line.malformed("URI has no variant before it")
        }
        guard !uri.utf8.contains(where: { $0 == 0x20 || $0 == 0x09 }) else { throw line.malformed("URI holds a blank") }
        var variant = MultivariantPlaylist.Variant(
            uri: uri,
            bandwidth: bandwidth,
            averageBandwidth: list.integer("AVERAGE-BANDWIDTH"),
            codecs: list.quoted("CODECS")
        )
        variant.attributes = list
        playlist.variants.append(variant)
        self.variant = nil
    }
}
