// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

extension PESHeader {
    /// Appends a header whose data begins with a unit (`data_alignment_indicator`).
    ///
    /// - Parameters:
    ///   - stream: the stream ID.
    ///   - dataLength: number of bytes after the header; nil, or a value above 16 bits, leaves the length open.
    ///   - presentationTime: in 90 kHz ticks.
    ///   - decodeTime: written if it differs.
    ///   - out: gets 14 or 19 bytes.
    static func append(
        stream: UInt8,
        dataLength: Int?,
        presentationTime: UInt64,
        decodeTime: UInt64,
        to out: inout [UInt8]
    ) {
        let hasBoth = presentationTime != decodeTime
        let optional = hasBoth ? 10 : 5
        let length = dataLength.map { $0 + 3 + optional } ?? 0
        out += [0, 0, 1, stream]
        out.append(bigEndian: UInt16(exactly: length) ?? 0)
        out += [0x84, hasBoth ? 0xc0 : 0x80, UInt8(optional)]
        append(presentationTime, mark: hasBoth ? 3 : 2, to: &out)
        if hasBoth { append(decodeTime, mark: 1, to: &out) }
    }

    private static func append(_ time: UInt64, mark: UInt8, to out: inout [UInt8]) {
        out.append(mark << 4 | UInt8(time >> 30 & 7) << 1 | 1)
        out.append(bigEndian: UInt16(truncatingIfNeeded: time >> 15 & 0x7fff) << 1 | 1)
        out.append(bigEndian: UInt16(truncatingIfNeeded: time & 0x7fff) << 1 | 1)
    }
}
