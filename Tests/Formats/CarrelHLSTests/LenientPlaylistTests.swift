// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHLS
import Testing

struct `A lenient reading` {
    private func read(_ text: String, _ strictness: PlaylistStrictness = .lenient) throws(Malformed) -> PlaylistReading {
        let bytes = Array(text.utf8)
        return try Playlist.read(bytes.rawSpan, strictness: strictness)
    }

    private func media(_ text: String) throws -> (MediaPlaylist, [PlaylistWarning]) {
        let reading = try read(text)
        guard case .media(let playlist) = reading.playlist else { throw Malformed("playlist is not a media playlist", at: 0) }
        return (playlist, reading.warnings)
    }

    /// A body between the header and a segment, and the kinds of warnings it gives.
    static let tolerated: [(String, [PlaylistWarning.Code])] = [
        ("#EXTINF:1\na", [.missingComma]),
        ("#EXTINF:11,\na", [.durationAboveTarget]),
        ("#EXTINF: 1 ,\na", [.blank]),
        ("#EXTINF:x,\na", [.durationMissing, .durationMissing]),
        ("a", [.durationMissing]),
        ("#EXTINF:1,\n#EXTINF:2,\na", [.durationRepeated]),
        ("#EXTINF:1,\n a ", [.blank]),
        ("#EXTINF:1,\na\n#EXT-X-DISCONTINUITY", [.segmentIncomplete]),
        ("#EXT-X-TARGETDURATION:12\n#EXTINF:12,\na", [.tagRepeated]),
        ("#EXT-X-PLAYLIST-TYPE:vod\n#EXTINF:1,\na", [.tagInvalid]),
        ("#EXT-X-KEY:METHOD=AES-128, URI=\"k\"\n#EXTINF:1,\na", [.blank]),
        ("#EXT-X-KEY:METHOD=AES-128,URI=k\n#EXTINF:1,\na", [.quotation]),
        ("#EXT-X-KEY:METHOD=NONE,URI=\"k\"\n#EXTINF:1,\na", [.keyNone]),
        (
            "#EXT-X-KEY:METHOD=AES-128,URI=\"k\",IV=000102030405060708090a0b0c0d0e0f\n#EXTINF:1,\na",
            [.vectorPrefix]
        ),
        ("#EXT-X-MAP:URI=\"i\"\n#EXTINF:1,\na", [.versionTooLow]),
        ("#EXT-X-DISCONTINUITY\n#EXT-X-DISCONTINUITY-SEQUENCE:1\n#EXTINF:1,\na", [.discontinuitySequenceLate]),
    ]

    @Test(arguments: tolerated)
    func `warns of a breach that leaves the meaning plain, which a strict one refuses`(
        body: String,
        codes: [PlaylistWarning.Code]
    ) throws {
        let text = "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:10\n\(body)\n"
        let (playlist, warnings) = try media(text)
        #expect(warnings.map(\.code) == codes)
        #expect(playlist.segments.count == 1)
        #expect(playlist.segments.first?.uri == "a")
        #expect(throws: Malformed.self) { try read(text, .strict) }
        #expect(try playlist.write() == Array(text.utf8))
    }

    @Test func `takes the target duration for a duration that is missing`() throws {
        let (playlist, _) = try media("#EXTM3U\n#EXT-X-TARGETDURATION:7\na\n#EXTINF:2,\nb\n")
        #expect(playlist.segments.map(\.duration) == [.seconds(7), .seconds(2)])
    }

    @Test func `takes the longest duration for a target duration that is missing`() throws {
        let (playlist, warnings) = try media("#EXTM3U\n#EXT-X-VERSION:3\n#EXTINF:6.6,\na\n#EXTINF:2,\nb\n")
        #expect(playlist.targetDuration == 7)
        #expect(warnings.map(\.code) == [.targetDurationMissing])
    }

    @Test func `counts warnings of one kind instead of repeating them`() throws {
        let (_, warnings) = try media(
            "#EXTM3U\n#EXT-X-TARGETDURATION:1\n" + String(repeating: "#EXTINF:1\na\n", count: 1000)
        )
        #expect(warnings.map(\.count) == [1000])
        #expect(warnings.first?.offset == 32)
    }

    @Test func `and a strict one warn of a byte order mark alike`() throws {
        let text = "\u{feff}#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\na\n"
        for strictness in [PlaylistStrictness.strict, .lenient] {
            let reading = try read(text, strictness)
            #expect(reading.warnings.map(\.code) == [.byteOrderMark])
            guard case .media(let playlist) = reading.playlist else { throw Malformed("playlist is not a media playlist", at: 0) }
            #expect(try playlist.write() == Array(text.utf8))
        }
    }

    @Test(arguments: [
        "#EXT-X-TARGETDURATION:1\n#EXTINF:1,\na\n", " #EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\na\n",
        "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXT-X-KEY:METHOD=AES-128\n#EXTINF:1,\na\n",
        "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXT-X-KEY:METHOD=AES-128,URI=\"\"\n#EXTINF:1,\na\n",
        "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXT-X-KEY:METHOD=AES-128,URI=\"a\",URI=\"b\"\n#EXTINF:1,\na\n",
        "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXT-X-PART:DURATION=1,DURATION=1,URI=\"a\"\n#EXTINF:1,\na\n",
        "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXT-X-KEY:METHOD=AES-128,URI=\"a\",IV=0x0000000000000000000000000000000001\n#EXTINF:1,\na\n",
        "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n#EXT-X-BYTERANGE:5\na\n",
        "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n#EXT-X-BYTERANGE:5@0\na\n#EXTINF:1,\n#EXT-X-BYTERANGE:5\nb\n",
        "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXT-X-PART:DURATION=1,URI=\"a\",BYTERANGE=\"5\"\n#EXTINF:1,\na\n",
        "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\na\n#EXT-X-STREAM-INF:BANDWIDTH=1\nb\n",
        "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nb\n#EXT-X-ENDLIST\n",
        "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\na\n#EXT-X-MEDIA-SEQUENCE:4\n",
        "#EXTM3U\n#EXT-X-STREAM-INF:CODECS=\"x\"\na\n", "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=x\na\n", "#EXTM3U\n",
    ])
    func `never accepts what no reader can take`(text: String) {
        #expect(throws: Malformed.self) { try read(text, .lenient) }
        #expect(throws: Malformed.self) { try read(text, .strict) }
    }
}
