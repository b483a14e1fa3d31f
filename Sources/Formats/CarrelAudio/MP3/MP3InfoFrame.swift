// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The frame some encoders put first, which holds figures about the file instead of audio (Xing, Info with the LAME extension,
/// VBRI).
struct MP3InfoFrame {
    /// Number of audio frames declared by the encoder, without this one.
    var frames: Int64?
    /// Number of samples that the encoder put before the audio.
    var delay: Int?
    /// Samples the encoder put after it.
    var padding: Int?

    private static let xing: UInt32 = 0x5869_6e67
    private static let info: UInt32 = 0x496e_666f
    private static let vbri: UInt32 = 0x5642_5249

    /// Whether the frame at `start` is an info frame; in mid-stream it must also have empty side information.
    static func isHere(_ span: RawSpan, at start: Int, _ header: MP3FrameHeader) -> Bool {
        let position = start + 4 + header.sideInfoLength
        guard position + 4 <= span.byteCount else { return false }
        let mark = span.u32(at: position)
        guard mark == xing || mark == info else { return false }
        for i in start + 4..<position where span.u8(at: i) != 0 { return false }
        return true
    }

    /// Reads the info frame at `start`; nil if it is an ordinary frame. The frame must be within the span.
    static func parse(_ span: RawSpan, at start: Int, _ header: MP3FrameHeader) -> MP3InfoFrame? {
        let frame = span.extracting(start..<start + header.frameLength)
        // LAME ignores the CRC when it places the mark, others do not
        for position in [4 + header.sideInfoLength, 6 + header.sideInfoLength] where position + 8 <= frame.byteCount {
            let mark = frame.u32(at: position)
            if mark == xing || mark == info { return xing(ByteCursor(frame.extracting(position + 4..<frame.byteCount))) }
            if !header.hasCRC { break }
        }
        if frame.byteCount >= 36 + 26, frame.u32(at: 36) == vbri {
            return MP3InfoFrame(frames: Int64(frame.u32(at: 36 + 14)))
        }
        return nil
    }

    private static func xing(_ fields: ByteCursor) -> MP3InfoFrame {
        var fields = fields
        var result = MP3InfoFrame()
        do throws(Malformed) {
            let flags = try fields.u32()
            if flags & 1 != 0 { result.frames = Int64(try fields.u32()) }
            if flags & 2 != 0 { try fields.skip(4) }
            if flags & 4 != 0 { try fields.skip(100) }
            if flags & 8 != 0 { try fields.skip(4) }
            let lame = try fields.slice(24)
            for name: StaticString in ["LAME", "Lavf", "Lavc", "GOGO"] where lame.matches(name, at: 0) {
                result.delay = Int(lame.u16(at: 21) >> 4)
                result.padding = Int(lame.u16(at: 22) & 0xfff)
            }
        } catch {
            // a short frame has fewer fields
        }
        return result
    }
}
