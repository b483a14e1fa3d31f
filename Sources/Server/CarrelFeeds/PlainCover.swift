// SPDX-License-Identifier: Apache-2.0

/// The cover of publications without one: readers of OPDS 2.0 expect an image. A generated PNG of one color (ISO/IEC 15948).
enum PlainCover {
    static let bytes: [UInt8] = {
        let (width, height) = (60, 80)
        // One bit for each pixel, all of the first colour of the palette; each row begins with its filter.
        let rows = [UInt8](repeating: 0, count: height * (1 + (width + 7) / 8))
        var out: [UInt8] = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]
        chunk("IHDR", big(UInt32(width)) + big(UInt32(height)) + [1, 3, 0, 0, 0], &out)
        chunk("PLTE", [0x8a, 0x86, 0x7c], &out)
        let length = UInt16(rows.count)
        // One stored block of deflate (RFC 1951 §3.2.4) in a zlib stream (RFC 1950).
        let block: [UInt8] = [
            0x78, 0x01, 0x01, UInt8(length & 0xff), UInt8(length >> 8), UInt8(~length & 0xff), UInt8(~length >> 8),
        ]
        chunk("IDAT", block + rows + big(adler(rows)), &out)
        chunk("IEND", [], &out)
        return out
    }()

    private static func chunk(_ type: String, _ data: [UInt8], _ out: inout [UInt8]) {
        let body = Array(type.utf8) + data
        out += big(UInt32(data.count)) + body + big(crc(body))
    }

    private static func big(_ value: UInt32) -> [UInt8] {
        stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: value >> UInt32($0)) }
    }

    private static func crc(_ bytes: [UInt8]) -> UInt32 {
        var crc: UInt32 = 0xffff_ffff
        for byte in bytes {
            crc ^= UInt32(byte)
            for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xedb8_8320 : crc >> 1 }
        }
        return ~crc
    }

    private static func adler(_ bytes: [UInt8]) -> UInt32 {
        var (a, b): (UInt32, UInt32) = (1, 0)
        for byte in bytes {
            a = (a + UInt32(byte)) % 65521
            b = (b + a) % 65521
        }
        return b << 16 | a
    }
}
