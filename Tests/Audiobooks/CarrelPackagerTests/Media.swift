// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes
import CarrelCrypto
import CarrelPackager
import Testing

/// An elementary stream in memory, with its index.
struct Media {
    let index: SegmentIndex
    let bytes: [UInt8]

    init(_ format: AudioFormat, frames: [[UInt8]], targetDuration: Double = 10, encoderDelay: Int = 0, padding: Int = 0) throws {
        try self.init(
            format,
            stream: frames.flatMap(\.self),
            targetDuration: targetDuration,
            encoderDelay: encoderDelay,
            padding: padding
        )
    }

    init(
        _ format: AudioFormat,
        stream: [UInt8],
        targetDuration: Double = 10,
        encoderDelay: Int = 0,
        padding: Int = 0
    ) throws {
        var builder = SegmentIndexBuilder(format: format, targetDuration: targetDuration)
        try builder.append(stream.rawSpan)
        index = builder.finish(encoderDelay: encoderDelay, padding: padding)
        bytes = stream
    }

    /// Frames of MPEG-1 Layer III at 44.1 kHz whose bodies tell them apart: silence to no decoder, but walked like any others.
    static func mp3Frames(_ count: Int, kilobits: [Int] = [64]) -> [[UInt8]] {
        let indices = [
            32: 1, 40: 2, 48: 3, 56: 4, 64: 5, 80: 6, 96: 7, 112: 8, 128: 9, 160: 10, 192: 11, 224: 12, 256: 13, 320: 14,
        ]
        return (0..<count).map { i in
            let rate = kilobits[i % kilobits.count]
            let length = 144_000 * rate / 44100
            let body = [UInt8](repeating: UInt8(truncatingIfNeeded: i), count: length - 5)
            return [0xff, 0xfb, UInt8(indices[rate] ?? 0) << 4, 0xc4] + body + [0x55]
        }
    }

    static var mp3: AudioFormat { get throws { try #require(AudioFormat(codec: .mp3(.mpeg1), sampleRate: 44100, channels: 1)) } }

    /// ADTS frames with bodies of these lengths.
    static func aacFrames(_ format: AudioFormat, _ lengths: [Int]) throws -> [[UInt8]] {
        let template = try #require(format.adts)
        return try lengths.enumerated().map { i, length in
            var frame: [UInt8] = []
            try #require(template.append(payloadLength: length, to: &frame))
            return frame + [UInt8](repeating: UInt8(truncatingIfNeeded: i), count: length)
        }
    }

    /// A whole segment, read in pieces of `step` bytes.
    func segment(
        _ number: Int,
        _ form: SegmentForm,
        key: Secret? = nil,
        step: Int = 1 << 16,
        input: (any SegmentInput)? = nil
    ) throws -> [UInt8] {
        let stream = try SegmentStream(
            index: index,
            number: number,
            form: form,
            key: key,
            input: input ?? BytesInput(bytes)
        )
        let whole = try readAll(stream, step: step)
        #expect(whole.count == stream.length)
        return whole
    }
}

/// Reads to the end, `step` bytes at a time.
func readAll(_ stream: SegmentStream, step: Int = 1 << 16) throws -> [UInt8] {
    var whole: [UInt8] = []
    while true {
        let piece = try read(stream, step)
        if piece.isEmpty { return whole }
        whole += piece
    }
}

/// One read into room for `count` bytes.
func read(_ stream: SegmentStream, _ count: Int) throws -> [UInt8] {
    try unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
        let raw = unsafe UnsafeMutableRawBufferPointer(UnsafeMutableBufferPointer(rebasing: buffer.prefix(count)))
        var out = unsafe OutputRawSpan(buffer: raw, initializedCount: 0)
        try stream.read(into: &out)
        filled = unsafe out.finalize(for: raw)
    }
}

/// Bytes in memory as a segment's input; gives at most `most` at a time, and counts.
final class BytesInput: SegmentInput, @unchecked Sendable {  // used by one test at a time
    let bytes: [UInt8]
    let most: Int
    var reads = 0
    var bytesRead = 0

    init(_ bytes: [UInt8], most: Int = .max) {
        self.bytes = bytes
        self.most = most
    }

    func read(at offset: Int64, into out: inout OutputRawSpan) throws {
        reads += 1
        let count = max(0, min(most, out.freeCapacity, bytes.count - Int(offset)))
        bytesRead += count
        unsafe out.withUnsafeMutableBytes { buffer, filled in
            unsafe bytes.withUnsafeBytes { bytes in
                let part = unsafe UnsafeRawBufferPointer(rebasing: bytes[Int(offset)..<Int(offset) + count])
                unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]).copyMemory(from: part)
                filled += count
            }
        }
    }
}

/// The same bytes again and again, without end.
final class LoopInput: SegmentInput {
    let bytes: [UInt8]

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    func read(at offset: Int64, into out: inout OutputRawSpan) throws {
        for byte in bytes[(Int(offset) % bytes.count)...].prefix(out.freeCapacity) { out.append(byte) }
    }
}

func decrypt(_ cipher: [UInt8], key: Secret, sequence: UInt64) throws -> [UInt8] {
    var vector = [UInt8](repeating: 0, count: 8)
    vector.append(bigEndian: sequence)
    return try unsafe [UInt8](unsafeUninitializedCapacity: cipher.count + 32) { buffer, filled in
        let raw = UnsafeMutableRawBufferPointer(buffer)
        var out = unsafe OutputRawSpan(buffer: raw, initializedCount: 0)
        var decryptor = try AESCBCDecryptor(key: key, iv: vector)
        try decryptor.update(cipher.rawSpan, into: &out)
        try decryptor.finish(into: &out)
        filled = unsafe out.finalize(for: raw)
    }
}
