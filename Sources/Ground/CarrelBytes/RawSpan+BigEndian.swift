// SPDX-License-Identifier: Apache-2.0

extension RawSpan {
    /// The byte at `offset`. Traps when `offset` is outside the span.
    ///
    /// - Parameter offset: the byte's index.
    /// - Returns: the byte.
    @inlinable
    public func u8(at offset: Int) -> UInt8 {
        unsafe unsafeLoad(fromByteOffset: checked(offset, 1), as: UInt8.self)
    }

    /// The big-endian 16-bit number at `offset`. Traps when it does not lie inside the span.
    ///
    /// - Parameter offset: the index of the first byte.
    /// - Returns: the number.
    @inlinable
    public func u16(at offset: Int) -> UInt16 {
        unsafe UInt16(bigEndian: unsafeLoadUnaligned(fromByteOffset: checked(offset, 2), as: UInt16.self))
    }

    /// The big-endian 32-bit number at `offset`. Traps when it does not lie inside the span.
    ///
    /// - Parameter offset: the index of the first byte.
    /// - Returns: the number.
    @inlinable
    public func u32(at offset: Int) -> UInt32 {
        unsafe UInt32(bigEndian: unsafeLoadUnaligned(fromByteOffset: checked(offset, 4), as: UInt32.self))
    }

    /// The big-endian 64-bit number at `offset`. Traps when it does not lie inside the span.
    ///
    /// - Parameter offset: the index of the first byte.
    /// - Returns: the number.
    @inlinable
    public func u64(at offset: Int) -> UInt64 {
        unsafe UInt64(bigEndian: unsafeLoadUnaligned(fromByteOffset: checked(offset, 8), as: UInt64.self))
    }

    /// The little-endian 16-bit number at `offset`. Traps when it does not lie inside the span.
    ///
    /// - Parameter offset: the index of the first byte.
    /// - Returns: the number.
    @inlinable
    public func u16le(at offset: Int) -> UInt16 {
        u16(at: offset).byteSwapped
    }

    /// The little-endian 32-bit number at `offset`. Traps when it does not lie inside the span.
    ///
    /// - Parameter offset: the index of the first byte.
    /// - Returns: the number.
    @inlinable
    public func u32le(at offset: Int) -> UInt32 {
        u32(at: offset).byteSwapped
    }

    /// The little-endian 64-bit number at `offset`. Traps when it does not lie inside the span.
    ///
    /// - Parameter offset: the index of the first byte.
    /// - Returns: the number.
    @inlinable
    public func u64le(at offset: Int) -> UInt64 {
        u64(at: offset).byteSwapped
    }

    @inlinable
    func checked(_ offset: Int, _ count: Int) -> Int {
        precondition(offset >= 0 && byteCount &- count >= offset, "read outside the span")
        return offset
    }

    /// Whether the bytes at `offset` are these ASCII characters; false if they do not fit.
    ///
    /// - Parameters:
    ///   - text: ASCII characters.
    ///   - offset: the index of the first byte.
    /// - Returns: true if they are equal.
    @inlinable
    public func matches(_ text: StaticString, at offset: Int) -> Bool {
        let count = text.utf8CodeUnitCount
        guard offset >= 0, byteCount - count >= offset else { return false }
        for i in 0..<count where unsafe u8(at: offset + i) != text.utf8Start[i] { return false }
        return true
    }
}

extension Array where Element == UInt8 {
    /// The elements as raw bytes, borrowed.
    @inlinable
    public var rawSpan: RawSpan {
        @_lifetime(borrow self)
        borrowing get { unsafe _overrideLifetime(span.bytes, borrowing: self) }
    }

    /// A copy of the bytes of `span`.
    @inlinable
    public init(copying span: RawSpan) {
        self = unsafe span.withUnsafeBytes { unsafe Array($0) }
    }

    /// Appends the big-endian bytes of `value`.
    ///
    /// - Parameter value: the number to append.
    @inlinable
    public mutating func append<T: FixedWidthInteger>(bigEndian value: T) {
        unsafe Swift.withUnsafeBytes(of: value.bigEndian) { unsafe append(contentsOf: $0) }
    }

    /// Appends a copy of the bytes of `span`.
    @inlinable
    public mutating func append(copying span: RawSpan) {
        unsafe span.withUnsafeBytes { unsafe append(contentsOf: $0) }
    }
}
