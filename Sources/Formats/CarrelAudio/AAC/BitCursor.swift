// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// Reads a span bit by bit, highest first; every read that would pass the end throws instead.
struct BitCursor: ~Escapable {
    private let bytes: RawSpan
    /// Bits read so far.
    private(set) var position = 0

    @_lifetime(copy bytes)
    init(_ bytes: RawSpan) {
        self.bytes = bytes
    }

    /// Bits not yet read.
    var remaining: Int { bytes.byteCount * 8 - position }

    /// The next `count` bits as a number, at most 32.
    @_lifetime(self: copy self)
    mutating func bits(_ count: Int, _ what: StaticString) throws(Malformed) -> Int {
        guard count <= remaining else { throw Malformed("\(what) is cut off", at: position / 8) }
        var value = 0
        for _ in 0..<count {
            value = value << 1 | Int(bytes.u8(at: position / 8) >> UInt8(7 - position % 8) & 1)
            position += 1
        }
        return value
    }

    /// The next bit.
    @_lifetime(self: copy self)
    mutating func flag(_ what: StaticString) throws(Malformed) -> Bool { try bits(1, what) == 1 }

    /// Passes over the bits up to the next whole byte.
    @_lifetime(self: copy self)
    mutating func align() {
        position = (position + 7) / 8 * 8
    }
}
