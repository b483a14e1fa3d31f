// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHLS
import Testing

struct `Playlists by the rules of older players` {
    private static func parse(_ bytes: [UInt8]) throws -> Playlist { try Playlist.parse(bytes.rawSpan) }

    private static func media() -> MediaPlaylist {
        var playlist = MediaPlaylist(targetDuration: 9)
        playlist.version = 3
        playlist.mediaSequence = 7
        for (number, milliseconds) in [4000, 4001, 9400, 1].enumerated() {
            playlist.segments.append(MediaSegment(uri: "s\(number).ts", duration: .milliseconds(milliseconds)))
        }
        playlist.segments[2].discontinuity = true
        playlist.segments[3].title = "last"
        playlist.isEnded = true
        return playlist
    }

    private static let seconds = """
        #EXTM3U
        #EXT-X-VERSION:3
        #EXT-X-TARGETDURATION:10
        #EXT-X-MEDIA-SEQUENCE:7
        #EXTINF:4,
        s0.ts
        #EXTINF:5,
        s1.ts
        #EXT-X-DISCONTINUITY
        #EXTINF:10,
        s2.ts
        #EXTINF:1,last
        s3.ts
        #EXT-X-ENDLIST

        """

    @Test func `have durations in whole seconds, rounded up, and the longest as their target`() throws {
        let written = try Self.media().write(rules: .compatible)
        #expect(String(decoding: written, as: UTF8.self) == Self.seconds)
        guard case .media(let read) = try Self.parse(written) else { throw Malformed("playlist is not one of segments", at: 0) }
        #expect(read.segments.map(\.duration) == [4, 5, 10, 1].map { .seconds($0) })
        #expect(read.targetDuration == 10)
    }

    @Test func `are written again if they were read`() throws {
        let text = Self.seconds.replacing("#EXTINF:4,", with: "# comment\n#EXTINF:3.5,").replacing(
            "#EXT-X-MEDIA",
            with: "#EXT-X-OTHER\n#EXT-X-MEDIA"
        )
        guard case .media(let read) = try Self.parse(Array(text.utf8)) else {
            throw Malformed("playlist is not one of segments", at: 0)
        }
        #expect(String(decoding: try read.write(rules: .compatible), as: UTF8.self) == Self.seconds)
        #expect(try read.write(rules: .rfc) == Array(text.utf8))
    }

    @Test func `without segments keep the target duration`() throws {
        let written = try MediaPlaylist(targetDuration: 6).write(rules: .compatible)
        #expect(String(decoding: written, as: UTF8.self) == "#EXTM3U\n#EXT-X-TARGETDURATION:6\n#EXT-X-MEDIA-SEQUENCE:0\n")
    }

    @Test func `by the rules of RFC 8216 have the durations that they have`() throws {
        var playlist = Self.media()
        let written = try playlist.write()
        #expect(String(decoding: written, as: UTF8.self).contains("#EXT-X-TARGETDURATION:9\n"))
        #expect(String(decoding: written, as: UTF8.self).contains("#EXTINF:4.001000,\n"))
        #expect(try playlist.write(rules: .rfc) == written)
        playlist.targetDuration = 8
        #expect(throws: PlaylistError.self) { try playlist.write() }
        #expect(throws: Never.self) { try playlist.write(rules: .compatible) }
    }

    @Test func `of variants have a program and an end, which the strict reader refuses`() throws {
        var variant = MultivariantPlaylist.Variant(uri: "v.m3u8", bandwidth: 3_000_000, codecs: "avc1.64001f")
        variant.attributes["PROGRAM-ID"] = .bare("9")
        variant.attributes["RESOLUTION"] = .bare("16x9")
        let playlist = MultivariantPlaylist(variants: [variant])
        let head = "#EXTM3U\n#EXT-X-STREAM-INF:PROGRAM-ID=1,BANDWIDTH=3000000,RESOLUTION=16x9,CODECS=\"avc1.64001f\"\nv.m3u8\n"
        let live = try playlist.write(rules: .compatible)
        #expect(String(decoding: live, as: UTF8.self) == head)
        guard case .multivariant(let read) = try Self.parse(live) else {
            throw Malformed("playlist is not one of variants", at: 0)
        }
        let ended = try read.write(rules: .compatible, isEnded: true)
        #expect(String(decoding: ended, as: UTF8.self) == head + "#EXT-X-ENDLIST\n")
        #expect(throws: Malformed("tag belongs to a media playlist", at: head.utf8.count)) { try Self.parse(ended) }
        #expect(!String(decoding: try playlist.write(rules: .rfc, isEnded: true), as: UTF8.self).contains("ENDLIST"))
    }
}
