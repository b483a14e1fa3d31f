// SPDX-License-Identifier: Apache-2.0

/// Reads a span front to back; every read that would pass the end throws instead.
public struct ByteCursor: ~Escapable {
    /// All the bytes, those before the position too.
    public let bytes: RawSpan
    /// Bytes read so far.
    @usableFromInline
    var offset = 0

    /// Creates a cursor at the first byte.
    ///
    /// - Parameter bytes: the whole input; offsets count from its start.
    @inlinable
    @_lifetime(copy bytes)
    public init(_ bytes: RawSpan) {
        self.bytes = bytes
    }

    /// Bytes read so far.
    @inlinable
    public var position: Int { offset }

    /// Bytes not yet read.
    @inlinable
    public var remaining: Int { bytes.byteCount - offset }

    /// Claims the next `count` bytes and returns their offset.
    @inlinable
    @_lifetime(self: copy self)
    mutating func take(_ count: Int, _ what: StaticString) throws(Malformed) -> Int {
        guard count >= 0, count <= remaining else { throw Malformed("\(what) is cut off", at: offset) }
        let start = offset
        offset += count
        return start
    }

    /// Reads one byte.
    ///
    /// - Parameter what: the field, for the error.
    /// - Returns: the number.
    /// - Throws: ``Malformed`` at the end of the input.
    @inlinable
    @_lifetime(self: copy self)
    public mutating func u8(_ what: StaticString = "number") throws(Malformed) -> UInt8 {
        bytes.u8(at: try take(1, what))
    }

    /// Reads a big-endian number of two bytes.
    ///
    /// - Parameter what: the field, for the error.
    /// - Returns: the number.
    /// - Throws: ``Malformed`` when fewer bytes are left.
    @inlinable
    @_lifetime(self: copy self)
    public mutating func u16(_ what: StaticString = "number") throws(Malformed) -> UInt16 {
        bytes.u16(at: try take(2, what))
    }

    /// Reads a big-endian number of three bytes.
    ///
    /// - Parameter what: the field, for the error.
    /// - Returns: the number.
    /// - Throws: ``Malformed`` when fewer bytes are left.
    @inlinable
    @_lifetime(self: copy self)
    public mutating func u24(_ what: StaticString = "number") throws(Malformed) -> UInt32 {
        let start = try take(3, what)
        return UInt32(bytes.u16(at: start)) << 8 | UInt32(bytes.u8(at: start + 2))
    }

    /// Reads a big-endian number of four bytes.
    ///
    /// - Parameter what: the field, for the error.
    /// - Returns: the number.
    /// - Throws: ``Malformed`` when fewer bytes are left.
    @inlinable
    @_lifetime(self: copy self)
    public mutating func u32(_ what: StaticString = "number") throws(Malformed) -> UInt32 {
        bytes.u32(at: try take(4, what))
    }

    /// Reads a big-endian number of eight bytes.
    ///
    /// - Parameter what: the field, for the error.
    /// - Returns: the number.
    /// - Throws: ``Malformed`` when fewer bytes are left.
    @inlinable
    @_lifetime(self: copy self)
    public mutating func u64(_ what: StaticString = "number") throws(Malformed) -> UInt64 {
        bytes.u64(at: try take(8, what))
    }

    /// The next little-endian 16-bit number.
    ///
    /// - Parameter what: the field's name, for the error.
    /// - Returns: the number.
    /// - Throws: ``Malformed`` if fewer bytes are left.
    @inlinable
    @_lifetime(self: copy self)
    public mutating func u16le(_ what: StaticString = "number") throws(Malformed) -> UInt16 {
        bytes.u16le(at: try take(2, what))
    }

    /// The next little-endian 32-bit number.
    ///
    /// - Parameter what: the field's name, for the error.
    /// - Returns: the number.
    /// - Throws: ``Malformed`` if fewer bytes are left.
    @inlinable
    @_lifetime(self: copy self)
    public mutating func u32le(_ what: StaticString = "number") throws(Malformed) -> UInt32 {
        bytes.u32le(at: try take(4, what))
    }

    /// The next little-endian 64-bit number.
    ///
    /// - Parameter what: the field's name, for the error.
    /// - Returns: the number.
    /// - Throws: ``Malformed`` if fewer bytes are left.
    @inlinable
    @_lifetime(self: copy self)
    public mutating func u64le(_ what: StaticString = "number") throws(Malformed) -> UInt64 {
        bytes.u64le(at: try take(8, what))
    }

    /// The next `count` bytes, without copying them.
    ///
    /// - Parameters:
    ///   - count: the number of bytes.
    ///   - what: the field's name, for the error.
    /// - Returns: a span of the bytes.
    /// - Throws: ``Malformed`` if fewer bytes are left.
    @inlinable
    @_lifetime(self: copy self)
    @_lifetime(copy self)
    public mutating func slice(_ count: Int, _ what: StaticString = "field") throws(Malformed) -> RawSpan {
        let start = try take(count, what)
        return bytes.extracting(start..<start + count)
    }

    /// Passes over `count` bytes.
    ///
    /// - Parameters:
    ///   - count: the number of bytes.
    ///   - what: the field's name, for the error.
    /// - Throws: ``Malformed`` if fewer bytes are left.
    @inlinable
    @_lifetime(self: copy self)
    public mutating func skip(_ count: Int, _ what: StaticString = "field") throws(Malformed) {
        _ = try take(count, what)
    }

    /// Throws when bytes are left over: what a format does not explain is an error.
    ///
    /// - Parameter what: the structure's name, for the error.
    /// - Throws: ``Malformed`` if bytes are left.
    @inlinable
    public func finish(_ what: StaticString = "structure") throws(Malformed) {
        guard remaining == 0 else { throw Malformed("\(what) has \(remaining) bytes left over", at: offset) }
    }
}
