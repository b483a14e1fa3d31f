// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
package import CarrelBytes
import CarrelTS

/// The stored form, about two bytes a segment at a constant bit rate.
///
/// Two version bytes (of the form, and of the grouping its packet counts follow), the codec, then variable-length numbers: sample
/// rate, channels, frames per segment, frames, encoder delay, padding; for each segment the difference of its size to the
/// previous one's, and of its number of transport packets to the prediction from the previous one.
extension SegmentIndex {
    private static let version: UInt8 = 1

    /// The stored form.
    package func serialized() -> [UInt8] {
        var out = [Self.version, PESGrouping.version, Self.number(of: format.codec)]
        out.reserveCapacity(32 + 3 * segmentCount)
        out.appendVariable(UInt64(format.sampleRate))
        out.appendVariable(UInt64(format.channels))
        out.appendVariable(UInt64(framesPerSegment))
        out.appendVariable(UInt64(frameCount))
        out.appendVariable(UInt64(encoderDelay))
        out.appendVariable(UInt64(padding))
        var forecast = PacketForecast()
        for i in 0..<segmentCount {
            let segment = segment(i)
            let bytes = Int64(segment.byteRange.count)
            out.appendVariable(zigzag: bytes - forecast.bytes)
            out.appendVariable(zigzag: Int64(segment.packetCount) - forecast.packets(for: bytes))
            forecast = PacketForecast(bytes: bytes, packets: Int64(segment.packetCount))
        }
        return out
    }

    /// Reads the stored form.
    ///
    /// - Throws: when it is of another version, contradicts itself, or has bytes left over. Media whose index is refused for
    ///   its version is to be indexed again.
    package init(serialized bytes: RawSpan) throws(Malformed) {
        var cursor = ByteCursor(bytes)
        guard try cursor.u8("version") == Self.version, try cursor.u8("version") == PESGrouping.version else {
            throw Malformed("segment index is of another version", at: 0)
        }
        let codec = try Self.codec(try cursor.u8("codec"), at: 2)
        let start = cursor.position
        let sampleRate = try cursor.variable(below: 1 << 24, "sample rate")
        let channels = try cursor.variable(below: 1 << 8, "channels")
        guard let format = AudioFormat(codec: codec, sampleRate: Int(sampleRate), channels: Int(channels)) else {
            throw Malformed("segment index has an impossible format", at: start)
        }
        let framesPerSegment = Int64(
            try cursor.variable(below: 1 + UInt64(SegmentIndexBuilder.maximumFrames), "frames a segment")
        )
        let frameCount = Int64(try cursor.variable(below: 1 << 40, "frames"))
        let encoderDelay = try cursor.variable(below: 1 << 40, "encoder delay")
        let padding = try cursor.variable(below: 1 << 40, "padding")
        guard framesPerSegment > 0 else { throw Malformed("segment index has segments without frames", at: cursor.position) }
        let segmentCount = (frameCount + framesPerSegment - 1) / framesPerSegment
        // each takes two bytes at least, so the reserved capacity is bounded by the input
        guard segmentCount <= cursor.remaining / 2 else { throw Malformed("segment index is cut off", at: cursor.position) }
        var marks: [UInt64] = [0]
        marks.reserveCapacity(Int(segmentCount) + 1)
        var forecast = PacketForecast()
        var offset: UInt64 = 0
        for i in 0..<segmentCount {
            let at = cursor.position
            let frames = min(framesPerSegment, frameCount - i * framesPerSegment)
            let length = forecast.bytes &+ (try cursor.zigzag("segment length"))
            let longest = frames * Int64(ADTSHeader.maximumFrameLength)
            guard length >= frames * 4, length <= longest else { throw Malformed("segment has an impossible length", at: at) }
            let packets = forecast.packets(for: length) &+ (try cursor.zigzag("packet count"))
            guard packets > 0, packets < 1 << 24 else { throw Malformed("segment has an impossible packet count", at: at) }
            offset += UInt64(length)
            guard offset < 1 << 40 else { throw Malformed("media is a terabyte", at: at) }
            marks.append(offset << 24 | (marks[marks.count - 1] &+ UInt64(packets)) & Self.packetMask)
            forecast = PacketForecast(bytes: length, packets: packets)
        }
        try cursor.finish("segment index")
        self.init(
            format: format,
            framesPerSegment: Int(framesPerSegment),
            frameCount: frameCount,
            encoderDelay: Int(encoderDelay),
            padding: Int(padding),
            marks: marks
        )
    }

    /// A segment's prediction of the next: the same length, and packets in proportion.
    private struct PacketForecast {
        var bytes: Int64 = 0
        var packets: Int64 = 0

        func packets(for length: Int64) -> Int64 { bytes == 0 ? length / 178 : length * packets / bytes }
    }

    private static func number(of codec: AudioCodec) -> UInt8 {
        switch codec {
        case .mp3(let version): version.rawValue
        case .aac(let profile): 16 + profile.rawValue
        }
    }

    private static func codec(_ number: UInt8, at offset: Int) throws(Malformed) -> AudioCodec {
        if let version = MPEGVersion(rawValue: number) { return .mp3(version) }
        if number >= 16, let profile = AACProfile(rawValue: number - 16) { return .aac(profile) }
        throw Malformed("segment index names an unknown codec", at: offset)
    }
}
