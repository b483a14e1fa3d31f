// SPDX-License-Identifier: Apache-2.0

import CarrelThreads

/// Reads ahead: for what is read in small pieces one after another from where each request is dear, such as a server.
///
/// A read that goes on where an earlier one ended asks for twice as much as was asked for there, up to a limit; one that does not
/// asks for the wanted bytes. Several readers in different places do not disturb each other, nor does one that goes before another: the bytes it
/// has read stay for a while. Closing lets go of all that is kept.
public final class BufferingResource: Resource {
    public var link: Link { resource.link }
    public var lengthHint: LengthHint? { resource.lengthHint }

    private let resource: any Resource
    private let least: Int
    private let most: Int
    private let kept = Locked(Kept())

    /// Bytes of one read.
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

        /// Readers in different places that are told apart.
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

        /// Notes that a reader goes on from a place.
        ///
        /// - Parameters:
        ///   - end: the place.
        ///   - limit: bytes to keep of windows that were read to their end: for readers that are not so far.
        /// - Returns: the length of the earlier read that ended here; nil where none did.
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

        /// Forgets what is needed least.
        private mutating func removeOldest() {
            guard let index = windows.firstIndex(where: \.isPassed) ?? windows.indices.first else { return }
            windows.remove(at: index)
        }
    }

    /// Creates a buffer for a resource.
    ///
    /// - Parameters:
    ///   - resource: closed with this one.
    ///   - least: bytes that are asked for at least.
    ///   - most: bytes that are asked for ahead at most; eight times as many are kept.
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
            // too much to keep; where it ended is enough to go on from
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

    /// Bytes to ask for from a place on: more where a window ends there.
    private func ahead(at start: Int64) -> Int64 {
        guard let count = kept.withLock({ $0.pass(start, limit: 2 * most) }) else { return Int64(least) }
        return Int64(min(most, max(least, 2 * count)))
    }

    private func keep(_ window: Window) { kept.withLock { $0.add(window) } }
}
