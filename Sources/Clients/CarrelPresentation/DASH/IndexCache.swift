// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelDASH
import CarrelMP4
package import CarrelMediaSource

/// Segment indexes, each loaded once. Those that were used last are kept.
package actor IndexCache {
    private let origin: MediaOrigin
    private let threads: SessionThreads
    private let memoryLimit: Int
    private var held: [String: (index: StreamIndex, use: UInt64)] = [:]
    private var running: [String: Task<StreamIndex, any Error>] = [:]
    private var uses: UInt64 = 0
    private var isEnded = false
    /// Bytes of all indexes that are kept.
    private(set) var memory = 0

    /// Bytes of one index box with those in front of it, and of all in a chain; boxes of a chain.
    private static let limit = 4 << 20
    private static let chainLength = 16 << 20
    private static let chainLimit = 1000
    /// The time in which a chain is loaded.
    private let patience: Duration

    /// - Parameters:
    ///   - origin: loads them.
    ///   - threads: read them.
    ///   - memoryLimit: bytes of all indexes that are kept, at most.
    ///   - patience: the time in which an index with all that it leads to is loaded.
    package init(_ origin: MediaOrigin, _ threads: SessionThreads, memoryLimit: Int = 8 << 20, patience: Duration = .seconds(60))
    {
        self.origin = origin
        self.threads = threads
        self.memoryLimit = memoryLimit
        self.patience = patience
    }

    /// Cancels pending loads, and loads no more.
    func end() {
        isEnded = true
        for task in running.values { task.cancel() }
    }

    /// The index of a representation.
    ///
    /// - Parameters:
    ///   - stream: the representation.
    ///   - segments: the addressing in the MPD.
    /// - Returns: nil if the MPD lists the segments itself, or the single file has no index.
    /// - Throws: ``ProxyError``.
    package func index(of stream: MPDStream, _ segments: MPDSegments) async throws -> StreamIndex? {
        guard stream.information?.kind ?? .base == .base, segments.count == 1, let whole = segments[0], whole.byteRange == nil,
            let range = whole.indexRange, let length = range.length, length > 0
        else { return nil }
        return try await index(at: whole.url, range.offset..<range.offset + length)
    }

    /// Loads the index in a range of a file.
    ///
    /// - Parameters:
    ///   - url: the file's address.
    ///   - range: the range of the index.
    /// - Returns: the index, with the indexes that it references.
    /// - Throws: ``ProxyError``.
    func index(at url: String, _ range: Range<Int64>) async throws -> StreamIndex {
        let key = "\(range.lowerBound)-\(range.upperBound) \(url)"
        uses += 1
        if let known = held[key]?.index {
            held[key]?.use = uses
            return known
        }
        if let task = running[key] { return try await task.value }
        guard !isEnded else { throw ProxyError(.ended, "the session has ended") }
        let (origin, threads, patience) = (origin, threads, patience)
        let task = Task {
            let deadline = origin.clock.now + patience
            do {
                return try await cancelling(after: patience, on: origin.clock) {
                    try await threads.compute { try await Self.load(url, range, origin) }
                }
            } catch  where deadline <= origin.clock.now && !Task.isCancelled {
                throw ProxyError(.unavailable, "\(MediaOrigin.shown(url)): the segment index takes longer than \(patience)")
            }
        }
        running[key] = task
        defer { running[key] = nil }
        let made = try await task.value
        keep(made, key)
        return made
    }

    private func keep(_ index: StreamIndex, _ key: String) {
        memory += index.cost + key.utf8.count
        if let old = held.updateValue((index, uses), forKey: key) { memory -= old.index.cost + key.utf8.count }
        while memory > memoryLimit, let oldest = held.min(by: { $0.value.use < $1.value.use }) {
            memory -= oldest.value.index.cost + oldest.key.utf8.count
            held[oldest.key] = nil
        }
    }

    private static func load(_ url: String, _ range: Range<Int64>, _ origin: MediaOrigin) async throws -> StreamIndex {
        let name = MediaOrigin.shown(url)
        var made = StreamIndex()
        var walk = SegmentReferenceWalk(depth: 8)
        var rest = chainLength
        var first: (range: Range<Int64>, bytes: [UInt8])?
        var wanted = range
        for _ in 0..<chainLimit {
            guard wanted.count <= min(limit, rest) else {
                throw ProxyError(.manifest, "\(name): the segment index is too long")
            }
            let bytes: [UInt8]
            if let first, first.range.contains(wanted.lowerBound), wanted.upperBound <= first.range.upperBound {
                // indexes of one file may be adjacent
                let at = Int(wanted.lowerBound - first.range.lowerBound)
                bytes = Array(first.bytes[at..<at + wanted.count])
            } else {
                bytes = try await SegmentOpening(origin: origin).resource(url, range: wanted, limit: limit).bytes
                guard bytes.count == wanted.count else { throw ProxyError(.wrongLength, "\(name): the segment index is cut off") }
                rest -= bytes.count
            }
            if first == nil { first = (wanted, bytes) }
            do {
                try walk.add(bytes, at: wanted.lowerBound)
                var next: Range<Int64>?
                while next == nil, let reference = try walk.next() {
                    switch reference {
                    case .index(let range): next = range
                    case .media(let subsegment) where subsegment.range.isEmpty: continue
                    case .media(let subsegment):
                        guard made.entries.count < SegmentReferences.limit else {
                            throw Malformed("too many subsegments", at: Int(clamping: wanted.lowerBound))
                        }
                        made.append(subsegment, timescale: walk.timescale)
                    }
                }
                guard let next else {
                    made.finish()
                    return made
                }
                wanted = next
            } catch let error as Malformed {
                throw ProxyError(.manifest, "\(name): \(error.description)")
            }
        }
        throw ProxyError(.manifest, "\(name): the segment index is too long")
    }
}
