// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes
import CarrelCrypto
import CarrelPackager

/// A title made for measuring.
struct Title {
    let name: String
    let index: SegmentIndex
    let input: FileInput

    /// Creates segments of frames with the lengths of a constant bit rate; AAC's vary by a fifth.
    init(_ name: String, _ format: AudioFormat, kilobits: Int, segments: Int) {
        var builder = SegmentIndexBuilder(format: format)
        var media: [UInt8] = []
        let frames = builder.framesPerSegment * segments
        let bitsPerFrame = kilobits * 1000 * format.samplesPerFrame
        var random: UInt64 = 1
        for i in 1...frames {
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let exact = bitsPerFrame * i / format.sampleRate / 8 - bitsPerFrame * (i - 1) / format.sampleRate / 8
            if let adts = format.adts {
                let length = exact * (80 + Int(random >> 33) % 41) / 100
                precondition(adts.append(payloadLength: length - 7, to: &media))
                media += [UInt8](repeating: UInt8(random >> 56), count: length - 7)
            } else {
                // padding bit as the constant rate asks for it
                let plain = 144 * kilobits * 1000 / format.sampleRate
                media += [0xff, 0xfb, 0x50 | (exact > plain ? 2 : 0), 0xc4]
                media += [UInt8](repeating: UInt8(random >> 56), count: exact - 4)
            }
        }
        do { try builder.append(media.rawSpan) } catch { fatalError("\(error)") }
        self.name = name
        index = builder.finish()
        input = FileInput(media)
    }

    /// All segments through one buffer; returns the bytes given.
    func make(_ form: SegmentForm, key: Secret?, _ buffer: UnsafeMutableRawBufferPointer, keep: (UnsafeRawBufferPointer) -> Void)
        throws -> Int
    {
        var total = 0
        for number in 0..<index.segmentCount {
            let stream = try SegmentStream(index: index, number: number, form: form, key: key, input: input)
            while true {
                var out = unsafe OutputRawSpan(buffer: buffer, initializedCount: 0)
                try stream.read(into: &out)
                let count = unsafe out.finalize(for: buffer)
                if count == 0 { break }
                unsafe keep(UnsafeRawBufferPointer(rebasing: buffer.prefix(count)))
                total += count
            }
        }
        return total
    }

    /// All segments, up to 16 at a time side by side, as a busy server makes them; returns the bytes given.
    func makeTogether(_ form: SegmentForm, key: Secret, _ buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        let room = buffer.count / 16
        var total = 0
        for start in stride(from: 0, to: index.segmentCount, by: 16) {
            var drafts: [SegmentStream.Draft] = []
            for number in start..<min(start + 16, index.segmentCount) {
                let stream = try SegmentStream(index: index, number: number, form: form, key: key, input: input)
                let place = (number - start) * room
                let bytes = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[place..<place + stream.length])
                var out = unsafe OutputRawSpan(buffer: bytes, initializedCount: 0)
                try stream.draft(into: &out)
                total += unsafe out.finalize(for: bytes)
                unsafe drafts.append(SegmentStream.Draft(of: stream, in: bytes))
            }
            try SegmentStream.encrypt(drafts)
        }
        return total
    }

    /// Reads the media of all segments, and no more.
    func read(_ buffer: UnsafeMutableRawBufferPointer) throws {
        for number in 0..<index.segmentCount {
            let range = index.segment(number).byteRange
            let room = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(range.count))
            var out = unsafe OutputRawSpan(buffer: room, initializedCount: 0)
            try input.read(at: range.lowerBound, into: &out)
            _ = unsafe out.finalize(for: room)
        }
    }
}
