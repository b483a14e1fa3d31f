import CarrelBytes
import CarrelHLS
import CarrelJSON
import CarrelTesting
import Testing

/// Playlists that others made, with what another parser made of them.
struct `Playlists found elsewhere` {
    /// Valid by the specification, among them unusual ones.
    static let valid = [
        "hls/aac-packed-bigseq", "hls/aac-packed-explicit-iv", "hls/aac-ts-rot-explicit", "hls/av-ts-implicit-iv",
        "hls/mp3-packed-byterange", "hls/mp3-packed-implicit-iv", "hls/mp3-packed-rot-seq100", "hls/mp3-ts-implicit-iv",
        "hls/sample-aes/iframes", "hls/sample-aes/stream", "playlists/m3u8-parser/absoluteUris",
        "playlists/m3u8-parser/allowCache", "playlists/m3u8-parser/diff-init-key", "playlists/m3u8-parser/disc-sequence",
        "playlists/m3u8-parser/discontinuity", "playlists/m3u8-parser/domainUris", "playlists/m3u8-parser/encrypted",
        "playlists/m3u8-parser/event", "playlists/m3u8-parser/fmp4", "playlists/m3u8-parser/iFramesOnly",
        "playlists/m3u8-parser/media", "playlists/m3u8-parser/missingEndlist", "playlists/m3u8-parser/playlist",
    ]

    /// Invalid on purpose, as their names say.
    static let invalid = [
        "emptyMediaSequence", "emptyPlaylistType", "emptyTargetDuration", "invalidMediaSequence", "invalidPlaylistType",
        "invalidTargetDuration", "manifestExtTTargetdurationNegative", "manifestNoExtM3u", "missingExtinf",
        "missingSegmentDuration", "multipleTargetDurations", "negativeMediaSequence", "streamInfInvalid", "twoMediaSequences",
        "versionInvalid", "headerOnly", "empty",
    ]

    @Test(arguments: invalid)
    func `are refused when they are invalid`(name: String) throws {
        let bytes = try Fixtures.bytes("media/playlists/m3u8-parser/\(name).m3u8")
        #expect(throws: Malformed.self) { try Playlist.parse(bytes.rawSpan) }
    }

    @Test(arguments: valid)
    func `are read as another parser reads them`(name: String) throws {
        let playlist = try media(try Fixtures.bytes("media/\(name).m3u8"))
        let peerBytes = try Fixtures.bytes("media/\(name).m3u8.peer.json")
        let peer = try #require(try JSON.parse(peerBytes.rawSpan)["manifest"])
        let segments = peer["segments"]?.array ?? []
        #expect(playlist.segments.map(Facts.init) == segments.map(Facts.init))
        #expect(Int(playlist.targetDuration) == peer["targetDuration"]?.int)
        #expect(playlist.isEnded == (peer["endList"]?.bool ?? false))
        #expect(try media(try playlist.write()) == playlist)
    }

    private func media(_ bytes: [UInt8]) throws -> MediaPlaylist {
        guard case .media(let playlist) = try Playlist.parse(bytes.rawSpan) else {
            throw Malformed("playlist is not a media playlist", at: 0)
        }
        return playlist
    }

    /// What both parsers say about a segment.
    struct Facts: Equatable {
        var uri: String?
        var microseconds: Int64?
        var offset: Int?
        var length: Int?
        var key: String?
        var vector: String?

        init(_ segment: MediaSegment) {
            uri = segment.uri
            microseconds = Int64(segment.duration / .microseconds(1))
            offset = segment.byteRange.map { Int($0.offset) }
            length = segment.byteRange.map { Int($0.length) }
            key = segment.keys.first?.uri
            vector = segment.keys.first?.initializationVector.map { Hex.encode($0) }
        }

        init(_ peer: JSON) {
            uri = peer["uri"]?.string
            microseconds = peer["duration"]?.double.map { Int64(($0 * 1e6).rounded()) }
            offset = peer["byterange"]?["offset"]?.int
            length = peer["byterange"]?["length"]?.int
            key = peer["key"]?["uri"]?.string
            // the peer prints four words in the order of its machine
            let words = peer["key"]?["iv"]?["hex"]?.string.flatMap { Hex.decode($0) }
            vector = words.map { words in Hex.encode(words.indices.map { words[$0 ^ 3] }) }
        }
    }
}
