// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMP4
import CarrelTS

/// The protection of a transport stream, found in its first packets.
struct TransportStreamProbe {
    /// Whether packets are scrambled, with the even or the odd key (ISO/IEC 13818-1 §2.4.3.3).
    private(set) var isScrambled = false
    /// Whether the program has streams of encrypted samples (MPEG-2 Stream Encryption Format for HLS §2).
    private(set) var hasSampleEncryption = false

    /// Bytes that are looked at.
    private static let length: Int64 = 1 << 19

    /// Examines the first packets; nil if the file is not a transport stream.
    init?(_ reader: any ByteReader) throws {
        let bytes = try reader.readAll(0..<min(reader.length, Self.length))
        let span = bytes.rawSpan
        // packets of Blu-ray have four bytes in front
        let layouts = [(start: 0, length: 188), (start: 4, length: 192)]
        guard let layout = layouts.first(where: { Self.isSynchronous(span, $0.start, $0.length) }) else { return nil }
        var demuxer = TransportStreamDemuxer()
        var at = layout.start
        while let packet = TransportPacket.parse(span, at: at) {
            if packet.scrambling >= 2 { isScrambled = true }
            try demuxer.consume(span.extracting(at..<at + TransportStream.packetLength))
            while demuxer.next() != nil {}
            at += layout.length
        }
        hasSampleEncryption = demuxer.program?.streams.contains { $0.isSampleEncrypted } ?? false
    }

    /// Whether the first packets, up to five, begin with the sync byte.
    private static func isSynchronous(_ span: RawSpan, _ start: Int, _ length: Int) -> Bool {
        guard span.byteCount >= start + TransportStream.packetLength else { return false }
        let packets = stride(from: start, to: min(span.byteCount, start + 5 * length), by: length)
        return packets.allSatisfy { span.u8(at: $0) == TransportPacket.syncByte }
    }
}
