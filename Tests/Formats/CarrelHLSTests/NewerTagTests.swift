// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHLS
import Testing

private func media(_ text: String, url: String? = nil, imports: [PlaylistVariable] = []) throws -> MediaPlaylist {
    let bytes = Array(text.utf8)
    guard case .media(let playlist) = try Playlist.read(bytes.rawSpan, url: url, imports: imports).playlist else {
        throw Malformed("playlist is not a media playlist", at: 0)
    }
    return playlist
}

struct `Newer tags of media playlists` {
    static let lowLatency = """
        #EXTM3U
        # a comment that stays
        #EXT-X-VERSION:10
        #EXT-X-TARGETDURATION:4
        #EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,PART-HOLD-BACK=1.0,CAN-SKIP-UNTIL=12.5
        #EXT-X-PART-INF:PART-TARGET=0.33334
        #EXT-X-MEDIA-SEQUENCE:266
        #EXT-X-SKIP:SKIPPED-SEGMENTS=3,RECENTLY-REMOVED-DATERANGES="a\tb"
        #EXT-X-START:TIME-OFFSET=-2.5,PRECISE=YES
        #EXT-X-VENDOR-THING:SOMETHING=1
        #EXT-X-BITRATE:800
        #EXTINF:4.00008,
        fileSequence269.mp4
        #EXT-X-GAP
        #EXT-X-DATERANGE:ID="splice",START-DATE="2014-03-05T11:15:00Z",DURATION=59.993,X-COM="v"
        #EXT-X-PART:DURATION=0.33334,URI="all.mp4",BYTERANGE="100@20",INDEPENDENT=YES
        #EXT-X-PART:DURATION=0.33334,URI="all.mp4",BYTERANGE="50"
        #EXTINF:4.00008,
        fileSequence270.mp4
        #EXT-X-PART:DURATION=0.33334,URI="filePart271.0.mp4"
        #EXT-X-PRELOAD-HINT:TYPE=PART,URI="filePart271.1.mp4",BYTERANGE-START=10
        #EXT-X-RENDITION-REPORT:URI="../1M/waitForMSN.php",LAST-MSN=273,LAST-PART=2

        """

    @Test func `are read`() throws {
        let playlist = try media(Self.lowLatency)
        #expect(playlist.serverControl?.canBlockReload == true)
        #expect(playlist.serverControl?.canSkipUntil == .milliseconds(12_500))
        #expect(playlist.partTarget == .microseconds(333_340))
        #expect(playlist.skipped?.count == 3)
        #expect(playlist.skipped?.removedDateRanges == ["a", "b"])
        #expect(playlist.start?.timeOffset == .milliseconds(-2500))
        #expect(playlist.start?.isPrecise == true)
        #expect(playlist.segments.map(\.bitrate) == [800, 800])
        #expect(playlist.segments.map(\.isGap) == [false, true])
        #expect(playlist.sequenceNumber(ofSegmentAt: 1) == 270)
        let parts = playlist.segments[1].parts
        #expect(parts.map(\.byteRange) == [.init(offset: 20, length: 100), .init(offset: 120, length: 50)])
        #expect(parts.map(\.isIndependent) == [true, false])
        #expect(playlist.segments[1].dateRanges.first?.duration == .milliseconds(59_993))
        #expect(playlist.trailingParts.map(\.uri) == ["filePart271.0.mp4"])
        #expect(playlist.preloadHints.first?.offset == 10)
        #expect(playlist.renditionReports.first?.lastSequence == 273)
        #expect(playlist.startTimes == [.zero, .microseconds(4_000_080)])
    }

    @Test func `are written again if nothing was read`() throws {
        let read = try media(Self.lowLatency)
        var made = MediaPlaylist(targetDuration: read.targetDuration)
        made.version = read.version
        made.mediaSequence = read.mediaSequence
        made.serverControl = read.serverControl
        made.partTarget = read.partTarget
        made.skipped = read.skipped
        made.start = read.start
        made.trailingParts = read.trailingParts
        made.preloadHints = read.preloadHints
        made.renditionReports = read.renditionReports
        made.segments = MediaSegments(
            read.segments.map { segment in
                var new = MediaSegment(uri: segment.uri, duration: segment.duration)
                (new.bitrate, new.isGap, new.parts, new.dateRanges) = (
                    segment.bitrate, segment.isGap, segment.parts, segment.dateRanges
                )
                return new
            }
        )
        let text = String(decoding: try made.write(), as: UTF8.self)
        #expect(!text.contains("VENDOR"))
        #expect(plain(try media(text)) == plain(read))
    }

    /// A playlist without the ranges of parts as they were written, which may have no offset.
    private func plain(_ playlist: MediaPlaylist) -> MediaPlaylist {
        var playlist = playlist
        for segment in playlist.segments.indices {
            for part in playlist.segments[segment].parts.indices {
                playlist.segments[segment].parts[part].attributes["BYTERANGE"] = nil
            }
        }
        return playlist
    }

    @Test func `stay unchanged, like unknown tags, if a playlist changes elsewhere`() throws {
        var playlist = try media(Self.lowLatency)
        playlist.segments[0].uri = "other.mp4"
        playlist.mediaSequence = 267
        playlist.segments[1].isGap = false
        playlist.isEnded = true
        var expected = Self.lowLatency.replacing("fileSequence269.mp4", with: "other.mp4")
        expected = expected.replacing("MEDIA-SEQUENCE:266", with: "MEDIA-SEQUENCE:267").replacing("#EXT-X-GAP\n", with: "")
        #expect(String(decoding: try playlist.write(), as: UTF8.self) == expected + "#EXT-X-ENDLIST\n")
    }

    @Test func `move with their segments in a live window`() throws {
        let text = """
            #EXTM3U
            #EXT-X-VERSION:3
            #EXT-X-TARGETDURATION:4
            #EXT-X-KEY:METHOD=AES-128,URI="k1",CID="urn:marlin:kid:00"
            #EXTINF:4,one
            1.ts
            #EXT-X-VENDOR:2
            #EXTINF:4,two
            2.ts
            #EXTINF:4,three
            3.ts

            """
        var playlist = try media(text)
        #expect(playlist.segments[1].keys.first?.contentID == "urn:marlin:kid:00")
        playlist.segments.removeFirst()
        playlist.mediaSequence = 1
        playlist.segments.append(MediaSegment(uri: "4.ts", duration: .seconds(4)))
        let expected = """
            #EXTM3U
            #EXT-X-MEDIA-SEQUENCE:1
            #EXT-X-VERSION:3
            #EXT-X-TARGETDURATION:4
            #EXT-X-VENDOR:2
            #EXT-X-KEY:METHOD=AES-128,URI="k1",CID="urn:marlin:kid:00"
            #EXTINF:4,two
            2.ts
            #EXTINF:4,three
            3.ts
            #EXT-X-KEY:METHOD=NONE
            #EXTINF:4.000000,
            4.ts

            """
        let written = String(decoding: try playlist.write(), as: UTF8.self)
        #expect(written == expected)
        #expect(try media(written) == playlist)
    }

    @Test func `make initialization vectors of media sequence numbers`() throws {
        let playlist = try media(
            "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXT-X-MEDIA-SEQUENCE:4294967298\n#EXT-X-KEY:METHOD=AES-256,URI=\"k\"\n#EXTINF:1,\na\n#EXTINF:1,\nb\n"
        )
        let key = try #require(playlist.segments[1].keys.first)
        #expect(key.method == .aes256)
        #expect(Hex.encode(playlist.initializationVector(of: key, forSegmentAt: 1)) == "00000000000000000000000100000003")
    }
}

struct `Variables of playlists` {
    @Test func `stand for their values in addresses and attributes, and stay as written`() throws {
        let text = """
            #EXTM3U
            #EXT-X-VERSION:11
            #EXT-X-TARGETDURATION:1
            #EXT-X-DEFINE:NAME="host",VALUE="https://h.example"
            #EXT-X-DEFINE:IMPORT="token"
            #EXT-X-DEFINE:QUERYPARAM="q"
            #EXT-X-KEY:METHOD=AES-128,URI="{$host}/key?t={$token}"
            #EXTINF:1,{$host}
            {$host}/{$q}/1.ts?t={$token}

            """
        var playlist = try media(text, url: "http://a/b?x=1&q=a%2Fb", imports: [PlaylistVariable("token", "T")])
        #expect(playlist.segments[0].uri == "https://h.example/a/b/1.ts?t=T")
        #expect(playlist.segments[0].keys.first?.uri == "https://h.example/key?t=T")
        #expect(playlist.segments[0].title == "{$host}")
        #expect(try playlist.write() == Array(text.utf8))
        playlist.segments[0].uri = "plain.ts"
        let changed = text.replacing("{$host}/{$q}/1.ts?t={$token}", with: "plain.ts")
        #expect(String(decoding: try playlist.write(), as: UTF8.self) == changed)
    }

    @Test(arguments: [
        "#EXT-X-DEFINE:NAME=\"a\"", "#EXT-X-DEFINE:VALUE=\"a\"", "#EXT-X-DEFINE:NAME=\"a b\",VALUE=\"x\"",
        "#EXT-X-DEFINE:NAME=\"a\",VALUE=\"x\"\n#EXT-X-DEFINE:NAME=\"a\",VALUE=\"y\"", "#EXT-X-DEFINE:IMPORT=\"a\"",
        "#EXT-X-DEFINE:QUERYPARAM=\"a\"", "#EXT-X-DEFINE:NAME=\"a\",VALUE=\"x\"\n#EXTINF:1,\n{$b}",
    ])
    func `that are not defined are refused`(body: String) {
        #expect(throws: Malformed.self) { try media("#EXTM3U\n#EXT-X-VERSION:11\n#EXT-X-TARGETDURATION:1\n\(body)\n") }
    }

    @Test func `do not make a large playlist of a small one`() throws {
        let value = String(repeating: "x", count: 60_000)
        let head = "#EXTM3U\n#EXT-X-VERSION:8\n#EXT-X-TARGETDURATION:1\n#EXT-X-DEFINE:NAME=\"a\",VALUE=\"\(value)\"\n"
        #expect(try media(head + String(repeating: "#EXTINF:1,\n{$a}\n", count: 10)).segments.count == 10)
        #expect(throws: Malformed.self) { try media(head + String(repeating: "#EXTINF:1,\n{$a}\n", count: 200)) }
        #expect(throws: Malformed.self) { try media(head + "#EXTINF:1,\n{$a}{$a}{$a}\n") }
        let many = (0..<1001).map { "#EXT-X-DEFINE:NAME=\"v\($0)\",VALUE=\"\"\n" }.joined()
        #expect(throws: Malformed.self) { try media("#EXTM3U\n#EXT-X-VERSION:8\n#EXT-X-TARGETDURATION:1\n" + many) }
    }

    @Test func `do not exist without a definition`() throws {
        #expect(try media("#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n{$b}\n").segments[0].uri == "{$b}")
    }
}

struct `Multivariant playlists` {
    static let text = """
        #EXTM3U
        #EXT-X-VERSION:8
        #EXT-X-DEFINE:NAME="p",VALUE="path"
        #EXT-X-CONTENT-STEERING:SERVER-URI="/steering",PATHWAY-ID="CDN-A"
        #EXT-X-UNKNOWN
        #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="Deutsch",LANGUAGE="de",DEFAULT=YES,URI="{$p}/de.m3u8",X-OWN="1"
        #EXT-X-STREAM-INF:BANDWIDTH=1,RESOLUTION=640x360,FRAME-RATE=25.000,AUDIO="a",X-OWN=2
        # between
        low.m3u8
        #EXT-X-STREAM-INF:BANDWIDTH=2,CODECS="x"
        high.m3u8
        #EXT-X-IMAGE-STREAM-INF:BANDWIDTH=3,RESOLUTION=320x180,URI="thumbs.m3u8"
        #EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=4,URI="iframes.m3u8"
        #EXT-X-SESSION-KEY:METHOD=SAMPLE-AES,URI="skd://1",KEYFORMAT="f"
        #EXT-X-SESSION-DATA:DATA-ID="d",VALUE="v",X-OWN=3

        """

    private func read(_ text: String) throws -> MultivariantPlaylist {
        let bytes = Array(text.utf8)
        guard case .multivariant(let playlist) = try Playlist.parse(bytes.rawSpan) else {
            throw Malformed("playlist is not a multivariant playlist", at: 0)
        }
        return playlist
    }

    @Test func `are read with their newer tags`() throws {
        let playlist = try read(Self.text)
        #expect(playlist.renditions.first?.uri == "path/de.m3u8")
        #expect(playlist.renditions.first?.isDefault == true)
        #expect(playlist.variants.map { $0.resolution?.width } == [640, nil])
        #expect(playlist.variants[0].group("AUDIO") == "a")
        #expect(playlist.imageVariants.map(\.uri) == ["thumbs.m3u8"])
        #expect(playlist.iFrameVariants.map(\.bandwidth) == [4])
        #expect(playlist.contentSteering?.quoted("PATHWAY-ID") == "CDN-A")
        #expect(playlist.sessionKeys.map(\.uri) == ["skd://1"])
        #expect(try playlist.write() == Array(Self.text.utf8))
    }

    @Test func `are written with what changed and nothing else`() throws {
        var playlist = try read(Self.text)
        playlist.variants[1].uri = "higher.m3u8"
        playlist.variants.append(.init(uri: "new.m3u8", bandwidth: 9))
        playlist.imageVariants = []
        playlist.renditions[0].attributes["DEFAULT"] = .bare("NO")
        playlist.version = 9
        let expected = Self.text.replacing("high.m3u8\n", with: "higher.m3u8\n#EXT-X-STREAM-INF:BANDWIDTH=9\nnew.m3u8\n")
            .replacing("#EXT-X-IMAGE-STREAM-INF:BANDWIDTH=3,RESOLUTION=320x180,URI=\"thumbs.m3u8\"\n", with: "")
            .replacing("DEFAULT=YES", with: "DEFAULT=NO").replacing("{$p}/de", with: "path/de").replacing(
                "VERSION:8",
                with: "VERSION:9"
            )
        #expect(String(decoding: try playlist.write(), as: UTF8.self) == expected)
    }

    @Test func `keep a new order`() throws {
        var playlist = try read(Self.text)
        playlist.variants.reverse()
        let again = try read(String(decoding: try playlist.write(), as: UTF8.self))
        #expect(again.variants.map(\.uri) == ["high.m3u8", "low.m3u8"])
    }

    @Test func `forget variants that are removed`() throws {
        var playlist = try read(Self.text)
        playlist.variants.removeFirst()
        let written = String(decoding: try playlist.write(), as: UTF8.self)
        #expect(!written.contains("low.m3u8"))
        #expect(written.contains("#EXT-X-UNKNOWN\n"))
        #expect(try read(written).variants == playlist.variants)
    }
}
