// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHLS
import Testing

private func parse(_ text: String) throws(Malformed) -> Playlist {
    let bytes = Array(text.utf8)
    return try Playlist.parse(bytes.rawSpan)
}

private func media(_ text: String) throws -> MediaPlaylist {
    guard case .media(let playlist) = try parse(text) else { throw Malformed("playlist is not a media playlist", at: 0) }
    return playlist
}

struct `Playlists` {
    // RFC 8216 §8.1
    @Test func `a simple media playlist`() throws {
        let playlist = try media(
            """
            #EXTM3U
            #EXT-X-TARGETDURATION:10
            #EXT-X-VERSION:3
            #EXTINF:9.009,
            http://media.example.com/first.ts
            #EXTINF:9.009,
            http://media.example.com/second.ts
            #EXTINF:3.003,
            http://media.example.com/third.ts
            #EXT-X-ENDLIST
            """
        )
        #expect(playlist.version == 3)
        #expect(playlist.targetDuration == 10)
        #expect(playlist.isEnded)
        #expect(playlist.mediaSequence == 0)
        #expect(playlist.segments.map(\.duration) == [.milliseconds(9009), .milliseconds(9009), .milliseconds(3003)])
        #expect(playlist.segments.map(\.uri).last == "http://media.example.com/third.ts")
        #expect(playlist.duration == .milliseconds(21_021))
    }

    // RFC 8216 §8.3
    @Test func `a live playlist whose key changes`() throws {
        let playlist = try media(
            """
            #EXTM3U
            #EXT-X-VERSION:3
            #EXT-X-MEDIA-SEQUENCE:7794
            #EXT-X-TARGETDURATION:15

            #EXT-X-KEY:METHOD=AES-128,URI="https://priv.example.com/key.php?r=52"

            #EXTINF:2.833,
            http://media.example.com/fileSequence52-A.ts
            #EXTINF:15.0,
            http://media.example.com/fileSequence52-B.ts

            #EXT-X-KEY:METHOD=AES-128,URI="https://priv.example.com/key.php?r=53"

            #EXTINF:15.0,
            http://media.example.com/fileSequence53-A.ts
            """
        )
        #expect(!playlist.isEnded)
        #expect(playlist.mediaSequence == 7794)
        let keys = playlist.segments.map { $0.keys.map(\.uri) }
        let key = "https://priv.example.com/key.php?r="
        #expect(keys == [[key + "52"], [key + "52"], [key + "53"]])
        #expect(playlist.segments.allSatisfy { $0.keys.first?.method == .aes128 && $0.keys.first?.initializationVector == nil })
    }

    // RFC 8216 §8.4
    @Test func `a multivariant playlist`() throws {
        let text = """
            #EXTM3U\r
            #EXT-X-STREAM-INF:BANDWIDTH=1280000,AVERAGE-BANDWIDTH=1000000\r
            http://example.com/low.m3u8\r
            #EXT-X-STREAM-INF:BANDWIDTH=65000,CODECS="mp4a.40.5"\r
            http://example.com/audio-only.m3u8\r

            """
        guard case .multivariant(let playlist) = try parse(text) else {
            Issue.record("it is not a multivariant playlist")
            return
        }
        #expect(playlist.variants.map(\.bandwidth) == [1_280_000, 65000])
        #expect(playlist.variants.map(\.averageBandwidth) == [1_000_000, nil])
        #expect(playlist.variants.map(\.codecs) == [nil, "mp4a.40.5"])
        #expect(playlist.variants.map(\.uri) == ["http://example.com/low.m3u8", "http://example.com/audio-only.m3u8"])
    }

    @Test func `everything a segment may have is read and written back`() throws {
        let text = """
            #EXTM3U
            #EXT-X-VERSION:6
            #EXT-X-INDEPENDENT-SEGMENTS
            #EXT-X-TARGETDURATION:11
            #EXT-X-PLAYLIST-TYPE:EVENT
            #EXT-X-MEDIA-SEQUENCE:18446744073709551615
            #EXT-X-DISCONTINUITY-SEQUENCE:4
            #EXT-X-KEY:METHOD=AES-128,URI="k,1",IV=0x00000000000000000000000000000abc
            #EXT-X-KEY:METHOD=SAMPLE-AES,URI="skd://2",KEYFORMAT="com.example",KEYFORMATVERSIONS="1/2"
            #EXT-X-MAP:URI="init",BYTERANGE="700@20"
            #EXT-X-PROGRAM-DATE-TIME:2020-01-15T18:58:53.977Z
            #EXTINF:10.500000,a title, with a comma
            #EXT-X-BYTERANGE:100@0
            all.ts
            #EXTINF:0.000001,
            #EXT-X-BYTERANGE:100@100
            all.ts
            #EXT-X-DISCONTINUITY
            #EXT-X-KEY:METHOD=NONE
            #EXT-X-KEY:METHOD=AES-128,URI="k2"
            #EXTINF:11.499999,
            b.ts
            #EXT-X-KEY:METHOD=NONE
            #EXTINF:1.000000,
            c.ts

            """
        let playlist = try media(text)
        #expect(playlist.segments[0].keys.map(\.keyFormat) == [nil, "com.example"])
        #expect(playlist.segments[0].keys[0].initializationVector == [UInt8](repeating: 0, count: 14) + [0x0a, 0xbc])
        #expect(playlist.segments[0].initialization?.byteRange == .init(offset: 20, length: 700))
        #expect(playlist.segments[1].byteRange == .init(offset: 100, length: 100))
        #expect(playlist.segments[2].discontinuity)
        #expect(playlist.segments[3].keys.isEmpty)
        #expect(String(decoding: try playlist.write(), as: UTF8.self) == text)
    }

    @Test func `a byte range continues where the previous one ended`() throws {
        let playlist = try media(
            "#EXTM3U\n#EXT-X-VERSION:4\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n#EXT-X-BYTERANGE:10@5\na\n#EXTINF:1,\n#EXT-X-BYTERANGE:7\na\n"
        )
        #expect(playlist.segments[1].byteRange == .init(offset: 15, length: 7))
    }

    /// The text between the header and the end, the mistake in it, and its line after the header.
    static let wrong: [(String, String, Int)] = [
        ("#EXTINF:1,\na\n#EXT-X-STREAM-INF:BANDWIDTH=1\nb", "tag belongs to a multivariant playlist", 2),
        ("#EXTINF:1,\n#EXTINF:1,\na", "segment has two durations", 1),
        ("a", "segment has no duration", 0),
        ("#EXTINF:1,\na b", "URI holds a blank", 1),
        ("#EXTINF:1\na", "duration is not ended by a comma", 0),
        ("#EXTINF:-1,\na", "duration is not a number", 0),
        ("#EXTINF:1.,\na", "duration is not a number", 0),
        ("#EXTINF:.5,\na", "duration is not a number", 0),
        ("#EXTINF:99999999999999999999,\na", "duration is not a number", 0),
        ("#EXTINF:10.5,\na", "segment is longer than the target duration", 1),
        ("#EXT-X-TARGETDURATION:11", "tag appears twice", 0),
        ("#EXT-X-VERSION:3", "tag appears twice", 0),
        ("#EXTINF:1,\na\n#EXT-X-MEDIA-SEQUENCE:1", "media sequence comes after a segment", 2),
        ("#EXT-X-MEDIA-SEQUENCE:-1", "tag is not followed by a number", 0),
        ("#EXT-X-PLAYLIST-TYPE:vod", "playlist type is neither EVENT nor VOD", 0),
        ("#EXT-X-KEY:URI=\"k\"", "key has no method", 0),
        ("#EXT-X-KEY:METHOD=AES-128", "key has no URI", 0),
        ("#EXT-X-KEY:METHOD=AES-128,URI=k", "key has no URI", 0),
        ("#EXT-X-KEY:METHOD=NONE,URI=\"k\"", "method NONE has other attributes", 0),
        ("#EXT-X-KEY:METHOD=AES-128,URI=\"k\",IV=12", "initialization vector is not hexadecimal", 0),
        ("#EXT-X-KEY:METHOD=AES-128,URI=\"k\",IV=0x", "initialization vector is not hexadecimal", 0),
        (
            "#EXT-X-KEY:METHOD=AES-128,URI=\"k\",IV=0x0000000000000000000000000000000000",
            "initialization vector is not hexadecimal", 0
        ),
        ("#EXT-X-KEY:METHOD=AES-128,METHOD=AES-128,URI=\"k\"", "attribute appears twice", 0),
        ("#EXT-X-KEY:METHOD=AES-128,URI=\"k", "quoted string does not end", 0),
        ("#EXT-X-KEY:METHOD=AES-128 ,URI=\"k\"", "attribute value is empty or holds a blank or quotation mark", 0),
        ("#EXT-X-KEY:METHOD=AES-128, URI=\"k\"", "attribute name is not made of capitals, digits and hyphens", 0),
        ("#EXT-X-KEY:METHOD=AES-128,URI=\"k\"x", "attributes are not separated by a comma", 0),
        ("#EXT-X-KEY:METHOD=AES-128,URI=\"k\",", "attribute has no value", 0),
        ("#EXT-X-KEY", "tag has no attributes", 0),
        ("#EXT-X-KEY:METHOD=AES-128,URI=\"k\",KEYFORMAT=\"f\"\n#EXTINF:1,\na", "key formats need version 5", 0),
        ("#EXT-X-MAP:URI=\"i\"", "initializations need version 6, or 5 in I-frame playlists", 0),
        ("#EXTINF:1,\n#EXT-X-BYTERANGE:5\na", "byte range has no offset, and none goes before it", 2),
        ("#EXTINF:1,\n#EXT-X-BYTERANGE:5@\na", "byte range is not one", 1),
        ("#EXTINF:1,\n#EXT-X-BYTERANGE:9@18446744073709551610\na", "byte range is not one", 2),
        ("#EXTINF:1,\n#EXT-X-BYTERANGE:5@1\na", "byte ranges need version 4", 1),
        ("#EXTINF:1,\na\u{1}", "line holds a control character", 1),
        ("#EXTINF:1,\n#EXT-X-DISCONTINUITY", "last segment has no URI", 2),
    ]

    @Test(arguments: wrong)
    func `what the specification forbids is refused, and where`(body: String, what: String, line: Int) {
        let header = "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:10\n"
        var caught: Malformed?
        do { _ = try parse(header + body + "\n") } catch { caught = error }
        let before = body.split(separator: "\n", omittingEmptySubsequences: false).prefix(line)
        #expect(caught == Malformed(what, at: header.utf8.count + before.reduce(0) { $0 + $1.utf8.count + 1 }))
    }

    @Test(arguments: [
        ("", "playlist does not begin with #EXTM3U"), ("\u{feff}#EXTM3U\n", "playlist has neither segments nor variants"),
        ("#EXTM3U\n\u{feff}#EXT-X-TARGETDURATION:1\n", "playlist has a byte order mark"),
        ("#EXTM3U8\n", "playlist does not begin with #EXTM3U"), ("#EXTM3U\n", "playlist has neither segments nor variants"),
        ("#EXTM3U\na\n", "playlist has neither segments nor variants"),
        ("#EXTM3U\n#EXTINF:1,\na\n", "playlist has no target duration"),
        ("#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:1.5,\na\n", "fractional durations need version 3"),
        (
            "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXT-X-KEY:METHOD=AES-128,URI=\"k\",IV=0x1\n",
            "initialization vectors need version 2"
        ),
        ("#EXTM3U\n#EXT-X-STREAM-INF:CODECS=\"x\"\na\n", "variant has no bandwidth"),
        ("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n#EXT-X-STREAM-INF:BANDWIDTH=1\na\n", "variant is not followed by its URI"),
        ("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n", "variant is not followed by its URI"),
        ("#EXTM3U\n#EXT-X-MEDIA:TYPE=AUDIO\n", "rendition has no type, group or name"),
        ("#EXTM3U\n#EXT-X-SESSION-DATA:VALUE=\"x\"\n", "session data has no identifier"),
        ("#EXTM3U\n#EXT-X-SESSION-DATA:DATA-ID=\"x\"\n", "session data has not one of value and URI"),
        (
            "#EXTM3U\n#EXT-X-SESSION-DATA:DATA-ID=\"x\",VALUE=\"1\"\n#EXT-X-SESSION-DATA:DATA-ID=\"x\",VALUE=\"2\"\n",
            "session data appears twice"
        ),
        ("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\na\n#EXTINF:1,\n", "tag belongs to a media playlist"),
        ("#EXTM3U\n#EXT-X-SESSION-KEY:METHOD=NONE\n", "session key has method NONE"),
    ])
    func `what makes no playlist is refused`(text: String, what: String) {
        var caught: Malformed?
        do { _ = try parse(text) } catch { caught = error }
        #expect(caught?.what == what)
    }

    @Test func `a playlist cut anywhere is refused or read, and never worse`() throws {
        let text =
            "#EXTM3U\r\n#EXT-X-VERSION:4\r\n#EXT-X-TARGETDURATION:10\n#EXT-X-KEY:METHOD=AES-128,URI=\"ké\",IV=0X0f\n"
            + "#EXTINF:9.5,\n#EXT-X-BYTERANGE:3@4\na\n#EXTINF:1,\nb\n#EXT-X-ENDLIST\n"
        let bytes = Array(text.utf8)
        var read = 0
        for count in bytes.indices {
            if (try? Playlist.parse(bytes.rawSpan.extracting(0..<count))) != nil { read += 1 }
        }
        #expect(read > 0 && read < bytes.count)
        #expect((try? Playlist.parse(bytes.rawSpan)) != nil)
    }

    @Test func `more segments than the limit are refused`() {
        let bytes = Array(("#EXTM3U\n#EXT-X-TARGETDURATION:1\n" + String(repeating: "#EXTINF:1,\na\n", count: 4)).utf8)
        #expect(throws: Never.self) { try Playlist.parse(bytes.rawSpan, limit: 4) }
        #expect(throws: Malformed.self) { try Playlist.parse(bytes.rawSpan, limit: 3) }
        let comments = Array(("#EXTM3U\n#EXT-X-TARGETDURATION:1\n" + String(repeating: "#\n", count: 2000)).utf8)
        #expect(throws: Malformed.self) { try Playlist.parse(comments.rawSpan, limit: 3) }
    }

    @Test func `a multivariant playlist around one media playlist`() throws {
        let bytes = try MultivariantPlaylist.write(
            mediaURI: "playlist.m3u8?offline=true",
            bandwidth: 70_001,
            averageBandwidth: 68_000,
            codecs: "mp4a.40.34",
            sessionData: [
                .init(id: "com.apple.hls.chapters", .uri("chapters.json")),
                .init(id: "org.example.title", .value("A title"), language: "en"),
            ]
        )
        let text = """
            #EXTM3U
            #EXT-X-VERSION:3
            #EXT-X-SESSION-DATA:DATA-ID="com.apple.hls.chapters",URI="chapters.json"
            #EXT-X-SESSION-DATA:DATA-ID="org.example.title",VALUE="A title",LANGUAGE="en"
            #EXT-X-STREAM-INF:BANDWIDTH=70001,AVERAGE-BANDWIDTH=68000,CODECS="mp4a.40.34"
            playlist.m3u8?offline=true

            """
        #expect(String(decoding: bytes, as: UTF8.self) == text)
        guard case .multivariant(let read) = try parse(text) else {
            Issue.record("it is not read as it was written")
            return
        }
        #expect(try read.write() == bytes)
    }

    @Test(arguments: ["a\"b", "a\nb", "a\u{85}b", "a\u{7f}b"])
    func `strings that would break a playlist are not written`(text: String) {
        let caught = #expect(throws: PlaylistError.self) {
            try MultivariantPlaylist.write(
                mediaURI: "a",
                bandwidth: 1,
                averageBandwidth: 1,
                codecs: "x",
                sessionData: [.init(id: "i", .value(text))]
            )
        }
        #expect(caught?.code == .quotedString)
    }

    @Test(arguments: ["", "#a", "a b", "a\nb", "a\r"])
    func `URIs that would break a playlist are not written`(uri: String) {
        let caught = #expect(throws: PlaylistError.self) {
            try MultivariantPlaylist.write(mediaURI: uri, bandwidth: 1, averageBandwidth: 1, codecs: "x")
        }
        #expect(caught?.code == .uri)
        var playlist = MediaPlaylist(targetDuration: 1)
        playlist.segments = [MediaSegment(uri: uri, duration: .seconds(1))]
        #expect(throws: PlaylistError.self) { try playlist.write() }
    }

    @Test func `a segment longer than the target duration is not written`() {
        var playlist = MediaPlaylist(targetDuration: 10)
        playlist.version = 3
        playlist.segments = [MediaSegment(uri: "a", duration: .milliseconds(10_499))]
        #expect(throws: Never.self) { try playlist.write() }
        playlist.segments[0].duration = .milliseconds(10_500)
        let caught = #expect(throws: PlaylistError.self) { try playlist.write() }
        #expect(caught?.code == .contradiction)
    }
}
