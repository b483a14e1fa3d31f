// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// Makes the parts of MP3 files.
enum MP3Bytes {
    /// MPEG-1, 44.1 kHz, 64 kbit/s, stereo: 208 bytes.
    static let word: UInt32 = 0xfffb_5000
    /// MPEG-2, 24 kHz, 8 kbit/s, mono: 24 bytes.
    static let smallWord: UInt32 = 0xfff3_14c0

    /// A frame with this header whose other bytes cannot be taken for a header or a mark.
    static func frame(_ word: UInt32 = smallWord, length: Int, fill: UInt8 = 0x55) -> [UInt8] {
        var bytes = [UInt8](repeating: fill, count: length)
        for i in 0..<4 { bytes[i] = UInt8(word >> UInt32(24 - 8 * i) & 255) }
        return bytes
    }

    static func small(_ count: Int, fill: UInt8 = 0x55) -> [UInt8] {
        Array(repeatElement(frame(length: 24, fill: fill), count: count).joined())
    }

    static func large(_ count: Int) -> [UInt8] {
        Array(repeatElement(frame(word, length: 208), count: count).joined())
    }

    /// An Info frame of the 44.1 kHz stereo stream, with the LAME extension.
    static func info(
        _ mark: String = "Info",
        frames: UInt32?,
        delay: Int = 576,
        padding: Int = 1000,
        encoder: String = "LAME3.100"
    ) -> [UInt8] {
        var frame = frame(word, length: 208, fill: 0)
        var fields = Array(mark.utf8)
        let flags: UInt32 = frames == nil ? 0 : 1
        fields.append(bigEndian: flags)
        if let frames { fields.append(bigEndian: frames) }
        var lame = Array(encoder.utf8.prefix(9))
        lame += [UInt8](repeating: 0, count: 21 - lame.count)
        lame += [UInt8(delay >> 4), UInt8(delay & 15) << 4 | UInt8(padding >> 8), UInt8(padding & 255)]
        lame += [UInt8](repeating: 0, count: 12)
        fields += lame
        frame.replaceSubrange(36..<36 + fields.count, with: fields)
        return frame
    }

    static func vbri(frames: UInt32) -> [UInt8] {
        var frame = frame(word, length: 208, fill: 0)
        var fields = Array("VBRI".utf8) + [0, 1, 9, 16, 0, 75, 0, 0, 16, 0]
        fields.append(bigEndian: frames)
        fields += [0, 0, 0, 1, 0, 2, 0, 1]
        frame.replaceSubrange(36..<36 + fields.count, with: fields)
        return frame
    }

    /// An ID3v2.4 tag with this body.
    static func id3(_ body: [UInt8], version: UInt8 = 4, flags: UInt8 = 0) -> [UInt8] {
        let size = body.count
        let head: [UInt8] = [
            0x49, 0x44, 0x33, version, 0, flags,
            UInt8(size >> 21 & 127), UInt8(size >> 14 & 127), UInt8(size >> 7 & 127), UInt8(size & 127),
        ]
        guard flags & 0x10 != 0, version == 4 else { return head + body }
        return head + body + [0x33, 0x44, 0x49] + head[3...]
    }

    static func id3v1(_ title: String = "title") -> [UInt8] {
        var tag = Array("TAG".utf8) + Array(title.utf8)
        tag += [UInt8](repeating: 0, count: 128 - tag.count)
        return tag
    }

    static func apeItem(_ key: String, _ value: [UInt8], binary: Bool = false) -> [UInt8] {
        little(value.count) + little(binary ? 2 : 0) + Array(key.utf8) + [0] + value
    }

    static func ape(_ items: [UInt8], header: Bool = true) -> [UInt8] {
        func block(_ flags: Int) -> [UInt8] {
            Array("APETAGEX".utf8) + little(2000) + little(items.count + 32) + little(1) + little(flags)
                + [UInt8](repeating: 0, count: 8)
        }
        let hasHeader = header ? 0x8000_0000 : 0
        return (header ? block(0xa000_0000) : []) + items + block(hasHeader)
    }

    static func lyrics(_ text: String) -> [UInt8] {
        let body = Array("LYRICSBEGIN".utf8) + Array(text.utf8)
        var digits = Array(String(body.count).utf8)
        digits = [UInt8](repeating: 48, count: 6 - digits.count) + digits
        return body + digits + Array("LYRICS200".utf8)
    }

    static func wave(_ data: [UInt8], codec: Int) -> [UInt8] {
        var bytes = Array("RIFF".utf8) + little(data.count + 36 + 10) + Array("WAVE".utf8)
        bytes += Array("LIST".utf8) + little(1) + [7, 0]
        bytes += Array("fmt ".utf8) + little(16) + [UInt8(codec & 255), UInt8(codec >> 8)] + [UInt8](repeating: 1, count: 14)
        return bytes + Array("data".utf8) + little(data.count) + data
    }

    static func little(_ value: Int) -> [UInt8] {
        [UInt8(value & 255), UInt8(value >> 8 & 255), UInt8(value >> 16 & 255), UInt8(value >> 24 & 255)]
    }
}
