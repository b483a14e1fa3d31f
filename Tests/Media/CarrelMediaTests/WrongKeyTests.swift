// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelMP4
import CarrelMedia
import CarrelTesting
import CarrelVideo
import ProtectedMedia
import Testing

/// Right keys, but wrong ones for some names.
private struct WrongKeys: ContentKeySource {
    var right: GivenKeys
    var wrong: Set<ContentKeyName>
    var byte: UInt8

    /// The keys of a file but for its tracks of one kind.
    init(_ fixture: ProtectedFixture, _ file: MP4File, kind: String, byte: UInt8) throws {
        let tracks = file.tracks.filter { $0.kind == kind }
        right = fixture.keys
        wrong = Set(try file.keyIDs(of: tracks).map { ContentKeyName.id($0.id.bytes) } + tracks.map { .track($0.id) })
        self.byte = byte
    }

    func key(_ name: ContentKeyName) async -> ContentKeyAnswer {
        guard wrong.contains(name) else { return await right.key(name) }
        return .granted(ContentKeyGrant(key: Secret([UInt8](repeating: byte, count: 16))))
    }
}

struct `A wrong key` {
    private static func open(_ name: String) throws -> MP4File { try MP4File(BytesReader(try Fixtures.bytes("media/\(name)"))) }

    /// The errors of each way of decrypting.
    private static func errors(_ file: MP4File, _ keys: some ContentKeySource, kind: String) async throws -> [any Error] {
        var errors: [any Error] = []
        var sink = BytesSink()
        do {
            var copy = try ClearCopy(file, keys: try await TrackDecrypter.keys(of: file, from: keys))
            try copy.write(to: &sink)
        } catch { errors.append(error) }
        do {
            let track = try #require(file.tracks.first { $0.kind == kind })
            let reader = try ClearTrackReader(track, of: file, try await FileProtection(file, from: keys))
            while try reader.next({ _, _, _ in }) != nil {}
        } catch { errors.append(error) }
        return errors
    }

    @Test(arguments: ProtectedFixture.named("cenc/").filter { $0.samples("a") != nil }, [7, 0x55] as [UInt8])
    func `is detected for audio in every file`(fixture: ProtectedFixture, byte: UInt8) async throws {
        let file = try Self.open(fixture.name)
        let keys = try WrongKeys(fixture, file, kind: "soun", byte: byte)
        let errors = try await Self.errors(file, keys, kind: "soun")
        #expect(errors.count == 2)
        // tracks may share a key
        let ids = try file.keyIDs(of: file.tracks)
        for error in errors {
            let error = try #require(error as? MediaError)
            #expect(error.code == .wrongKey)
            #expect(ids.contains { error.message.contains("key id \($0.id) (track \($0.track))") })
        }
    }

    @Test func `is noticed in fragments that come in pieces`() async throws {
        let fixture = try #require(ProtectedFixture.named("cenc/av.cenc.mp4").first)
        let bytes = try Fixtures.bytes("media/\(fixture.name)")
        let keys = try WrongKeys(fixture, try MP4File(BytesReader(bytes)), kind: "soun", byte: 7)
        var fragments = ClearFragments()
        fragments.append(bytes.rawSpan)
        fragments.end()
        await #expect(throws: MediaError(.wrongKey, "")) {
            while let event = try fragments.next() {
                switch event {
                case .movie, .fragment: try await fragments.resolveKeys(from: keys)
                default: break
                }
            }
        }
    }

    /// Programs that leave the header of slices clear leave nothing to detect; ffmpeg encrypts everything after the header of a
    /// NAL unit.
    @Test func `of pictures is noticed where slice headers are encrypted`() async throws {
        let fixture = try #require(ProtectedFixture.named("cenc/av-nonfrag.cenc.mp4").first)
        let file = try Self.open(fixture.name)
        for byte: UInt8 in 1...20 {
            let keys = try WrongKeys(fixture, file, kind: "vide", byte: byte)
            let track = try #require(file.tracks.first { $0.kind == "vide" })
            let reader = try ClearTrackReader(track, of: file, try await FileProtection(file, from: keys))
            #expect(throws: MediaError(.wrongKey, "")) { while try reader.next({ _, _, _ in }) != nil {} }
        }
    }

    @Test(arguments: ["dcf/av.pdcf-ctr.mp4", "isma/av.isma-iaec.mp4"])
    func `is noticed where samples are encrypted as a whole without padding`(name: String) async throws {
        let fixture = try #require(ProtectedFixture.named(name).first)
        let file = try Self.open(name)
        for kind in ["vide", "soun"] {
            let keys = try WrongKeys(fixture, file, kind: kind, byte: 9)
            var noticed = false
            do {
                let protection = try await FileProtection(file, from: keys)
                for track in file.tracks where track.kind == kind {
                    let reader = try ClearTrackReader(track, of: file, protection)
                    while try reader.next({ _, _, _ in }) != nil {}
                }
            } catch let error as MediaError { noticed = error.code == .wrongKey }
            #expect(noticed, "\(kind)")
        }
    }

    @Test(arguments: [BlockPattern.whole, BlockPattern(crypt: 5, skip: 5)])
    func `of pictures is noticed in a film whose slice headers are clear`(pattern: BlockPattern) throws {
        let entry = try #require(try Self.open("src/av-h264-aac.mp4").tracks.first { $0.kind == "vide" }?.entries.first)
        var right = ClearSampleCheck(entry)
        var wrong = ClearSampleCheck(entry)
        var random = SplitMix(seed: 3)
        var isNoticed = false
        var parameters = SampleEncryption(iv: AESBlock(high: 0, low: 0), pattern: pattern)
        parameters.append(clear: 100, protected: (1 << 20) - 100)
        for _ in 0..<64 where !isNoticed {
            // what a wrong key makes of a slice, and what it was
            var bytes = [UInt8](repeating: 0, count: 1 << 20)
            for at in stride(from: 0, to: bytes.count, by: 8) {
                var word = random.next()
                for i in 0..<8 {
                    bytes[at + i] = UInt8(truncatingIfNeeded: word)
                    word >>= 8
                }
            }
            var slice: [UInt8] = []
            EmulationPrevention.append(insertedInto: bytes.rawSpan.extracting(5..<(1 << 20) - 100), to: &slice)
            bytes.replaceSubrange(0..<5, with: [0, 0x0f, 0xff, 0xfc, 0x41])
            slice = [0, 0x0f, 0xff, 0xfc, 0x41] + slice
            slice += [UInt8](repeating: 0xff, count: (1 << 20) - slice.count)
            #expect(right.fault(of: slice.rawSpan, parameters) == nil)
            isNoticed = wrong.fault(of: bytes.rawSpan, parameters) != nil
        }
        #expect(isNoticed)
    }

    private enum Layout: CaseIterable { case whole, behindUnitHeaders }

    /// How a sample is encrypted by a layout.
    private static func parameters(_ sample: [UInt8], _ number: Int, _ layout: Layout, _ codec: VideoCodec?) throws
        -> SampleEncryption
    {
        var parameters = SampleEncryption(iv: AESBlock(high: UInt64(number), low: 6))
        guard layout == .behindUnitHeaders, let codec else { return parameters }
        var units = LengthPrefixedUnits(sample.rawSpan, lengthSize: 4)
        while let unit = try units.next() {
            let clear = min(unit.count, codec.unitHeaderLength)
            parameters.append(clear: 4 + clear, protected: unit.count - clear)
        }
        return parameters
    }

    /// Packagers leave the headers of slices clear, and encrypt whole blocks up to the end of each unit.
    @Test(arguments: ["src/av-h264-aac.mp4", "src/av-hevc-aac.mp4"])
    func `is told from the right one by the ends of slices whose headers are clear`(name: String) throws {
        let file = try Self.open(name)
        let track = try #require(file.tracks.first { $0.kind == "vide" })
        let entry = try #require(track.entries.first)
        var right = ClearSampleCheck(entry)
        var wrong = ClearSampleCheck(entry)
        var encrypt = try SampleCipher(.cenc, key: Secret([UInt8](repeating: 1, count: 16)), encrypts: true)
        var decrypt = try SampleCipher(.cenc, key: Secret([UInt8](repeating: 2, count: 16)))
        var isNoticed = false
        // a short film is looked at again, under other vectors
        for round in 0..<4 {
            var samples = file.samples(of: track)
            while let sample = try samples.next() {
                var bytes = try file.reader.readAll(sample.range)
                var parameters = SampleEncryption(iv: AESBlock(high: UInt64(samples.index), low: UInt64(round) << 32))
                var units = LengthPrefixedUnits(bytes.rawSpan, lengthSize: 4)
                while let unit = try units.next() {
                    let protected = max(0, unit.count - 48) / 16 * 16
                    parameters.append(clear: 4 + unit.count - protected, protected: protected)
                }
                if round == 0 { #expect(right.fault(of: bytes.rawSpan, parameters) == nil, "sample \(samples.index)") }
                do {
                    var elements = bytes.mutableSpan
                    var span = unsafe elements.mutableBytes
                    try encrypt.apply(to: &span, in: 0..<sample.size, parameters)
                    try decrypt.apply(to: &span, in: 0..<sample.size, parameters)
                }
                if !isNoticed { isNoticed = wrong.fault(of: bytes.rawSpan, parameters) != nil }
            }
        }
        #expect(right.isVerified)
        #expect(isNoticed && !wrong.isVerified)
    }

    /// The clear samples of a file: each through a right key and a wrong one.
    @Test(
        arguments: [
            "src/av-h264-aac.mp4", "src/av-hevc-aac.mp4", "src/book.m4b", "src/av.frag.mp4", "src/video-hevc.frag.mp4",
            "src/audio.mp4",
            "ext/media3/sample_fragmented.mp4",
        ],
        Layout.allCases
    )
    private func `is told from the right one by the samples of many programs`(name: String, layout: Layout) throws {
        let file = try Self.open(name)
        for track in file.tracks where track.kind == "vide" || track.kind == "soun" {
            let entry = try #require(track.entries.first)
            let codec: VideoCodec? = track.kind == "soun" ? nil : "\(entry.format)".hasPrefix("avc") ? .h264 : .h265
            var right = ClearSampleCheck(entry)
            var wrong = ClearSampleCheck(entry)
            var encrypt = try SampleCipher(.cenc, key: Secret([UInt8](repeating: 1, count: 16)), encrypts: true)
            var decrypt = try SampleCipher(.cenc, key: Secret([UInt8](repeating: 2, count: 16)))
            var noticedAt: Int?
            var samples = file.samples(of: track)
            while let sample = try samples.next() {
                var bytes = try file.reader.readAll(sample.range)
                let parameters = try Self.parameters(bytes, samples.index, layout, codec)
                // each file is looked at throughout
                right.restart()
                #expect(right.fault(of: bytes.rawSpan, parameters) == nil, "sample \(samples.index) of track \(track.id)")
                do {
                    var elements = bytes.mutableSpan
                    var span = unsafe elements.mutableBytes
                    let range = 0..<sample.size
                    try encrypt.apply(to: &span, in: range, parameters)
                    try decrypt.apply(to: &span, in: range, parameters)
                }
                if wrong.fault(of: bytes.rawSpan, parameters) != nil { noticedAt = noticedAt ?? samples.index }
            }
            #expect(noticedAt.map { $0 <= 32 } == true, "track \(track.id), noticed at \(noticedAt ?? -1)")
        }
    }
}
