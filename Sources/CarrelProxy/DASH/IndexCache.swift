import CarrelBytes
import CarrelDASH
import CarrelMP4

/// The subsegments of a representation that is one file, by its `sidx` (ISO/IEC 23009-1 §5.3.9.2, SegmentBase).
struct StreamIndex: Sendable {
    struct Entry: Sendable {
        /// In units of the index.
        var time: Int64
        var start: Duration
        var duration: Duration
        var range: Range<Int64>
    }

    var entries: [Entry] = []
}

/// Segment indexes, each loaded once.
actor IndexCache {
    private let origin: MediaOrigin
    private var held: [String: StreamIndex] = [:]

    /// Bytes of an index, those of all in a chain, subsegments, and indexes that are held.
    private static let limit = 4 << 20
    private static let chainLimit = 1000
    private static let entryLimit = 1 << 18
    private static let countLimit = 64

    init(_ origin: MediaOrigin) {
        self.origin = origin
    }

    /// The index of a representation.
    ///
    /// - Parameters:
    ///   - stream: the representation.
    ///   - segments: those of the MPD.
    /// - Returns: nil where the MPD names the segments itself, or the one file has no index.
    /// - Throws: ``ProxyError``.
    func index(of stream: MPDStream, _ segments: MPDSegments) async throws -> StreamIndex? {
        guard stream.information?.kind ?? .base == .base, segments.count == 1, let whole = segments[0], whole.byteRange == nil,
            let range = whole.indexRange, let length = range.length, length > 0
        else { return nil }
        let key = "\(range.offset)-\(length) \(whole.url)"
        if let known = held[key] { return known }
        var made = StreamIndex()
        var requests = 0
        try await read(whole.url, range.offset..<range.offset + length, into: &made, &requests)
        if held.count >= Self.countLimit { held.removeAll() }
        held[key] = made
        return made
    }

    private func read(_ url: String, _ range: Range<Int64>, into made: inout StreamIndex, _ requests: inout Int) async throws {
        let name = MediaOrigin.shown(url)
        requests += 1
        guard requests <= Self.chainLimit, range.count <= Self.limit else {
            throw ProxyError(.manifest, "\(name): the segment index is too long")
        }
        let bytes = try await origin.load(url, range: range, limit: Self.limit).bytes
        let found: (index: SegmentIndex, end: Int)?
        do throws(Malformed) { found = try SegmentIndex.read(bytes.rawSpan) } catch {
            throw ProxyError(.manifest, "\(name): \(error.what) at byte \(range.lowerBound + Int64(error.offset))")
        }
        guard let (index, end) = found else {
            throw ProxyError(.manifest, "\(name): there is no segment index at byte \(range.lowerBound)")
        }
        // sums of what comes stay within 64 bits
        guard range.lowerBound < 1 << 60, index.firstOffset < 1 << 60, index.earliestTime < 1 << 61 else {
            throw ProxyError(.manifest, "\(name): the segment index is out of range")
        }
        var offset = range.lowerBound + Int64(end) + Int64(index.firstOffset)
        var time = Int64(index.earliestTime)
        for reference in index.references {
            guard offset < 1 << 61, time < 1 << 62 else {
                throw ProxyError(.manifest, "\(name): the segment index is out of range")
            }
            let part = offset..<offset + Int64(reference.size)
            if reference.isIndex {
                try await read(url, part, into: &made, &requests)
            } else if reference.size > 0 {
                guard made.entries.count < Self.entryLimit else {
                    throw ProxyError(.manifest, "\(name): the segment index is too long")
                }
                made.entries.append(
                    StreamIndex.Entry(
                        time: time,
                        start: Self.seconds(time, index.timescale),
                        duration: Self.seconds(Int64(reference.duration), index.timescale),
                        range: part
                    )
                )
            }
            offset = part.upperBound
            time += Int64(reference.duration)
        }
    }

    private static func seconds(_ time: Int64, _ timescale: UInt32) -> Duration {
        let (whole, rest) = time.quotientAndRemainder(dividingBy: Int64(timescale))
        return .seconds(whole) + .nanoseconds(rest * 1_000_000_000 / Int64(timescale))
    }
}
