// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelMP4
import CarrelMedia
import CarrelMediaInspection
import CarrelTS
import CarrelTesting
import ProtectedMedia
import Testing

struct `The inspection of a media file` {
    private static func describe(_ name: String) throws -> JSON {
        try MediaInspection.describe(BytesReader(try Fixtures.bytes("media/\(name)")), name: name)
    }

    @Test(arguments: ProtectedFixture.samples)
    func `names the tracks, the scheme and the keys of MP4`(fixture: ProtectedFixture) throws {
        let facts = try Self.describe(fixture.name)
        #expect(facts["kind"]?.string == "mp4")
        let tracks = try #require(facts["tracks"]?.array)
        for track in tracks where track["kind"]?.string == "vide" || track["kind"]?.string == "soun" {
            let codecs = try #require(track["codecs"]?.string)
            #expect(codecs.hasPrefix("avc1.") || codecs.hasPrefix("hvc1.") || codecs == "mp4a.40.2", "\(codecs)")
            #expect(track["samples"]?.int ?? 0 > 0)
        }
        let protection = try #require(facts["protection"])
        #expect(protection["clear"]?.bool == false)
        #expect(protection["supported"]?.bool == true)
        #expect(protection["embeddedLicenses"]?.bool == false)
        let ids = Set((protection["keyIds"]?.array ?? []).compactMap(\.string))
        if fixture.name.hasPrefix("cenc/") {
            #expect(ids.isSuperset(of: (fixture.entry["keys"]?.array ?? []).compactMap { $0["kid"]?.string }))
        }
        if facts["fragmented"]?.bool == true { #expect(facts["fragments"]?.int ?? 0 > 0) }
        let keys = (fixture.entry["keys"]?.array ?? []).compactMap { ($0["key"] ?? $0["group_key"])?.string }
        #expect(!keys.isEmpty)
        for key in keys { #expect(!"\(facts)".contains(key)) }
    }

    @Test func `lists edits, indexes and fragments`() throws {
        let progressive = try Self.describe("src/av-h264-aac.mp4")
        #expect(progressive["fragments"] == nil && progressive["fragmented"]?.bool == false)
        #expect(progressive["protection"]?["clear"]?.bool == true)
        let edits = progressive["tracks"]?.array?.compactMap { $0["edits"]?.array }.flatMap { $0 } ?? []
        #expect(!edits.isEmpty)
        #expect(edits.allSatisfy { $0["duration"]?.double ?? -1 > 0 })
        let file = try Self.describe("dash/ondemand-cbcs/v_cbcs_dashinit.mp4")
        let index = try #require(file["indexes"]?.array?.first)
        #expect(index["references"]?.int == file["fragments"]?.int)
        #expect(index["duration"]?.double == 10)
        let segment = try Self.describe("dash/timeline-cenc/v-51200.m4s")
        #expect(segment["segment"]?.bool == true && segment["fragments"]?.int ?? 0 > 0)
        #expect(segment["protection"]?["clear"] == nil)
    }

    @Test(arguments: ProtectedFixture.payloads)
    func `names the objects of a DCF`(fixture: ProtectedFixture) throws {
        let facts = try Self.describe(fixture.name)
        #expect(facts["kind"]?.string == "dcf")
        #expect(facts["objects"]?.array?.isEmpty == false)
        #expect(facts["protection"]?["contentIds"]?.array?.isEmpty == false)
        #expect(facts["protection"]?["embeddedLicenses"]?.bool == false)
    }

    @Test(
        arguments: [
            ("ext/media3/ts/sample_h264.ts", ["avc1."]), ("ext/media3/ts/sample_h265.ts", ["hvc1."]),
            ("ext/media3/ts/sample_h264_mpeg_audio.ts", ["avc1.", "mp4a.40.33"]),
            ("ext/shaka-player/hls-ts-mp3/media_w239891843_0.ts", ["mp4a.40.34"]),
            ("ext/shaka-player/hls-gap/2.ts", ["avc1."]), ("hls/sample-aes/seg-0.ts", ["avc1.", "mp4a.40.2"]),
            ("hls/sample-aes/clear/seg-1.ts", ["avc1.", "mp4a.40.2"]),
        ]
    )
    func `names the streams of a transport stream`(name: String, codecs: [String]) throws {
        let facts = try Self.describe(name)
        #expect(facts["kind"]?.string == "ts")
        #expect(facts["packetSize"]?.int == 188)
        #expect(facts["program"]?["number"]?.int ?? 0 > 0)
        let streams = try #require(facts["streams"]?.array)
        for codec in codecs {
            #expect(streams.contains { $0["codecs"]?.string?.hasPrefix(codec) == true }, "\(streams)")
        }
        // one has two pictures, and a few frames
        #expect(facts["duration"]?.double ?? 0 > 0.05)
        let isEncrypted = name.hasSuffix("sample-aes/seg-0.ts")
        #expect(streams.contains { $0["encrypted"]?.string == "SAMPLE-AES" } == isEncrypted)
        #expect(facts["protection"]?["clear"]?.bool == !isEncrypted)
        if isEncrypted { #expect(facts["protection"]?["kinds"]?.array?.first?.string == "SAMPLE-AES") }
    }

    @Test func `counts the faults of a transport stream, and reads packets of 192 bytes`() throws {
        let bytes = try Fixtures.bytes("media/hls/sample-aes/clear/seg-1.ts")
        let whole = try MediaInspection.describe(BytesReader(bytes))
        #expect(whole["faults"]?.int == 0)
        let missing = Array(bytes[..<18_800] + bytes[(18_800 + 188)...])
        let facts = try MediaInspection.describe(BytesReader(missing))
        let kind = try #require(facts["faultKinds"]?.array?.first { $0["kind"]?.string == "discontinuity" })
        #expect(kind["count"]?.int == 1)
        #expect(facts["faults"]?.int ?? 0 >= 1)
        var disc: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 188) { disc += [0, 0, 0, 0] + bytes[start..<start + 188] }
        let timed = try MediaInspection.describe(BytesReader(disc))
        #expect(timed["packetSize"]?.int == 192)
        #expect(timed["streams"] == whole["streams"])
        #expect(timed["faults"]?.int == 0)
    }

    @Test(
        arguments: [
            ("src/tone-cbr64-mono-44100.mp3", "MP3", "mp4a.40.34"), ("src/tone-vbr-xing-id3.mp3", "MP3", "mp4a.40.34"),
            ("src/tone-cbr32-mono-22050-mpeg2.mp3", "MP3", "mp4a.40.34"), ("ext/exoplayer/mp3/bear-id3.mp3", "MP3", "mp4a.40.34"),
            ("ext/exoplayer/mp3/bear-vbr-xing-header.mp3", "MP3", "mp4a.40.34"),
            ("ext/exoplayer/mp3/bear-vbr-no-seek-table.mp3", "MP3", "mp4a.40.34"),
            ("ext/exoplayer/mp3/bear-cbr-constant-frame-size-no-seek-table.mp3", "MP3", "mp4a.40.34"),
            ("ext/exoplayer/mp3/bear-cbr-variable-frame-size-no-seek-table.mp3", "MP3", "mp4a.40.34"),
            ("ext/media3/ts/sample.adts", "AAC (ADTS)", "mp4a.40.2"),
            ("ext/shaka-player/hls-raw-aac/fileSequence1.aac", "AAC (ADTS)", "mp4a.40.2"),
            ("ext/shaka-player/hls-raw-mp3/media_w905519204_0.mp3", "MP3", "mp4a.40.34"),
        ]
    )
    func `names packed audio`(name: String, format: String, codecs: String) throws {
        let facts = try Self.describe(name)
        #expect(facts["kind"]?.string == "audio")
        #expect(facts["format"]?.string == format)
        #expect(facts["codecs"]?.string == codecs)
        #expect(facts["duration"]?.double ?? 0 > 0.5)
        if name.contains("id3") { #expect(facts["id3"]?.bool == true) }
        if name.contains("raw-aac") { #expect(facts["timestamp"]?.double ?? -1 > 0) }
    }

    @Test func `names a single frame, and no frames that are alone in other bytes`() throws {
        let bytes = try Fixtures.bytes("media/ext/exoplayer/mp3/play-trimmed.mp3")
        let facts = try MediaInspection.describe(BytesReader(bytes))
        #expect(facts["duration"]?.double == 1152.0 / 44_100)
        #expect(throws: MediaError(.unsupported, "")) { _ = try MediaInspection.describe(BytesReader(bytes + [0])) }
        #expect(throws: MediaError(.unsupported, "")) { _ = try MediaInspection.describe(BytesReader([0] + bytes)) }
    }

    @Test(arguments: ["mp4", "m4b", "m4s"])
    func `keeps text to 80 columns`(type: String) throws {
        let names = ["mp4": "cenc/av.cbcs.mp4", "m4b": "src/book.m4b", "m4s": "dash/timeline-cenc/v-0.m4s"]
        let text = MediaInspection.text(try Self.describe(try #require(names[type])))
        let lines = text.split(separator: "\n")
        #expect(lines.first == "kind: mp4")
        for line in lines { #expect(line.count <= 80, "\(line)") }
        #expect(lines.contains { $0.hasPrefix("  moof at ") } == (type != "m4b"))
    }
}
