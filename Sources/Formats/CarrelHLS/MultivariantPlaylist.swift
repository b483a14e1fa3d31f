// SPDX-License-Identifier: Apache-2.0

/// A multivariant playlist (RFC 8216 §4.3.4, which calls it master playlist).
package struct MultivariantPlaylist: Sendable, Hashable {
    /// One way to play the presentation (EXT-X-STREAM-INF, §4.3.4.2).
    package struct Variant: Sendable, Hashable {
        package var uri: String
        /// The peak segment bit rate, bits per second.
        package var bandwidth: UInt64
        /// The average segment bit rate, bits per second.
        package var averageBandwidth: UInt64?
        /// Codecs as RFC 6381 names them, separated by commas.
        package var codecs: String?
        /// All attributes as read; those above win when they are written.
        package var attributes = AttributeList()
        var source = Provenance<PlaylistPassage>()

        package init(uri: String, bandwidth: UInt64, averageBandwidth: UInt64? = nil, codecs: String? = nil) {
            self.uri = uri
            self.bandwidth = bandwidth
            self.averageBandwidth = averageBandwidth
            self.codecs = codecs
        }

        /// Width and height in pixels.
        package var resolution: (width: UInt64, height: UInt64)? { attributes.resolution("RESOLUTION") }
        /// Frames per second, as written.
        package var frameRate: String? { attributes.bare("FRAME-RATE") }
        /// The group of renditions of a kind, such as AUDIO or SUBTITLES.
        package func group(_ kind: String) -> String? { attributes.quoted(kind) }
    }

    /// Another form of the same content (EXT-X-MEDIA, §4.3.4.1).
    package struct Rendition: Sendable, Hashable {
        /// All attributes of the tag.
        package var attributes: AttributeList
        var source = Provenance<PlaylistPassage>()

        package init(_ attributes: AttributeList) {
            self.attributes = attributes
        }

        /// AUDIO, VIDEO, SUBTITLES or CLOSED-CAPTIONS.
        package var kind: String { attributes["TYPE"]?.text ?? "" }
        package var groupID: String { attributes["GROUP-ID"]?.text ?? "" }
        package var name: String { attributes["NAME"]?.text ?? "" }
        /// The address; nil if the variant itself contains the rendition.
        package var uri: String? { attributes["URI"]?.text }
        package var language: String? { attributes["LANGUAGE"]?.text }
        package var isDefault: Bool { attributes.isYes("DEFAULT") }
        package var isAutoselect: Bool { attributes.isYes("AUTOSELECT") }
        package var isForced: Bool { attributes.isYes("FORCED") }
        package var characteristics: String? { attributes["CHARACTERISTICS"]?.text }
        package var channels: String? { attributes["CHANNELS"]?.text }
    }

    /// A variant of single pictures: I-frames (EXT-X-I-FRAME-STREAM-INF, §4.3.4.3) or thumbnails (EXT-X-IMAGE-STREAM-INF).
    package struct PictureVariant: Sendable, Hashable {
        /// All attributes of the tag.
        package var attributes: AttributeList
        var source = Provenance<PlaylistPassage>()

        package init(_ attributes: AttributeList) {
            self.attributes = attributes
        }

        package var uri: String { attributes["URI"]?.text ?? "" }
        /// Bits per second.
        package var bandwidth: UInt64? { attributes.integer("BANDWIDTH") }
        package var resolution: (width: UInt64, height: UInt64)? { attributes.resolution("RESOLUTION") }
    }

    /// Data about the presentation (EXT-X-SESSION-DATA, §4.3.4.4).
    package struct SessionData: Sendable, Hashable {
        /// The holder of the data.
        package enum Content: Sendable, Hashable {
            /// The text itself.
            case value(String)
            /// The URI of the data.
            case uri(String)
        }

        /// A reverse domain name, such as `com.apple.hls.chapters`.
        package var id: String
        package var content: Content
        /// The language of the text (RFC 5646).
        package var language: String?
        /// Attributes other than those above.
        package var otherAttributes = AttributeList()
        var source = Provenance<PlaylistPassage>()

        package init(id: String, _ content: Content, language: String? = nil) {
            self.id = id
            self.content = content
            self.language = language
        }

        /// The attributes of the tag.
        var attributes: AttributeList {
            var list = AttributeList()
            list["DATA-ID"] = .quoted(id)
            switch content {
            case .value(let text): list["VALUE"] = .quoted(text)
            case .uri(let uri): list["URI"] = .quoted(uri)
            }
            if let language { list["LANGUAGE"] = .quoted(language) }
            for attribute in otherAttributes.attributes { list[attribute.name] = attribute.value }
            return list
        }
    }

    /// A key to fetch early (EXT-X-SESSION-KEY, §4.3.4.5), with its place in the text.
    struct SessionKeyLine: Sendable {
        let key: EncryptionKey
        let passage: PlaylistPassage
    }

    /// EXT-X-VERSION; 1 when the tag is absent.
    package var version = 1
    /// Whether each segment of every variant decodes without the others.
    package var independentSegments = false
    package var start: StartPoint?
    package var variables: [PlaylistVariable] = []
    package var variants: [Variant] = []
    package var sessionData: [SessionData] = []
    package var renditions: [Rendition] = []
    package var iFrameVariants: [PictureVariant] = []
    package var imageVariants: [PictureVariant] = []
    /// Keys to fetch early (EXT-X-SESSION-KEY, §4.3.4.5).
    package var sessionKeys: [EncryptionKey] = []
    /// The content steering server, which selects pathways (draft-pantos-hls-rfc8216bis §4.4.6.6, EXT-X-CONTENT-STEERING).
    package var contentSteering: AttributeList?
    var source = Provenance<MultivariantPlaylistSource>()

    package init(variants: [Variant] = []) {
        self.variants = variants
    }

    /// The values of variables that media playlists may import.
    package var exportedVariables: [PlaylistVariable] { variables }
}

/// The text of a multivariant playlist that was read.
final class MultivariantPlaylistSource: Sendable {
    let text: ParsedPlaylistText
    /// The playlist as it was read.
    let original: MultivariantPlaylist
    /// The line of each of its session keys.
    let sessionKeys: [MultivariantPlaylist.SessionKeyLine]

    init(text: ParsedPlaylistText, original: MultivariantPlaylist, sessionKeys: [MultivariantPlaylist.SessionKeyLine]) {
        self.text = text
        self.original = original
        self.sessionKeys = sessionKeys
    }
}
