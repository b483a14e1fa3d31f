// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelMP4
import CarrelMedia
import CarrelMediaPackaging
import CarrelMediaSource
import CarrelProxy
import CarrelTesting
import Testing

struct `Subtitles of an HLS source` {
    enum Coding: String, CaseIterable { case wvtt, stpp, vtt }

    private static func box(_ type: String, _ content: [UInt8]) -> [UInt8] {
        var out: [UInt8] = []
        out.append(bigEndian: UInt32(content.count + 8))
        return out + Array(type.utf8) + content
    }

    /// The parameters of samples of Common Encryption under the pictures' key.
    private static let protection = TrackEncryption(keyID: ProtectedPackage.videoKey.id, ivSize: 8)

    private static func initialization(_ coding: Coding, isProtected: Bool = false) -> [UInt8] {
        let head: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 1]
        let names = Array("http://www.w3.org/ns/ttml\0\0\0".utf8)
        let entry = box(coding.rawValue, head + (coding == .wvtt ? box("vttC", Array("WEBVTT".utf8)) : names))
        let handler: FourCC = coding == .wvtt ? "text" : "subt"
        let written = isProtected ? SampleEntry.protected(entry, handler: handler, scheme: "cenc", protection) : entry
        return InitializationSegment(MovieTrack(id: 1, handler: handler, timescale: 1000, entries: [written])).bytes
    }

    /// A segment of two seconds with a cue in its second half.
    private static func segment(_ coding: Coding, _ place: Int, isProtected: Bool = false) throws -> [UInt8] {
        let start = place * 2000
        let (first, last) = ("00:00:0\(place * 2 + 1).000", "00:00:0\(place * 2 + 2).000")
        var samples: [(duration: Int64, bytes: [UInt8])]
        switch coding {
        case .vtt: return Array("WEBVTT\n\n\(first) --> \(last)\nCue \(place)\n".utf8)
        case .wvtt:
            samples = [(1000, box("vtte", [])), (1000, box("vttc", box("payl", Array("Cue \(place)".utf8))))]
        case .stpp:
            let cue = "<p begin='\(first)' end='\(last)'>Cue \(place)</p>"
            let text = "<tt xmlns='http://www.w3.org/ns/ttml'><body><div>\(cue)</div></body></tt>"
            samples = [(2000, Array(text.utf8))]
        }
        var fragment = MediaFragment(sequenceNumber: UInt32(place + 1), trackID: 1, decodeTime: UInt64(start))
        for sample in samples {
            let fits = fragment.append(size: sample.bytes.count, duration: sample.duration, compositionOffset: 0, isSync: true)
            #expect(fits)
        }
        if isProtected {
            var cipher = try SampleCipher(.cenc, key: ProtectedPackage.videoKey.key, encrypts: true)
            var made = MediaFragment.Protection()
            for i in samples.indices {
                let encryption = SampleEncryption(protection, iv: AESBlock(high: UInt64(place * 2 + i + 1), low: 0))
                var elements = samples[i].bytes.mutableSpan
                var bytes = unsafe elements.mutableBytes
                try cipher.apply(to: &bytes, in: 0..<bytes.byteCount, encryption)
                let fits = made.append(encryption, ivSize: 8)
                #expect(fits)
            }
            fragment.protection = made
        }
        return SegmentType.bytes + fragment.header + samples.flatMap(\.bytes)
    }

    /// Adds a rendition of subtitles to a package.
    private static func add(_ coding: Coding, isEncrypted: Bool, to package: ProtectedPackage) throws {
        var list = "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:2\n"
        let vector = [UInt8](repeating: 5, count: 16)
        if isEncrypted {
            _ = package.directory.write("out/text.key", MarkedSegment.key)
            list += "#EXT-X-KEY:METHOD=AES-128,URI=\"text.key\",IV=0x\(Hex.encode(vector))\n"
        }
        func sealed(_ bytes: [UInt8]) throws -> [UInt8] { isEncrypted ? try MarkedSegment.encrypted(bytes, vector) : bytes }
        if coding != .vtt {
            _ = package.directory.write("out/text-init.mp4", try sealed(initialization(coding)))
            list += "#EXT-X-MAP:URI=\"text-init.mp4\"\n"
        }
        for place in 0..<3 {
            _ = package.directory.write("out/text-\(place)", try sealed(segment(coding, place)))
            list += "#EXTINF:2,\ntext-\(place)\n"
        }
        package.write("text.m3u8", list + "#EXT-X-ENDLIST\n")
        let top = try package.text("master.m3u8")
        let line = "#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID=\"text\",NAME=\"Text\",LANGUAGE=\"de\",URI=\"text.m3u8\"\n"
        package.write("master.m3u8", top + line)
    }

    /// The texts of all segments.
    private static func texts(_ session: PlaylistProxy.Session) async throws -> [String] {
        let list = session.url.replacing("index.m3u8", with: "media.m3u8?text=0")
        #expect(try await !ProxyRun.text(list).contains("EXT-X-MAP"))
        var texts: [String] = []
        for address in try await ProxyRun.addresses(list) {
            let got = try await ProxyRun.get(address)
            #expect(got.status == 200 && got.headers["Content-Type"]?.hasPrefix("text/vtt") == true)
            texts.append(String(decoding: got.body, as: UTF8.self))
        }
        return texts
    }

    @Test(arguments: Coding.allCases, [false, true])
    func `in fragments and in files go out in the clear as WebVTT on the clock of the output`(coding: Coding, isEncrypted: Bool)
        async throws
    {
        let package = try await ProtectedPackage { $0.scheme = .cbcs }
        try Self.add(coding, isEncrypted: isEncrypted, to: package)
        for output in [PlaylistProxy.Output.transportStream, .fragments] {
            let run = try ProxyRun { $0.output = output }
            let session = try run.proxy.makeURL(package.playlist, .hls, keys: package.keys)
            let texts = try await Self.texts(session)
            #expect(texts.count == 3)
            for (place, text) in texts.enumerated() {
                // an unencrypted file is unchanged next to fragments
                let map = "X-TIMESTAMP-MAP=MPEGTS:\(output == .transportStream ? 900_000 : 0),LOCAL:00:00:00.000\n"
                let hasMap = output == .transportStream || coding != .vtt
                let cue = "00:00:0\(place * 2 + 1).000 --> 00:00:0\(place * 2 + 2).000\nCue \(place)\n"
                #expect(text == "WEBVTT\n\(hasMap ? map : "")\n\(cue)")
            }
            #expect(run.codes == [])
            await run.proxy.stop()
        }
    }

    @Test(arguments: Coding.allCases) func `go out in the clear where the output is encrypted`(coding: Coding) async throws {
        let package = try await ProtectedPackage { $0.scheme = .cbcs }
        try Self.add(coding, isEncrypted: false, to: package)
        let run = try ProxyRun { $0.encryptsOutput = true }
        let session = try run.proxy.makeURL(package.playlist, .hls, keys: package.keys)
        // no key line says otherwise
        let list = try await ProxyRun.text(session.url.replacing("index.m3u8", with: "media.m3u8?text=0"))
        #expect(!list.contains("EXT-X-KEY"))
        for text in try await Self.texts(session) { #expect(text.hasPrefix("WEBVTT\n")) }
        await run.proxy.stop()
    }

    @Test(arguments: Coding.allCases) func `keep the clock of accompanying transport streams`(coding: Coding) async throws {
        let package = try await ProtectedPackage { options in
            options.isTransport = true
            options.transport = .aes128
            options.audioKeys = options.videoKeys
        }
        try Self.add(coding, isEncrypted: true, to: package)
        let run = try ProxyRun()
        let session = try run.proxy.makeURL(package.playlist, .hls, keys: package.keys)
        for (place, text) in try await Self.texts(session).enumerated() {
            #expect(text.hasPrefix(coding == .vtt ? "WEBVTT\n\n" : "WEBVTT\nX-TIMESTAMP-MAP=MPEGTS:0,LOCAL:00:00:00.000\n\n"))
            #expect(text.hasSuffix("\nCue \(place)\n"))
        }
        #expect(run.codes == [])
        await run.proxy.stop()
    }

    @Test func `without their key are refused`() async throws {
        let package = try await ProtectedPackage { $0.scheme = .cbcs }
        try Self.add(.wvtt, isEncrypted: true, to: package)
        _ = try await runProcess(["/bin/rm", package.directory.file("out/text.key")])
        let run = try ProxyRun()
        let session = try run.proxy.makeURL(package.playlist, .hls, keys: package.keys)
        let list = session.url.replacing("index.m3u8", with: "media.m3u8?text=0")
        let got = try await ProxyRun.get(try #require(try await ProxyRun.addresses(list).first))
        #expect(got.status >= 400 && run.codes.count == 1)
        await run.proxy.stop()
    }

    @Test(arguments: [PlaylistProxy.Output.transportStream, .fragments])
    func `of Common Encryption are decrypted by the ids of their keys`(output: PlaylistProxy.Output) async throws {
        let package = try await ProtectedPackage { $0.scheme = .cbcs }
        try Self.add(.wvtt, isEncrypted: false, to: package)
        _ = package.directory.write("out/text-init.mp4", Self.initialization(.wvtt, isProtected: true))
        for place in 0..<3 {
            let segment = try Self.segment(.wvtt, place, isProtected: true)
            let clear = try Self.segment(.wvtt, place)
            #expect(segment != clear)
            _ = package.directory.write("out/text-\(place)", segment)
        }
        let run = try ProxyRun { $0.output = output }
        let session = try run.proxy.makeURL(package.playlist, .hls, keys: package.keys)
        for (place, text) in try await Self.texts(session).enumerated() {
            #expect(text.hasPrefix("WEBVTT\nX-TIMESTAMP-MAP=") && text.hasSuffix("\nCue \(place)\n"))
        }
        #expect(run.codes == [])
        let without = try run.proxy.makeURL(package.playlist, .hls)
        let list = without.url.replacing("index.m3u8", with: "media.m3u8?text=0")
        try await ProxyRun.expectRefusal(try #require(try await ProxyRun.addresses(list).first), .missingKey, 403, of: run)
        await run.proxy.stop()
    }
}
