// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes
import CarrelPackager
import Testing

struct `Segment index` {
    @Test(
        arguments: [
            (.mp3(.mpeg1), 44100, 383), (.mp3(.mpeg1), 48000, 417), (.mp3(.mpeg2), 22050, 383), (.mp3(.mpeg25), 8000, 139),
            (.aac(.lc), 44100, 431), (.aac(.lc), 48000, 469), (.aac(.he), 22050, 215), (.aac(.lc), 96000, 938),
        ] as [(AudioCodec, Int, Int)]
    )
    func `aims at ten seconds in whole frames`(codec: AudioCodec, rate: Int, frames: Int) throws {
        let format = try #require(AudioFormat(codec: codec, sampleRate: rate, channels: 1))
        #expect(SegmentIndexBuilder(format: format).framesPerSegment == frames)
    }

    @Test(arguments: [(0.0, 1), (-3, 1), (.nan, 1), (.infinity, 200_000), (0.03, 1), (600, 22969)])
    func `keeps the frames of a segment within bounds`(seconds: Double, frames: Int) throws {
        #expect(SegmentIndexBuilder(format: try Media.mp3, targetDuration: seconds).framesPerSegment == frames)
    }

    @Test func `cuts a title into segments that leave nothing out`() throws {
        let frames = Media.mp3Frames(1000, kilobits: [64, 128, 32])
        let index = try Media(try Media.mp3, frames: frames, encoderDelay: 1105, padding: 700).index
        #expect(index.segmentCount == 3)
        #expect(index.frameCount == 1000)
        #expect(index.totalSamples == 1000 * 1152)
        #expect(index.duration == Double(1000 * 1152 - 1805) / 44100)
        #expect(index.byteCount == Int64(frames.reduce(0) { $0 + $1.count }))
        var offset: Int64 = 0
        var frame = 0
        for number in 0..<3 {
            let segment = index.segment(number)
            #expect(segment.number == number)
            #expect(segment.firstFrame == Int64(frame))
            #expect(segment.startSample == Int64(frame * 1152))
            #expect(segment.frameCount == (number < 2 ? 383 : 234))
            #expect(segment.sampleCount == segment.frameCount * 1152)
            #expect(segment.byteRange.lowerBound == offset)
            let bytes = frames[frame..<frame + segment.frameCount].reduce(0) { $0 + $1.count }
            #expect(segment.byteRange.count == bytes)
            offset = segment.byteRange.upperBound
            frame += segment.frameCount
        }
        #expect(index.segmentNumber(atSample: 0) == 0)
        #expect(index.segmentNumber(atSample: Int64(383 * 1152 - 1)) == 0)
        #expect(index.segmentNumber(atSample: Int64(383 * 1152)) == 1)
        #expect(index.segmentNumber(atSample: .max) == 2)
        #expect(index.segmentNumber(atSample: -5) == 0)
    }

    @Test func `is the same whether frames come one by one or together`() throws {
        let frames = Media.mp3Frames(500, kilobits: [64, 96])
        var one = SegmentIndexBuilder(format: try Media.mp3)
        var lengths = SegmentIndexBuilder(format: try Media.mp3)
        for frame in frames {
            try one.append(frame.rawSpan)
            lengths.append(frameLength: frame.count)
        }
        let together = try Media(try Media.mp3, frames: frames).index
        #expect(one.finish() == together)
        #expect(lengths.finish() == together)
    }

    @Test func `refuses what is not whole frames of the stream`() throws {
        let frames = Media.mp3Frames(3)
        var builder = SegmentIndexBuilder(format: try Media.mp3)
        let cut = (frames[0] + frames[1]).dropLast()
        #expect(throws: Malformed("frame is cut off", at: 208)) { try builder.append(Array(cut).rawSpan) }
        let junk = frames[0] + [1, 2, 3, 4, 5]
        #expect(throws: Malformed("frame header does not belong to the stream", at: 208)) { try builder.append(junk.rawSpan) }
        #expect(builder.frameCount == 2)
    }

    /// Formats, frame lengths and target durations.
    static func indexes() throws -> [SegmentIndex] {
        let mp3 = try Media.mp3
        let aac = try #require(AudioFormat(codec: .aac(.heV2), sampleRate: 22050, channels: 1))
        var all: [SegmentIndex] = []
        for (format, lengths, seconds) in [
            (mp3, [], 10), (mp3, [104], 10), (mp3, (0..<4000).map { 208 + $0 % 2 }, 1),
            (mp3, (0..<5000).map { [104, 208, 1044][$0 * $0 % 3] }, 6), (aac, (0..<9000).map { 7 + $0 * $0 % 900 }, 10),
            (aac, (0..<300).map { _ in 8191 }, 600), (aac, (0..<300).map { $0 < 250 ? 7 : 8191 }, 0.001),
        ] as [(AudioFormat, [Int], Double)] {
            var builder = SegmentIndexBuilder(format: format, targetDuration: seconds)
            for length in lengths { builder.append(frameLength: length) }
            all.append(builder.finish(encoderDelay: 1105, padding: 529))
        }
        return all
    }

    @Test func `is read back as it was stored`() throws {
        for index in try Self.indexes() {
            let stored = index.serialized()
            #expect(try SegmentIndex(serialized: stored.rawSpan) == index)
            #expect(stored.count <= 32 + index.segmentCount * 4)
        }
    }

    @Test func `takes two to three bytes a segment at a constant bit rate`() throws {
        var builder = SegmentIndexBuilder(format: try Media.mp3)
        // 64 kbit/s with padding as encoders spread it
        for i in 1...383 * 720 { builder.append(frameLength: 144_000 * 64 * i / 44100 - 144_000 * 64 * (i - 1) / 44100) }
        let index = builder.finish()
        #expect(index.segmentCount == 720)
        #expect(index.serialized().count < 32 + 720 * 5 / 2)
    }

    @Test func `refuses every stored form that was cut or prolonged`() throws {
        for index in try Self.indexes() where index.segmentCount < 300 {
            let stored = index.serialized()
            for count in 0..<stored.count {
                #expect(throws: Malformed.self) { try SegmentIndex(serialized: stored.rawSpan.extracting(0..<count)) }
            }
            #expect(throws: Malformed.self) { try SegmentIndex(serialized: (stored + [0]).rawSpan) }
        }
    }

    @Test func `survives any change of a stored byte`() throws {
        let index = try Media(try Media.mp3, frames: Media.mp3Frames(30, kilobits: [64, 128, 32]), targetDuration: 0.1).index
        let stored = index.serialized()
        var accepted = 0
        for place in stored.indices {
            for value in 0...255 where UInt8(value) != stored[place] {
                var bytes = stored
                bytes[place] = UInt8(value)
                guard let read = try? SegmentIndex(serialized: bytes.rawSpan) else { continue }
                accepted += 1
                #expect(read != index, "two stored forms mean the same index")
                #expect(read.serialized() == bytes)
            }
        }
        #expect(accepted > 0)
    }

    @Test func `declares bit rates that no segment exceeds`() throws {
        let index = try Media(try Media.mp3, frames: Media.mp3Frames(1000, kilobits: [64, 64, 128])).index
        for form in SegmentForm.allCases {
            let (peak, average) = index.bandwidth(form: form)
            #expect(average <= peak)
            var total = 0
            for number in 0..<index.segmentCount {
                let bits = index.length(ofSegment: number, form: form, encrypted: true) * 8
                total += bits
                #expect(bits * 44100 <= peak * index.segment(number).sampleCount)
            }
            let exact = Double(total) * 44100 / Double(index.totalSamples)
            #expect(Double(average) >= exact && Double(average) < exact + 1)
        }
    }
}
