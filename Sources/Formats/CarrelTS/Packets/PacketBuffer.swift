// SPDX-License-Identifier: Apache-2.0

/// Memory for transport packets that grows as needed and is used again: nothing is cleared and nothing is allocated once it is
/// large enough.
@safe
package struct PacketBuffer: ~Copyable, @unchecked Sendable {  // the memory has one owner
    private var start: UnsafeMutableRawPointer
    private var capacity: Int
    /// Bytes written.
    package private(set) var count = 0

    /// Allocates memory.
    ///
    /// - Parameter capacity: bytes that fit before it grows; at least one packet.
    package init(capacity: Int = 64 * 1024) {
        self.capacity = max(capacity, TransportStream.packetLength)
        unsafe start = .allocate(byteCount: self.capacity, alignment: 64)
    }

    deinit {
        unsafe start.deallocate()
    }

    /// The bytes written.
    package var bytes: RawSpan {
        @_lifetime(borrow self)
        borrowing get {
            let span = unsafe RawSpan(_unsafeStart: start, byteCount: count)
            return unsafe _overrideLifetime(span, borrowing: self)
        }
    }

    /// The bytes written, for in-place changes.
    package var mutableBytes: MutableRawSpan {
        @_lifetime(&self)
        mutating get {
            let span = unsafe MutableRawSpan(_unsafeStart: start, byteCount: count)
            return unsafe _overrideLifetime(span, mutating: &self)
        }
    }

    /// Drops the bytes and keeps the memory.
    package mutating func removeAll() {
        count = 0
    }

    /// Appends bytes.
    package mutating func append(_ bytes: RawSpan) {
        unsafe reserve(bytes.byteCount) { to in
            unsafe bytes.withUnsafeBytes { from in
                if let base = from.baseAddress { unsafe to.copyMemory(from: base, byteCount: from.count) }
            }
        }
    }

    /// Makes room for `count` bytes and counts them as written; `body` writes all of them.
    mutating func reserve(_ count: Int, _ body: (UnsafeMutableRawPointer) -> Void) {
        if capacity - self.count < count { grow(to: self.count + count) }
        unsafe body(start + self.count)
        self.count += count
    }

    private mutating func grow(to needed: Int) {
        // large buffers grow more slowly: they never need more than one picture
        let larger = max(needed, capacity < 1 << 19 ? capacity * 2 : capacity + capacity / 2)
        capacity = larger
        guard count > 0 else {
            // two at a time would double the peak memory of a large picture
            unsafe start.deallocate()
            unsafe start = .allocate(byteCount: larger, alignment: 64)
            return
        }
        let memory = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 64)
        unsafe memory.copyMemory(from: start, byteCount: count)
        unsafe start.deallocate()
        unsafe start = memory
    }
}
