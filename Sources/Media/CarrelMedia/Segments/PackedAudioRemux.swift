// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes
import CarrelHLS
import CarrelTS

/// Writes segments of clear packed audio (RFC 8216 §3.4) as one transport stream.
///
/// The tag at the beginning of a segment contains the time of its first frame. Without a tag, a segment continues the previous
/// one.
struct PackedAudioRemux: ~Copyable {
    private var muxer: TransportStreamMuxer?
    private var packets = PacketBuffer()
    private var held: [UInt8] = []
    /// The time of the segment's first frame, in ticks, and the samples since then.
    private var start = TransportRemuxer.origin
    private var samples: Int64 = 0
    private var sampleRate = 0
    private var coding: ElementaryStream.Coding?

    /// Bytes of a tag, at most.
    private static let tagLimit = 16 << 20

    private struct Frame {
        var length: Int
        var samples: Int
        var sampleRate: Int
        var stream: ElementaryStream
    }

    mutating func take(_ piece: RawSpan, to sink: inout some MediaSink) throws {
        var bytes: [UInt8] = []
        swap(&bytes, &held)
        bytes.append(copying: piece)
        var at = 0
        while bytes.count - at >= 10 {
            let length: Int
            if bytes.rawSpan.matches("ID3", at: at) {
                guard let tag = ID3.headerLength(bytes.rawSpan.extracting(at..<at + 10)), tag <= Self.tagLimit else {
                    throw Malformed("an ID3 tag is damaged", at: 0)
                }
                length = tag
                guard bytes.count - at >= length else { break }
                setTime(bytes.rawSpan.extracting(at..<at + length))
            } else {
                guard let frame = Self.frame(bytes.rawSpan, at: at) else { throw Malformed("a frame of audio is missing", at: 0) }
                length = frame.length
                guard bytes.count - at >= length else { break }
                try write(frame, bytes.rawSpan.extracting(at..<at + length))
            }
            at += length
        }
        bytes.removeFirst(at)
        held = bytes
        try flush(to: &sink)
    }

    /// Ends a segment.
    mutating func endSegment(to sink: inout some MediaSink) throws {
        guard held.isEmpty else { throw Malformed("the last frame of audio is cut off", at: 0) }
        muxer?.endSegment(into: &packets)
        muxer?.beginSegment(into: &packets)
        try flush(to: &sink)
    }

    private mutating func flush(to sink: inout some MediaSink) throws {
        guard packets.count > 0 else { return }
        try sink.write(packets.bytes)
        packets.removeAll()
    }

    private var time: Int64 { start &+ MediaTime.ticks(samples, timescale: Int64(max(1, sampleRate))) }

    private mutating func setTime(_ tag: RawSpan) {
        guard let stamp = PackedAudio.timestamp(tag) else { return }
        // the nearest time with these 33 bits, so that a long recording passes their end
        let modulus = Int64(MediaTime.modulus)
        var step = (Int64(stamp) &- time) & (modulus - 1)
        if step >= modulus / 2 { step -= modulus }
        start = muxer == nil ? Int64(stamp) : time &+ step
        samples = 0
    }

    private mutating func write(_ frame: Frame, _ bytes: RawSpan) throws(Malformed) {
        if muxer == nil {
            muxer = try TransportStreamMuxer([frame.stream])
            coding = frame.stream.coding
            muxer?.beginSegment(into: &packets)
        }
        guard frame.stream.coding == coding else { throw Malformed("the coding of the audio changes", at: 0) }
        if frame.sampleRate != sampleRate {
            (start, samples, sampleRate) = (time, 0, frame.sampleRate)
        }
        let time = time
        try muxer?.write(
            0,
            prefix: RawSpan(),
            body: bytes,
            presentationTime: time,
            decodeTime: time,
            isSync: true,
            into: &packets
        )
        samples += Int64(frame.samples)
    }

    private static func frame(_ bytes: RawSpan, at offset: Int) -> Frame? {
        let pid: UInt16 = 0x100
        if let header = ADTSHeader.parse(bytes, at: offset), header.frameLength >= 7 {
            return Frame(
                length: header.frameLength,
                samples: ADTSHeader.samplesPerBlock * header.blocks,
                sampleRate: header.sampleRate,
                stream: .aac(pid: pid)
            )
        }
        if let frame = AC3SyncFrame.parse(bytes, at: offset), frame.frameLength >= 8 {
            return Frame(
                length: frame.frameLength,
                // a dependent substream belongs to the frame before it
                samples: frame.substream == .dependent ? 0 : frame.samplesPerFrame,
                sampleRate: frame.sampleRate,
                stream: frame.isEnhanced ? .enhancedAC3(pid: pid) : .ac3(pid: pid)
            )
        }
        guard let frame = MPEGAudioFrame.parse(bytes, at: offset), frame.frameLength >= 7 else { return nil }
        return Frame(
            length: frame.frameLength,
            samples: frame.samplesPerFrame,
            sampleRate: frame.sampleRate,
            stream: .mpegAudio(pid: pid, isHalfRate: frame.sampleRate < 32_000)
        )
    }
}
