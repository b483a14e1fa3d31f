// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelMP4
import CarrelMedia
import CarrelMediaInspection
import CarrelTesting
import Testing

struct `The inspection of a playlist or an MPD` {
    private static func describe(_ name: String) throws -> JSON {
        try MediaInspection.describe(BytesReader(try Fixtures.bytes("media/\(name)")), name: name)
    }

    @Test func `counts segments and names the keys in force`() throws {
        let facts = try Self.describe("hls/mp3-packed-rot-seq100.m3u8")
        #expect(facts["kind"]?.string == "hls" && facts["playlist"]?.string == "media")
        #expect(facts["segments"]?.int == 7 && facts["mediaSequence"]?.int == 100 && facts["ended"]?.bool == true)
        let keys = try #require(facts["keys"]?.array)
        #expect(keys.count > 1)
        #expect(keys[0]["method"]?.string == "AES-128" && keys[0]["firstSegment"]?.int == 100)
        #expect(keys.compactMap { $0["segments"]?.int }.reduce(0, +) == 7)
        #expect(facts["protection"]?["kinds"]?.array?.first?.string == "HLS AES-128")
        let whole = try Self.describe("ext/shaka-player/hls-aes-256/media.m3u8")
        #expect(whole["maps"]?.array?.first?["url"]?.string == "init.mp4")
        #expect(whole["maps"]?.array?.first?["method"]?.string == "AES-256")
    }

    @Test func `shows no key of a data address`() throws {
        let facts = try Self.describe("ext/shaka-player/hls-sample-aes/index.m3u8")
        #expect(!"\(facts)".contains("q7onHovPVSu9LoakNKml2Q"))
        #expect(facts["keys"]?.array?.first?["url"]?.string == "data:text/plain;base64,…")
        #expect(facts["protection"]?["keyUrls"]?.array?.first?.string == "data:text/plain;base64,…")
    }

    @Test func `names variants and renditions, and Marlin's ids`() throws {
        let master = """
            #EXTM3U
            #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="English",LANGUAGE="en",DEFAULT=YES,URI="en.m3u8"
            #EXT-X-STREAM-INF:BANDWIDTH=1280000,CODECS="avc1.64001f,mp4a.40.2",RESOLUTION=640x360,AUDIO="a"
            low.m3u8
            #EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=86000,URI="low-i.m3u8"
            """
        let facts = try MediaInspection.describe(BytesReader(Array(master.utf8)))
        #expect(facts["playlist"]?.string == "multivariant")
        let variant = try #require(facts["variants"]?.array?.first)
        #expect(variant["codecs"]?.string == "avc1.64001f,mp4a.40.2" && variant["width"]?.int == 640)
        #expect(variant["audio"]?.string == "a" && variant["bandwidth"]?.int == 1_280_000)
        #expect(facts["renditions"]?.array?.first?["language"]?.string == "en")
        #expect(facts["iFrameVariants"]?.array?.first?["url"]?.string == "low-i.m3u8")
        let marlin = """
            #EXTM3U
            #EXT-X-TARGETDURATION:10
            #EXT-X-KEY:METHOD=AES-128,URI="urn:marlin-drm",CID="urn:marlin:kid:000102030405060708090a0b0c0d0e0f",SILENT-RIGHTS-URL="https://ri.example/1"
            #EXTINF:9,
            a.ts
            """
        let protection = try #require(try MediaInspection.describe(BytesReader(Array(marlin.utf8)))["protection"])
        #expect(protection["contentIds"]?.array?.first?.string == "urn:marlin:kid:000102030405060708090a0b0c0d0e0f")
        #expect(protection["keyIds"]?.array?.first?.string == "000102030405060708090a0b0c0d0e0f")
        #expect(protection["silentLicenseUrls"]?.array?.first?.string == "https://ri.example/1")
        #expect(protection["systems"]?.array?.first?.string == "Marlin")
    }

    @Test func `names periods, sets, representations and their protection`() throws {
        let facts = try Self.describe("dash/multiperiod-mixed/manifest.mpd")
        #expect(facts["kind"]?.string == "dash" && facts["type"]?.string == "static" && facts["live"]?.bool == false)
        let periods = try #require(facts["periods"]?.array)
        #expect(periods.map { $0["id"]?.string } == ["p1", "p2"])
        #expect(periods[1]["start"]?.int == 10)
        let sets = try #require(periods[1]["sets"]?.array)
        #expect(sets.count == 2)
        let video = try #require(sets[0]["representations"]?.array?.first)
        #expect(video["id"]?.string == "v2" && video["codecs"]?.string == "avc1.64000C" && video["segments"]?.int == 3)
        #expect(sets[0]["protection"]?.array?.first?["system"]?.string == "mp4protection")
        #expect(periods[0]["sets"]?.array?.first?["protection"] == nil)
        let protection = try #require(facts["protection"])
        #expect(protection["kinds"]?.array?.map(\.string) == ["Common Encryption (cenc)"])
        #expect(protection["keyIds"]?.array?.count == 2)
        let whole = try Self.describe("ext/shaka-player/dash-aes-128/dash.mpd")
        #expect(whole["protection"]?["supported"]?.bool == true)
        #expect(whole["protection"]?["keyUrls"]?.array?.first?.string == "license")
    }

    @Test func `takes the lists of conformance tests, or refuses them with the place`() throws {
        var kinds: [String: Int] = [:]
        var refused = 0
        for folder in ["playlists/m3u8-parser", "playlists/media3", "playlists/grafov", "playlists/streamlink"] {
            for name in try FixtureFolder.names(in: try Fixtures.path("media/\(folder)")) where name.hasSuffix(".m3u8") {
                do {
                    kinds[try #require(try Self.describe("\(folder)/\(name)")["kind"]?.string), default: 0] += 1
                } catch is Malformed {
                    refused += 1
                } catch is MediaError { refused += 1 }
            }
        }
        for folder in ["mpd-parser", "media3", "shaka-player", "streamlink", "dash.js", "dash-mpd-rs", "n_m3u8dl-re"] {
            for name in try FixtureFolder.names(in: try Fixtures.path("media/mpd/\(folder)")) where name.hasSuffix(".mpd") {
                do {
                    kinds[try #require(try Self.describe("mpd/\(folder)/\(name)")["kind"]?.string), default: 0] += 1
                } catch is Malformed {
                    refused += 1
                } catch is MediaError { refused += 1 }
            }
        }
        #expect(Set(kinds.keys) == ["hls", "dash"])
        #expect(kinds["hls"] ?? 0 > 60)
        #expect(kinds["dash"] ?? 0 > 60)
    }
}
