// SPDX-License-Identifier: Apache-2.0

import CarrelThreads

/// Reads ahead: for small sequential reads from a source with expensive requests, such as a server.
///
/// A read that continues where an earlier one ended requests twice as much, up to a limit; other reads request only their bytes.
/// Several readers at different positions do not disturb each other, nor does a reader ahead of another: its bytes stay buffered
/// for a while. Closing releases all buffers.
public final class BufferingResource: Resource {
    public var link: Link { resource.link }
    public var lengthHint: LengthHint? { resource.lengthHint }

    private let resource: any Resource
    private let least: Int
    private let most: Int
    private let kept = Locked(Kept())

    /// The bytes of one read.
    private struct Window {
        let start: Int64
        let bytes: [UInt8]
        /// Whether a reader has gone on from its end.
        var isPassed = false
        var end: Int64 { start + Int64(bytes.count) }
    }

    /// The kept bytes.
    private struct Kept {
        /// The last used last.
        var windows: [Window] = []
        /// From then on nothing is kept.
        var isClosed = false

        /// The maximum number of concurrent readers at different positions.
        private static let limit = 8

        /// The first bytes of a range, as many as are kept.
        mutating func first(of range: Range<Int64>) -> ArraySlice<UInt8> {
            let here = windows.indices.filter { windows[$0].start <= range.lowerBound && range.lowerBound < windows[$0].end }
            guard let index = here.max(by: { windows[$0].end < windows[$1].end }) else { return [] }
            let window = windows.remove(at: index)
            windows.append(window)
            return window.bytes[Int(range.lowerBound - window.start)...].prefix(
                Int(clamping: range.upperBound - range.lowerBound)
            )
        }

        /// Records that a reader continues from a position.
        ///
        /// - Parameters:
        ///   - end: the position.
        ///   - limit: the number of bytes to keep of completed windows, for slower readers.
        /// - Returns: the length of the earlier read that ended here; nil if there was none.
        mutating func pass(_ end: Int64, limit: Int) -> Int? {
            guard let index = windows.lastIndex(where: { $0.end == end }) else { return nil }
            let count = windows[index].bytes.count
            windows[index].isPassed = true
            if count == 0 { windows.remove(at: index) }
            while windows.reduce(0, { $0 + ($1.isPassed ? $1.bytes.count : 0) }) > limit { removeOldest() }
            return count
        }

        mutating func add(_ window: Window) {
            if isClosed { return }
            if windows.count == Self.limit { removeOldest() }
            windows.append(window)
        }

        /// Evicts the least needed window.
        private mutating func removeOldest() {
            guard let index = windows.firstIndex(where: \.isPassed) ?? windows.indices.first else { return }
            windows.remove(at: index)
        }
    }

    /// Creates a buffer for a resource.
    ///
    /// - Parameters:
    ///   - resource: the resource; closed with the buffer.
    ///   - least: the minimum number of bytes per request.
    ///   - most: the maximum number of bytes read ahead; eight times as many are kept.
    public init(_ resource: any Resource, least: Int = 0, most: Int = 2 << 20) {
        self.resource = resource
        self.least = least
        self.most = most
    }

    /// Bytes that are kept now.
    var keptByteCount: Int { kept.withLock { $0.windows.reduce(0) { $0 + $1.bytes.count } } }

    public func length() async throws(ResourceError) -> Int64 { try await resource.length() }

    public func read(_ range: Range<Int64>, into buffer: inout [UInt8]) async throws(ResourceError) {
        guard !range.isEmpty else { return }
        let known = kept.withLock { $0.first(of: range) }
        buffer += known
        let start = range.lowerBound + Int64(known.count)
        guard start < range.upperBound else { return }
        let missing = range.upperBound - start
        let wanted = min(max(missing, ahead(at: start)), Int64.max - max(0, start))
        guard missing < wanted || missing < Int64(most) else {
            // too much to keep; its end is enough to detect a sequential read
            try await resource.read(start..<range.upperBound, into: &buffer)
            return keep(Window(start: range.upperBound, bytes: []))
        }
        let bytes = try await resource.read(start..<start + wanted)
        buffer += bytes.prefix(Int(missing))
        keep(Window(start: start, bytes: bytes))
    }

    public func close() {
        kept.withLock { kept in
            kept.windows = []
            kept.isClosed = true
        }
        resource.close()
    }

    /// The number of bytes to request from a position: more if a window ends there.
    private func ahead(at start: Int64) -> Int64 {
        guard let count = kept.withLock({ $0.pass(start, limit: 2 * most) }) else { return Int64(least) }
        return Int64(min(most, max(least, 2 * count)))
    }

    private func keep(_ window: Window) { kept.withLock { $0.add(window) } }
}
