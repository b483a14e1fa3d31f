extension MultivariantPlaylist {
    /// A playlist that wraps one media playlist.
    ///
    /// - Parameters:
    ///   - mediaURI: of the media playlist.
    ///   - bandwidth: its peak segment bit rate, bits per second.
    ///   - averageBandwidth: its average segment bit rate, bits per second.
    ///   - codecs: as RFC 6381 names them.
    ///   - independentSegments: whether each segment decodes without the others.
    ///   - sessionData: chapters, cover and the like.
    /// - Returns: the text.
    /// - Throws: when a playlist cannot contain a URI or string.
    package static func write(
        mediaURI: String,
        bandwidth: Int,
        averageBandwidth: Int,
        codecs: String,
        independentSegments: Bool = false,
        sessionData: [SessionData] = []
    ) throws(PlaylistError) -> [UInt8] {
        let variant = Variant(
            uri: mediaURI,
            bandwidth: UInt64(max(0, bandwidth)),
            averageBandwidth: UInt64(max(0, averageBandwidth)),
            codecs: codecs
        )
        var playlist = MultivariantPlaylist(variants: [variant])
        playlist.version = 3
        playlist.independentSegments = independentSegments
        playlist.sessionData = sessionData
        return try playlist.write()
    }

    /// The playlist as text.
    ///
    /// - Throws: when a playlist cannot contain a URI or string.
    package func write() throws(PlaylistError) -> [UInt8] {
        var out: [UInt8] = []
        out.append(line: "#EXTM3U")
        if version > 1 { out.append(line: "#EXT-X-VERSION:\(version)") }
        if independentSegments { out.append(line: "#EXT-X-INDEPENDENT-SEGMENTS") }
        for data in sessionData {
            var list = AttributeList()
            list["DATA-ID"] = .quoted(data.id)
            switch data.content {
            case .value(let text): list["VALUE"] = .quoted(text)
            case .uri(let uri): list["URI"] = .quoted(uri)
            }
            if let language = data.language { list["LANGUAGE"] = .quoted(language) }
            out.append(line: "#EXT-X-SESSION-DATA:\(try list.text())")
        }
        for key in sessionKeys { out.append(line: "#EXT-X-SESSION-KEY:\(try key.attributes.text())") }
        for rendition in renditions { out.append(line: "#EXT-X-MEDIA:\(try rendition.text())") }
        for variant in variants {
            var list = variant.attributes
            list["BANDWIDTH"] = .bare(String(variant.bandwidth))
            if let average = variant.averageBandwidth { list["AVERAGE-BANDWIDTH"] = .bare(String(average)) }
            if let codecs = variant.codecs { list["CODECS"] = .quoted(codecs) }
            out.append(line: "#EXT-X-STREAM-INF:\(try list.text())")
            try out.append(uri: variant.uri)
        }
        for variant in iFrameVariants { out.append(line: "#EXT-X-I-FRAME-STREAM-INF:\(try variant.text())") }
        return out
    }
}
