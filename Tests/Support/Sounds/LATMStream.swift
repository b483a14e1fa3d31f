// SPDX-License-Identifier: Apache-2.0

/// AAC in LOAS frames (ISO/IEC 14496-3 §1.7), as far as tests meet it: one program, one layer, a configuration of 25 bits.
package enum LATMStream {
    /// The access units of a stream, byte by byte as an MP4 file would hold them.
    package static func units(_ stream: [UInt8]) -> [[UInt8]] {
        var units: [[UInt8]] = []
        var start = 0
        while start + 3 <= stream.count {
            guard stream[start] == 0x56, stream[start + 1] >> 5 == 7 else { break }
            let length = Int(stream[start + 1] & 0x1f) << 8 | Int(stream[start + 2])
            var bits = Bits(bytes: Array(stream[start + 3..<min(stream.count, start + 3 + length)]))
            if bits.next(1) == 0 {
                _ = bits.next(15 + 25)  // what the multiplex is, and the configuration
                _ = bits.next(3 + 8 + 2)
            }
            var size = 0
            while true {
                let part = bits.next(8)
                size += part
                if part != 255 { break }
            }
            units.append((0..<size).map { _ in UInt8(bits.next(8)) })
            start += 3 + length
        }
        return units
    }

    private struct Bits {
        let bytes: [UInt8]
        var place = 0

        mutating func next(_ width: Int) -> Int {
            var value = 0
            for _ in 0..<width {
                value = value << 1 | (place / 8 < bytes.count ? Int(bytes[place / 8] >> (7 - place % 8) & 1) : 0)
                place += 1
            }
            return value
        }
    }
}
