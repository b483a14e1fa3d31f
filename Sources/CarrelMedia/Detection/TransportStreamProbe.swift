import CarrelBytes
import CarrelMP4

/// The protection of a transport stream, found in its first packets (ISO/IEC 13818-1 §2.4.3).
struct TransportStreamProbe {
    /// Whether packets are scrambled, with the even or the odd key.
    private(set) var isScrambled = false
    /// Whether the program has streams of encrypted samples (MPEG-2 Stream Encryption Format for HLS §2).
    private(set) var hasSampleEncryption = false

    private var mapID: UInt16?

    /// Bytes that are looked at.
    private static let length: Int64 = 1 << 19
    /// Stream types of encrypted samples: AAC, AC-3, E-AC-3, H.264.
    private static let encryptedTypes: Set<UInt8> = [0xcf, 0xc1, 0xc2, 0xdb]

    /// Looks at the first packets; nil when the file is not a transport stream.
    init?(_ reader: any ByteReader) throws {
        let bytes = try reader.readAll(0..<min(reader.length, Self.length))
        let span = bytes.rawSpan
        // packets of Blu-ray have four bytes in front
        let layouts = [(start: 0, length: 188), (start: 4, length: 192)]
        guard let layout = layouts.first(where: { Self.isSynchronous(span, $0.start, $0.length) }) else { return nil }
        var at = layout.start
        while span.byteCount - at >= 188, span.u8(at: at) == 0x47 {
            look(span.extracting(at..<at + 188))
            at += layout.length
        }
    }

    /// Whether the first packets, five of them where there are as many, begin with their sync byte.
    private static func isSynchronous(_ span: RawSpan, _ start: Int, _ length: Int) -> Bool {
        guard span.byteCount >= start + 188 else { return false }
        return stride(from: start, to: min(span.byteCount, start + 5 * length), by: length).allSatisfy { span.u8(at: $0) == 0x47 }
    }

    private mutating func look(_ packet: RawSpan) {
        let flags = packet.u8(at: 3)
        if flags & 0x80 != 0 {
            isScrambled = true
            return
        }
        let id = packet.u16(at: 1) & 0x1fff
        let isStart = packet.u8(at: 1) & 0x40 != 0
        guard isStart, flags & 0x10 != 0, id == 0 || id == mapID else { return }
        try? readSection(packet, isMap: id != 0, start: flags & 0x20 == 0 ? 4 : 5 + Int(packet.u8(at: 4)))
    }

    /// Reads the program association or the program map, as far as its first packet holds it.
    private mutating func readSection(_ packet: RawSpan, isMap: Bool, start: Int) throws(Malformed) {
        var cursor = ByteCursor(packet)
        try cursor.skip(start)
        try cursor.skip(Int(try cursor.u8()))
        guard try cursor.u8() == (isMap ? 2 : 0) else { return }
        let length = Int(try cursor.u16() & 0xfff)
        var section = ByteCursor(try cursor.slice(min(length, cursor.remaining)))
        try section.skip(5)
        guard isMap else {
            while section.remaining >= 8 {
                let program = try section.u16()
                let id = try section.u16() & 0x1fff
                if program != 0, mapID == nil { mapID = id }
            }
            return
        }
        try section.skip(2)
        try section.skip(Int(try section.u16() & 0xfff))
        // the last four bytes are the checksum
        while section.remaining >= 9 {
            if Self.encryptedTypes.contains(try section.u8()) { hasSampleEncryption = true }
            try section.skip(2)
            try section.skip(Int(try section.u16() & 0xfff))
        }
    }
}
