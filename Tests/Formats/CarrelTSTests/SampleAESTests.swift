// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelTS
import CarrelTesting
import CarrelVideo
import Testing

private let key = Secret(Hex.decode("f37a0ed48a66b8437bddfa7eb5b42585") ?? [])
// #EXT-X-KEY of the playlist
private let iv = AESBlock(high: 0x37eb_a076_4a4a_32c1, low: 0x0f06_a168_fd37_a30a)

private func apply(_ direction: SampleAES.Direction, to read: Demuxed) throws -> Demuxed {
    var read = read
    var cipher = try SampleAES(direction, key: key, iv: iv)
    let codings = Dictionary(read.streams.map { ($0.pid, $0.coding) }) { $1 }
    for i in read.units.indices {
        if let coding = codings[read.units[i].pid] { try cipher.apply(to: &read.units[i].data, coding: coding) }
    }
    return read
}

struct `SAMPLE-AES` {
    @Test(arguments: 0..<3)
    func `of another packager gives its clear twin, unit for unit`(segment: Int) throws {
        let encrypted = try Demuxed(try FixtureSegments.bytes("hls/sample-aes/seg-\(segment).ts"))
        let clear = try Demuxed(try FixtureSegments.bytes("hls/sample-aes/clear/seg-\(segment).ts"))
        #expect(encrypted.faults == [])
        #expect(encrypted.streams.map(\.isSampleEncrypted) == [true, true])
        #expect(encrypted.streams.map(\.clear) == clear.streams)
        #expect(encrypted.units.count == clear.units.count && !clear.units.isEmpty)
        #expect(encrypted.units.map(\.data) != clear.units.map(\.data))
        let decrypted = try apply(.decrypt, to: encrypted)
        for (one, other) in zip(decrypted.units, clear.units) {
            #expect(one.data == other.data && one.presentationTime == other.presentationTime)
        }
        // the other way round: byte for byte what the other packager wrote
        let ours = try apply(.encrypt, to: clear)
        for (one, other) in zip(ours.units, encrypted.units) { #expect(one.data == other.data) }
    }

    @Test func `signals encrypted streams as other packagers do`() throws {
        let encrypted = try Demuxed(try FixtureSegments.bytes("hls/sample-aes/seg-0.ts"))
        let sound = try #require(encrypted.streams.first { $0.coding == .aac })
        let setup = try #require(sound.audioSetup)
        #expect(setup == AudioSetupInformation(type: .aac, setup: [0x11, 0x90, 0x56, 0xe5, 0x00]))
        for stream in encrypted.streams { #expect(stream.clear.sampleEncrypted(setup: stream.audioSetup) == stream) }
        for stream in [ElementaryStream.ac3(pid: 0x101), .enhancedAC3(pid: 0x101)] {
            let setup = AudioSetupInformation(type: .ac3, priming: 7, setup: [1, 2, 3])
            #expect(stream.sampleEncrypted() == nil)
            let made = try #require(stream.sampleEncrypted(setup: setup))
            #expect(made.isSampleEncrypted && made.coding == stream.coding && made.clear == stream && made.audioSetup == setup)
        }
        #expect(ElementaryStream.video(.h265, pid: 0x100).sampleEncrypted() == nil)
        #expect(ElementaryStream.mpegAudio(pid: 0x100, isHalfRate: false).sampleEncrypted() == nil)
        #expect(ElementaryStream.aac(pid: 0x100).audioSetup == nil)
    }

    @Test(
        arguments: [[], [1], Array("zaac".utf8), Array("zaac".utf8) + [0, 0, 2, 0], Array("zaac".utf8) + [0, 0, 1, 2, 0]]
            as [[UInt8]]
    )
    func `refuses a setup that is cut off or of another version`(bytes: [UInt8]) {
        #expect(throws: Malformed.self) { _ = try AudioSetupInformation(bytes.rawSpan) }
    }

    @Test func `comes back for NAL units of every length, full of start codes once encrypted`() throws {
        var random = SplitMix(seed: 8)
        var encrypt = try SampleAES(.encrypt, key: key, iv: iv)
        var decrypt = try SampleAES(.decrypt, key: key, iv: iv)
        for length in 1..<700 {
            let isZeros = length % 3 == 0
            let content = (0..<length).map { _ in isZeros ? 0 : UInt8.random(in: 0...255, using: &random) }
            var slice: [UInt8] = []
            let plain: [UInt8] = [length % 2 == 0 ? 0x65 : 0x41] + content + [0x80]
            EmulationPrevention.append(insertedInto: plain.rawSpan, to: &slice)
            let clear = ByteStreamUnits.join([[9, 0xf0], [0x67] + [UInt8](repeating: 7, count: 60), slice, slice])
            var data = clear
            try encrypt.apply(to: &data, coding: .video(.h264))
            #expect((data != clear) == (slice.count > 48), "\(length)")
            var units = ByteStreamUnits(data.rawSpan)
            var count = 0
            while units.next() != nil { count += 1 }
            #expect(count == 4)
            try decrypt.apply(to: &data, coding: .video(.h264))
            #expect(data == clear)
        }
    }

    @Test func `leaves the first bytes and the last part of a block of a frame clear`() throws {
        var encrypt = try SampleAES(.encrypt, key: key, iv: iv)
        for size in [0, 15, 16, 31, 32, 33, 47, 48, 100] {
            let frame = frames(1, pid: 0x101, size: { _ in size })[0].data
            var data = frame
            try encrypt.apply(to: &data, coding: .aac)
            let blocks = max(0, (size - 16) / 16) * 16
            #expect(
                data.prefix(7 + 16) == frame.prefix(7 + 16) && data.dropFirst(7 + 16 + blocks) == frame.dropFirst(7 + 16 + blocks)
            )
            #expect((data != frame) == (blocks > 0))
        }
    }

    @Test(arguments: [("ac3", ElementaryStream.ac3(pid: 0x100)), ("eac3", .enhancedAC3(pid: 0x100))])
    func `protects AC-3 and E-AC-3 from the seventeenth byte of each syncframe`(codec: String, stream: ElementaryStream)
        async throws
    {
        let directory = TemporaryDirectory()
        try await checkProcess([
            try requirePeer("ffmpeg"), "-v", "error", "-f", "lavfi", "-i", "sine=frequency=440:duration=1", "-c:a", codec, "-f",
            "mpegts", directory.file("a.ts"),
        ])
        let clear = try Demuxed(try #require(directory.read("a.ts")))
        #expect(clear.units.count > 20)
        let encrypted = try apply(.encrypt, to: clear)
        for (one, other) in zip(encrypted.units, clear.units) {
            #expect(one.data.prefix(16) == other.data.prefix(16) && one.data != other.data)
        }
        let setup = AudioSetupInformation(type: .ac3, setup: Array(clear.units[0].data.prefix(10)))
        let whole = try mux(encrypted.units, [try #require(stream.sampleEncrypted(setup: setup))])
        #expect(try apply(.decrypt, to: try Demuxed(whole)).units.map(\.data) == clear.units.map(\.data))
    }

    @Test func `refuses streams that the format does not protect`() throws {
        var cipher = try SampleAES(.decrypt, key: key, iv: iv)
        for coding in [ElementaryStream.Coding.video(.h265), .mpegAudio, .timedID3, .other] {
            #expect(throws: Malformed.self) {
                var data: [UInt8] = [1, 2, 3]
                try cipher.apply(to: &data, coding: coding)
            }
        }
        #expect(throws: Malformed("ADTS header is missing", at: 0)) {
            var data: [UInt8] = [1, 2, 3]
            try cipher.apply(to: &data, coding: .aac)
        }
        #expect(throws: CryptoError.self) { _ = try SampleAES(.decrypt, key: Secret([1, 2, 3]), iv: iv) }
    }
}
