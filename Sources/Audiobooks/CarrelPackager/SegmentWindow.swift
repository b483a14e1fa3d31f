// SPDX-License-Identifier: Apache-2.0

import CarrelThreads
import Glibc

/// A block of memory that a segment passes through: bytes are appended at one end and removed from the other.
@safe
struct SegmentWindow: ~Copyable {
    private let start: UnsafeMutableRawPointer
    /// Bytes it has room for.
    let capacity: Int
    private var first = 0
    private var end = 0

    /// - Parameters:
    ///   - memory: outlives the window.
    ///   - range: the part of it to use.
    init(_ memory: borrowing WindowMemory, _ range: Range<Int>) {
        precondition(range.lowerBound >= 0 && range.upperBound <= WindowMemory.size, "a window outside its memory")
        unsafe start = memory.start + range.lowerBound
        capacity = range.count
    }

    /// A window over the caller's memory, which outlives it.
    init(over memory: UnsafeMutableRawBufferPointer) {
        guard let base = memory.baseAddress else { preconditionFailure("a window without memory") }
        unsafe start = base
        capacity = memory.count
    }

    /// Bytes held.
    var count: Int { end - first }

    /// Room after the bytes held.
    var free: Int { capacity - end }

    /// Runs `body` with the bytes held.
    func withBytes<Result, Failure: Error>(_ body: (RawSpan) throws(Failure) -> Result) throws(Failure) -> Result {
        try unsafe body(RawSpan(_unsafeStart: start + first, byteCount: count))
    }

    /// Removes bytes from the front.
    mutating func drop(_ n: Int) {
        precondition(n >= 0 && n <= count, "fewer bytes are there")
        first += n
    }

    /// Moves the bytes held to the start of the memory.
    mutating func compact() {
        if first > 0 {
            unsafe start.copyMemory(from: start + first, byteCount: count)
            end -= first
            first = 0
        }
    }

    /// Runs `body` with the free space after the content, at most `limit` bytes; its output is appended.
    mutating func append<Failure: Error>(
        atMost limit: Int,
        _ body: (inout OutputRawSpan) throws(Failure) -> Void
    ) throws(Failure) {
        let room = unsafe UnsafeMutableRawBufferPointer(start: start + end, count: min(limit, free))
        var out = unsafe OutputRawSpan(buffer: room, initializedCount: 0)
        try body(&out)
        end += unsafe out.finalize(for: room)
    }
}

/// Memory for the windows of one segment, used again for the next: making a segment allocates none.
@safe
struct WindowMemory: ~Copyable {
    /// Bytes.
    static let size = 96 << 10
    private static let idleLimit = 64
    private static let idleBlocks = Locked<[Block]>([])

    let start: UnsafeMutableRawPointer

    @safe
    private struct Block: @unchecked Sendable {  // who takes a block out of the list is the only one who knows it
        let start: UnsafeMutableRawPointer
    }

    init() {
        let block = Self.idleBlocks.withLock { $0.popLast() }
        unsafe start = block?.start ?? .allocate(byteCount: Self.size, alignment: 64)
    }

    deinit {
        let block = unsafe Block(start: start)
        let keep = Self.idleBlocks.withLock { idleBlocks in
            guard idleBlocks.count < Self.idleLimit else { return false }
            idleBlocks.append(block)
            return true
        }
        if !keep { unsafe start.deallocate() }
    }
}
