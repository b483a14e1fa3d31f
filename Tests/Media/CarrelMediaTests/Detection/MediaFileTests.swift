// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelDCF
import CarrelJSON
import CarrelMP4
import CarrelMedia
import CarrelTesting
import ProtectedMedia
import Testing

struct `The protection of a file` {
    private func look(_ name: String) throws -> MediaFile { try MediaFile(BytesReader(try Fixtures.bytes(name))) }

    @Test(arguments: ProtectedFixture.named("cenc/", "ext/media3/"))
    func `of Common Encryption is its scheme, with the ids of all keys`(fixture: ProtectedFixture) throws {
        let file = try look("media/\(fixture.name)")
        let scheme = try #require(fixture.entry["scheme"]?.string)
        #expect(file.container == .mp4)
        #expect(file.protections == [scheme.hasPrefix("piff") ? .piff : .commonEncryption(scheme)])
        #expect(!file.isClear)
        let expected = Set((fixture.entry["keys"]?.array ?? []).compactMap { $0["kid"]?.string })
        #expect(Set(file.keyIDs.map(Hex.encode)).isSuperset(of: expected))
        #expect(file.contentIDs.isEmpty)
    }

    @Test(
        arguments: [
            (
                "media/dcf/av.pdcf-cbc.mp4", [MediaProtection.pdcf(.cbc)],
                ["cid:shared-video@content.example", "cid:shared-audio@content.example"]
            ),
            (
                "media/dcf/av.pdcf-ctr.mp4", [.pdcf(.counter)],
                ["cid:shared-video@content.example", "cid:shared-audio@content.example"]
            ),
            ("media/isma/av.isma-iaec.mp4", [.isma], []),
            (
                "media/marlin/av.acbc.mp4", [.marlin(isGrouped: false)],
                ["urn:marlin:organization:test:cid:video", "urn:marlin:organization:test:cid:audio"]
            ),
            (
                "media/marlin/av.acgk.mp4", [.marlin(isGrouped: true)],
                ["urn:marlin:organization:test:cid:video", "urn:marlin:organization:test:cid:audio"]
            ),
            ("media/dcf/multi-object.dcf", [.dcf(.cbc)], ["cid:multi-1@x", "cid:multi-2@x", "cid:multi-3@x"]),
            ("media/dcf/note.ctr.dcf", [.dcf(.counter)], ["cid:shared/note.txt"]),
            ("media/ext/mp4parser/file6141.odf", [.dcf(.cbc)], ["cid:cid6141", "cid:cid614x-1", "cid:cid614x-2"]),
            ("drm/dcf/book-null.dcf", [], ["cid:book-42"]),
            ("drm/dcf/book-cbc.dcf", [.dcf(.cbc)], ["cid:book-42"]),
        ] as [(String, [MediaProtection], [String])]
    )
    func `of OMA, ISMA and Marlin is named, with its content ids`(name: String, protections: [MediaProtection], ids: [String])
        throws
    {
        let file = try look(name)
        #expect(file.protections == protections)
        #expect(file.contentIDs == ids)
        #expect(file.container == (name.hasSuffix(".mp4") ? .mp4 : .dcf))
        #expect(file.isClear == protections.isEmpty)
        #expect(file.licenses.isEmpty)
    }

    @Test func `of OMA names the addresses of licenses`() throws {
        #expect(try look("drm/dcf/book-cbc.dcf").rightsIssuers == ["https://ri.example.test/"])
        #expect(try look("media/dcf/av.pdcf-cbc.mp4").rightsIssuers == ["http://ri.example/video", "http://ri.example/audio"])
        var writer = try DCFWriter(DCFMemorySink()) { AESBlock(high: 1, low: 1) }
        for address in ["https://ri.example/1", "https://ri.example/1", "https://ri.example/2"] {
            let headers = DCFHeaders(
                cipher: .counter,
                contentID: "cid:1",
                textual: [DCFTextualHeader("Silent", "in-advance;\(address)")]
            )
            try writer.write(BytesReader([1]), contentType: "a/b", headers, key: streamKey)
        }
        let silent = DCFHeaders(
            cipher: .counter,
            contentID: "cid:1",
            textual: [DCFTextualHeader("Silent-Rights-URL", "https://ri.example/3")]
        )
        try writer.write(BytesReader([1]), contentType: "a/b", silent, key: streamKey)
        let file = try MediaFile(BytesReader(try writer.finish().bytes))
        #expect(file.silentLicenseAddresses == ["https://ri.example/1", "https://ri.example/2", "https://ri.example/3"])
        #expect(file.contentIDs == ["cid:1"])
    }

    @Test(arguments: ["av-h264-aac.mp4", "av-hevc-aac.mp4", "book.m4b", "av.frag.mp4", "video-hevc.frag.mp4"])
    func `is nil for a clear file`(name: String) throws {
        let file = try look("media/src/\(name)")
        #expect(file.container == .mp4)
        #expect(file.isClear)
        #expect(file.keyIDs.isEmpty)
    }

    @Test func `names the systems of its boxes`() throws {
        let file = try look("media/ext/shaka-player/dash-clearkey/video-H264-288-400k_init.mp4")
        #expect(file.systems.contains("PlayReady"))
        #expect(file.protections == [.commonEncryption("cenc")])
        #expect(file.keyIDs.map(Hex.encode) == ["4060a865887842679cbf91ae5bae1e72"])
    }

    @Test func `of a transport stream is in its packets and its program`() throws {
        let clear = try look("media/ext/media3/ts/sample_h264.ts")
        #expect(clear.container == .transportStream)
        #expect(clear.isClear)
        // the stream of the playlist is one file or several
        let playlist = String(decoding: try Fixtures.bytes("media/hls/sample-aes/stream.m3u8"), as: UTF8.self)
        let segment = try #require(playlist.split(whereSeparator: \.isNewline).first { !$0.hasPrefix("#") })
        let encrypted = try look("media/hls/sample-aes/\(segment)")
        #expect(encrypted.container == .transportStream)
        #expect(encrypted.protections == [.sampleAES])
        let vectors = try Fixtures.bytes("drm/marlin/cissa-ts-packets.json")
        let cases = try #require(try JSON.parse(vectors.rawSpan)["cases"]?.array)
        for isScrambled in [false, true] {
            var bytes: [UInt8] = []
            for entry in cases {
                let text = entry[isScrambled ? "scrambled_hex" : "clear_hex"]?.string ?? ""
                bytes += try #require(Hex.decode(text))
            }
            #expect(!bytes.isEmpty)
            let file = try MediaFile(BytesReader(bytes))
            #expect(file.protections == (isScrambled ? [.scrambledTransportStream] : []))
            // packets of Blu-ray
            let long = stride(from: 0, to: bytes.count, by: 188).flatMap { [0, 0, 0, 0] + bytes[$0..<$0 + 188] }
            #expect(try MediaFile(BytesReader(long)).protections == file.protections)
            #expect(try MediaFile(BytesReader(long)).container == .transportStream)
        }
    }

    @Test func `of a playlist is in its key lines`() throws {
        let rotating = try look("drm/hls/aes128-rotating.m3u8")
        #expect(rotating.container == .playlist)
        #expect(rotating.protections == [.hls("AES-128")])
        #expect(rotating.keyAddresses == ["https://keys.example.test/k/7", "https://keys.example.test/k/8"])
        #expect(rotating.systems.isEmpty)
        for name in ["fairplay-media", "fairplay-multikey-master"] {
            let file = try look("drm/hls/\(name).m3u8")
            #expect(file.protections == [.hls("SAMPLE-AES")])
            #expect(file.systems == ["FairPlay"])
        }
        let marlin = try look("drm/marlin/marlin-aes128.m3u8")
        #expect(marlin.protections == [.hls("AES-128")])
        #expect(marlin.systems == ["Marlin"])
        #expect(marlin.contentIDs == ["urn:marlin:kid:00112233445566778899aabbccddeeff"])
        #expect(marlin.keyIDs.map(Hex.encode) == ["00112233445566778899aabbccddeeff"])
        #expect(marlin.keyAddresses.isEmpty)
        let text = """
            #EXTM3U
            #EXT-X-TARGETDURATION:6
            #EXT-X-KEY:METHOD=MARLIN-BBTS,URI="urn:marlin-drm",CID="cid:1",SILENT-RIGHTS-URL="https://ri.example/s",RIGHTS-ISSUER-URL="https://ri.example/"
            #EXTINF:6,
            1.ts
            #EXT-X-ENDLIST
            """
        let streams = try MediaFile(BytesReader([0xef, 0xbb, 0xbf] + Array(text.utf8)))
        #expect(streams.protections == [.hls("MARLIN-BBTS")])
        #expect(streams.silentLicenseAddresses == ["https://ri.example/s"])
        #expect(streams.rightsIssuers == ["https://ri.example/"])
        #expect(streams.contentIDs == ["cid:1"])
        let clear = try MediaFile(BytesReader(Array("#EXTM3U\n#EXT-X-TARGETDURATION:6\n#EXTINF:6,\n1.ts\n".utf8)))
        #expect(clear.isClear)
    }

    @Test func `of a segment is not known, but its systems are`() throws {
        let segment = try look("media/dash/timeline-cenc/v-0.m4s")
        #expect(segment.container == .segment)
        #expect(!segment.isClear)
        #expect(segment.protections.isEmpty)
        let system = try withSystems([("edef8ba979d64acea3c827dcd51d21ed", [1])])
        let place = try #require(system.indices.first { system[$0...].starts(with: Array("moov".utf8)) })
        var fragment = system
        fragment.replaceSubrange(place..<place + 4, with: Array("moof".utf8))
        let file = try MediaFile(BytesReader(fragment))
        #expect(file.container == .segment)
        #expect(file.systems == ["Widevine"])
    }

    @Test func `of other files is not known`() throws {
        for bytes in [[], [0], Array("ID3".utf8), numbered(1000), [0x47], [UInt8](repeating: 0x47, count: 100)] {
            let file = try MediaFile(BytesReader(bytes))
            #expect(file.container == .other)
            #expect(!file.isClear)
        }
    }

    @Test func `in the boxes of Marlin and PlayReady names content ids and an address`() throws {
        let id = [UInt8](0..<16)
        var marlin = BoxWriter()
        marlin.box("marl") { writer in
            writer.fullBox("mkid") { writer in
                writer.u32(1)
                writer.u32(21)
                writer.append(id + Array("cid:5".utf8))
            }
        }
        let xml = "<WRMHEADER><DATA><LA_URL>https://la.example/?a=1&amp;b=&quot;&amp;lt;</LA_URL></DATA></WRMHEADER>"
        let text = xml.utf16.flatMap { [UInt8($0 & 0xff), UInt8($0 >> 8)] }
        let record = [1, 0, UInt8(text.count & 0xff), UInt8(text.count >> 8)] + text
        let object = [UInt8(record.count + 6), 0, 0, 0, 1, 0] + record
        let file = try MediaFile(
            BytesReader(
                try withSystems([
                    ("69f908af481646ea910ccd5dcccb0a3a", marlin.bytes), ("9a04f07998404286ab92e65be0885f95", object),
                    ("00112233445566778899aabbccddeeff", []),
                ])
            )
        )
        #expect(file.systems == ["Marlin", "PlayReady", "00112233-4455-6677-8899-aabbccddeeff"])
        #expect(file.contentIDs == ["cid:5"])
        #expect(file.keyIDs == [id])
        #expect(file.silentLicenseAddresses == ["https://la.example/?a=1&b=\"&lt;"])
        // damaged data is passed over
        for length in 0..<object.count {
            let file = try MediaFile(
                BytesReader(
                    try withSystems([
                        ("9a04f07998404286ab92e65be0885f95", Array(object[..<length])),
                        ("69f908af481646ea910ccd5dcccb0a3a", Array(marlin.bytes.prefix(length))),
                    ])
                )
            )
            #expect(file.silentLicenseAddresses.isEmpty)
        }
    }

    private func withSystems(_ systems: [(String, [UInt8])]) throws -> [UInt8] {
        var writer = BoxWriter()
        writer.box("ftyp") { writer in
            writer.fourCC("isom")
            writer.u32(0)
        }
        try writer.box("moov") { writer throws in
            writer.fullBox("mvhd") { $0.zeros(96) }
            for (id, data) in systems {
                let system = try #require(Hex.decode(id))
                ProtectionSystemHeader(system: system, data: data).write(to: &writer)
            }
        }
        return writer.bytes
    }

    @Test(arguments: [
        "media/dcf/multi-object.dcf", "media/marlin/av.acgk.mp4", "media/cenc/audio.cenc.mp4", "drm/marlin/marlin-aes128.m3u8",
    ])
    func `is found or refused, whatever is changed`(name: String) throws {
        let bytes = Array(try Fixtures.bytes(name).prefix(16_384))
        var random = SplitMix(seed: 18)
        for _ in 0..<500 {
            var changed = bytes
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                changed[Int.random(in: changed.indices, using: &random)] = .random(in: 0...255, using: &random)
            }
            if Bool.random(using: &random) { changed.removeLast(Int.random(in: 0..<changed.count, using: &random)) }
            do { _ = try MediaFile(BytesReader(changed)) } catch is Malformed {}
        }
    }
}
