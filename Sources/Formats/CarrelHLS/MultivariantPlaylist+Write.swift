// SPDX-License-Identifier: Apache-2.0

extension MultivariantPlaylist {
    /// A playlist that wraps one media playlist.
    ///
    /// - Parameters:
    ///   - mediaURI: the URI of the media playlist.
    ///   - bandwidth: its peak segment bit rate, bits per second.
    ///   - averageBandwidth: its average segment bit rate, bits per second.
    ///   - codecs: the codecs (RFC 6381).
    ///   - independentSegments: whether each segment decodes without the others.
    ///   - sessionData: chapters, cover and the like.
    /// - Returns: the text.
    /// - Throws: if a playlist cannot contain a URI or string.
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

    /// Returns the playlist as text: unchanged lines verbatim, including unknown tags and comments.
    ///
    /// Under the rules of ``PlaylistRules/compatible`` every line is new: unknown tags and comments are left out.
    ///
    /// - Parameters:
    ///   - rules: the output rules; RFC 8216 by default.
    ///   - isEnded: whether the media playlists are complete; RFC 8216 has no tag for it.
    /// - Returns: the text.
    /// - Throws: if a playlist cannot contain a URI or string.
    package func write(rules: PlaylistRules = .rfc, isEnded: Bool = false) throws(PlaylistError) -> [UInt8] {
        guard rules == .compatible else {
            var writer = MultivariantPlaylistWriter(self)
            try writer.write()
            return writer.out
        }
        var playlist = self
        playlist.source.place = nil
        for index in playlist.variants.indices {
            var attributes = AttributeList()
            attributes["PROGRAM-ID"] = .bare("1")
            attributes["BANDWIDTH"] = .bare(String(playlist.variants[index].bandwidth))
            for attribute in playlist.variants[index].attributes.attributes where attributes[attribute.name] == nil {
                attributes[attribute.name] = attribute.value
            }
            playlist.variants[index].attributes = attributes
        }
        var writer = MultivariantPlaylistWriter(playlist)
        try writer.write()
        return writer.out + (isEnded ? Array("#EXT-X-ENDLIST\n".utf8) : [])
    }
}
