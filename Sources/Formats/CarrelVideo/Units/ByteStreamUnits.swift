// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The NAL units of a byte stream, in order (ISO/IEC 14496-10 annex B).
///
/// Zero bytes after a unit belong to the byte stream, not to the unit. Bytes before the first start code are skipped.
package struct ByteStreamUnits: ~Escapable {
    private let bytes: RawSpan
    private var start: Int?

    /// Begins at the first start code.
    ///
    /// - Parameter bytes: whole units.
    @_lifetime(copy bytes)
    package init(_ bytes: RawSpan) {
        self.bytes = bytes
        start = StartCode.first(in: bytes, from: 0)
    }

    /// The range of the next unit, without start code and surrounding zero bytes; nil after the last one. Never empty.
    @_lifetime(self: copy self)
    package mutating func next() -> Range<Int>? {
        while let code = start {
            let from = code + 3
            let code = StartCode.first(in: bytes, from: from)
            start = code
            var end = code ?? bytes.byteCount
            while end > from, bytes.u8(at: end - 1) == 0 { end -= 1 }
            if end > from { return from..<end }
        }
        return nil
    }
}

extension ByteStreamUnits {
    /// The units as a byte stream, each after 00 00 00 01.
    package static func join(_ units: [[UInt8]]) -> [UInt8] {
        var out: [UInt8] = []
        for unit in units {
            out.append(bigEndian: 1 as UInt32)
            out += unit
        }
        return out
    }
}
