import CarrelBytes

/// A segment of a playlist whose transport packets are scrambled (DVB-CISSA).
enum ScrambledSegment {
    /// Whether a segment is a transport stream, by its first byte.
    static func isTransportStream(_ head: [UInt8]) -> Bool { head.first == 0x47 }

    /// Whether packets at the beginning of a segment are scrambled, by their headers.
    static func isScrambled(_ head: [UInt8]) -> Bool {
        let bytes = head.rawSpan
        var at = 0
        while at + 188 <= bytes.byteCount, bytes.u8(at: at) == 0x47 {
            if bytes.u8(at: at + 3) & 0xc0 != 0 { return true }
            at += 188
        }
        return false
    }
}
