// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes
import CarrelCrypto
import CarrelHLS
import CarrelPackager
import Testing

struct `Segment stream` {
    static let key = Secret(Array(0..<16))

    /// Small and odd ones, and one whose segments are longer than any window.
    static func titles(long: Bool = true) throws -> [Media] {
        let mp3 = try Media.mp3
        let aac = try #require(AudioFormat(codec: .aac(.lc), sampleRate: 44100, channels: 2))
        let short = [
            try Media(mp3, frames: Media.mp3Frames(150), targetDuration: 2),
            try Media(mp3, frames: Media.mp3Frames(70, kilobits: [32, 320, 64, 128]), targetDuration: 1),
            try Media(mp3, frames: Media.mp3Frames(1)),
            try Media(aac, frames: try Media.aacFrames(aac, (0..<100).map { $0 * $0 % 700 }), targetDuration: 1),
        ]
        let frames = try Media.aacFrames(aac, (0..<60).map { _ in 8184 })
        return long ? short + [try Media(aac, frames: frames)] : short
    }

    @Test func `carries packed frames unchanged`() throws {
        for media in try Self.titles() {
            for number in 0..<media.index.segmentCount {
                let segment = media.index.segment(number)
                let range = Int(segment.byteRange.lowerBound)..<Int(segment.byteRange.upperBound)
                let ticks = (Int(segment.startSample) * 90_000 * 2 / 44100 + 1) / 2 + 45_000
                let expected = PackedAudio.timestampTag(UInt64(ticks)) + media.bytes[range]
                #expect(try media.segment(number, .packed) == expected)
            }
        }
    }

    @Test(arguments: SegmentForm.allCases)
    func `encrypts the whole segment under its sequence number`(form: SegmentForm) throws {
        for media in try Self.titles() {
            for number in 0..<media.index.segmentCount {
                let clear = try media.segment(number, form)
                let cipher = try media.segment(number, form, key: Self.key)
                #expect(cipher.count == (clear.count / 16 + 1) * 16)
                #expect(try decrypt(cipher, key: Self.key, sequence: UInt64(number)) == clear)
            }
        }
    }

    @Test(arguments: SegmentForm.allCases, [1, 7, 15, 16, 17, 188, 1000, 65_535, 1 << 20])
    func `gives the same bytes however they are read`(form: SegmentForm, step: Int) throws {
        for media in try Self.titles(long: step >= 1000) {
            let number = media.index.segmentCount - 1
            #expect(try media.segment(number, form, key: Self.key, step: step) == media.segment(number, form, key: Self.key))
            #expect(try media.segment(number, form, step: step) == media.segment(number, form))
        }
    }

    @Test(arguments: SegmentForm.allCases, [1, 13, 188, 4096])
    func `gives the same bytes however the media comes`(form: SegmentForm, most: Int) throws {
        for media in try Self.titles(long: most > 1000) {
            let expected = try media.segment(0, form, key: Self.key)
            #expect(try media.segment(0, form, key: Self.key, input: BytesInput(media.bytes, most: most)) == expected)
        }
    }

    @Test func `lets the continuity counters of each packet identifier run on from segment to segment`() throws {
        for media in try Self.titles() {
            var last: [UInt16: UInt8] = [:]
            for number in 0..<media.index.segmentCount {
                let bytes = try media.segment(number, .transportStream)
                for start in stride(from: 0, to: bytes.count, by: 188) {
                    let pid = bytes.rawSpan.u16(at: start + 1) & 0x1fff
                    let counter = bytes[start + 3] & 15
                    if let before = last[pid] { #expect(counter == (before + 1) & 15, "PID \(pid), segment \(number)") }
                    last[pid] = counter
                }
            }
            #expect(last.count == 3)
        }
    }

    @Test(arguments: SegmentForm.allCases)
    func `continues after skipped bytes`(form: SegmentForm) throws {
        let media = try Media(try Media.mp3, frames: Media.mp3Frames(400))
        let whole = try media.segment(0, form, key: Self.key)
        for start in [0, 1, 15, 16, 17, 20_000, whole.count - 1, whole.count] {
            let stream = try SegmentStream(
                index: media.index,
                number: 0,
                form: form,
                key: Self.key,
                input: BytesInput(media.bytes)
            )
            try stream.skip(start)
            #expect(try readAll(stream, step: 999) == Array(whole[start...]))
        }
    }

    @Test(arguments: SegmentForm.allCases)
    func `reads the media once, and nothing before the first byte is asked for`(form: SegmentForm) throws {
        let media = try Media(try Media.mp3, frames: Media.mp3Frames(1000, kilobits: [128]))
        let input = BytesInput(media.bytes)
        let stream = try SegmentStream(index: media.index, number: 1, form: form, key: Self.key, input: input)
        #expect(input.reads == 0)
        _ = try readAll(stream)
        #expect(input.bytesRead == media.index.segment(1).byteRange.count)
        #expect(input.reads <= 4)
        #expect(try read(stream, 100).isEmpty, "the end stays the end")
    }

    @Test(arguments: SegmentForm.allCases)
    func `streams a segment of ten minutes in bounded memory`(form: SegmentForm) throws {
        let media = try Media(try Media.mp3, frames: Media.mp3Frames(22_969, kilobits: [128]), targetDuration: 600)
        #expect(media.index.segmentCount == 1)
        let input = BytesInput(media.bytes)
        let stream = try SegmentStream(index: media.index, number: 0, form: form, key: Self.key, input: input)
        var given = 0
        var ahead = 0
        while true {
            let piece = try read(stream, 20_000)
            if piece.isEmpty { break }
            given += piece.count
            ahead = max(ahead, input.bytesRead - given)
        }
        #expect(given == stream.length)
        #expect(ahead <= 96 << 10)
    }

    @Test(arguments: SegmentForm.allCases)
    func `ends with an error when the media ends too early`(form: SegmentForm) throws {
        let media = try Media(try Media.mp3, frames: Media.mp3Frames(400))
        let stream = try SegmentStream(
            index: media.index,
            number: 0,
            form: form,
            key: Self.key,
            input: BytesInput(Array(media.bytes.prefix(50_000)))
        )
        let caught = #expect(throws: PackagerError.self) { try readAll(stream) }
        #expect(caught?.code == .mediaTruncated)
        let again = #expect(throws: PackagerError.self) { try read(stream, 10) }
        #expect(again?.code == .failedBefore)
    }

    @Test func `notices media that is not what the index says`() throws {
        let media = try Media(try Media.mp3, frames: Media.mp3Frames(400))
        var wrecked = media.bytes
        wrecked[208 * 100] = 0
        // as many bytes, as many frames, but grouped otherwise
        let other = Media.mp3Frames(400, kilobits: [32, 96]).flatMap(\.self)
        for bytes in [wrecked, other, Array(media.bytes.dropFirst())] {
            let caught = #expect(throws: PackagerError.self) {
                try media.segment(0, .transportStream, input: BytesInput(bytes + [0, 0, 0, 0]))
            }
            #expect(caught?.code == .mediaDamaged)
        }
    }

    @Test func `throws on what the input throws`() throws {
        struct Broken: Error {}
        final class BrokenInput: SegmentInput {
            func read(at offset: Int64, into out: inout OutputRawSpan) throws { throw Broken() }
        }
        let media = try Media(try Media.mp3, frames: Media.mp3Frames(4))
        #expect(throws: Broken.self) { try media.segment(0, .packed, input: BrokenInput()) }
    }

    @Test func `refuses numbers without a segment and keys of another length`() throws {
        let media = try Media(try Media.mp3, frames: Media.mp3Frames(4))
        for number in [-1, 1, .max] {
            let caught = #expect(throws: PackagerError.self) { try media.segment(number, .packed) }
            #expect(caught?.code == .noSegment)
        }
        let caught = #expect(throws: PackagerError.self) { try media.segment(0, .packed, key: Secret([1, 2, 3])) }
        #expect(caught?.code == .key)
    }

    @Test(
        arguments: [
            (.mp3(.mpeg1), "ts", "video/mp2t", "mp3", "audio/mpeg"), (.aac(.he), "ts", "video/mp2t", "aac", "audio/aac"),
        ] as [(AudioCodec, String, String, String, String)]
    )
    func `names its forms as players expect`(codec: AudioCodec, ts: String, tsType: String, packed: String, packedType: String) {
        #expect(SegmentForm.transportStream.fileExtension(for: codec) == ts)
        #expect(SegmentForm.transportStream.mediaType(for: codec) == tsType)
        #expect(SegmentForm.packed.fileExtension(for: codec) == packed)
        #expect(SegmentForm.packed.mediaType(for: codec) == packedType)
        #expect(SegmentForm(rawValue: "ts") == .transportStream && SegmentForm(rawValue: "packed") == .packed)
    }
}
