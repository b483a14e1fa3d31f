import CarrelBytes
import CarrelThreads
import CarrelZlib

/// Unpacks deflated bytes as they are read, from any place.
///
/// Where reading has been before, the state of the unpacking is kept at intervals, so that a later read begins near its place and
/// not at the beginning. That takes less than 2 MiB, however long the resource is.
final class InflatingResource: Resource {
    var link: Link { packed.link }
    private let packed: any Resource
    private let byteCount: Int64
    private let places: Locked<Places>

    /// The state at a place: what can be copied and continued.
    private struct Place {
        var inflater: Inflater
        /// Bytes taken of the packed ones.
        var input: Int64 = 0
        /// Bytes given.
        var output: Int64 = 0
    }

    private struct Places: @unchecked Sendable {  // only `take` and `keep` see the inflaters in it, under the lock
        /// In the order of their output; never continued, only copied.
        var marks: [Place] = []
        /// Where reads ended; taken out by whoever goes on.
        var ends: [Place] = []
    }

    private static let inputSize: Int64 = 64 << 10
    private static let outputSize = 64 << 10
    private static let markLimit = 32
    private static let endLimit = 4

    /// - Parameters:
    ///   - packed: raw deflate (RFC 1951); closed with this one.
    ///   - length: bytes that come out; a stream that gives more or fewer is malformed.
    init(_ packed: any Resource, length: Int64) {
        self.packed = packed
        byteCount = length
        places = Locked(Places())
    }

    func length() async throws(ResourceError) -> Int64 { byteCount }

    func close() { packed.close() }

    func read(_ range: Range<Int64>, into buffer: inout [UInt8]) async throws(ResourceError) {
        let range = range.clamped(to: 0..<byteCount)
        guard !range.isEmpty else { return }
        var place = take(before: range.lowerBound)
        var input: [UInt8] = []
        var used = 0
        var skipped: [UInt8] = []
        var isAtEnd = false
        while place.output < range.upperBound {
            if isAtEnd { throw malformed }
            if used == input.count {
                input.removeAll(keepingCapacity: true)
                used = 0
                try await packed.read(place.input..<place.input + Self.inputSize, into: &input)
            }
            let isSkipping = place.output < range.lowerBound
            let wanted = min(Int64(Self.outputSize), (isSkipping ? range.lowerBound : range.upperBound) - place.output)
            skipped.removeAll(keepingCapacity: true)
            let before = isSkipping ? 0 : buffer.count
            let step: (taken: Int, isAtEnd: Bool)
            do throws(Malformed) {
                let rest = input.rawSpan.extracting(used..<input.count)
                step =
                    isSkipping
                    ? try place.inflater.inflate(rest, into: &skipped, atMost: Int(wanted))
                    : try place.inflater.inflate(rest, into: &buffer, atMost: Int(wanted))
            } catch { throw malformed }
            let given = (isSkipping ? skipped.count : buffer.count) - before
            guard step.taken > 0 || given > 0 || step.isAtEnd else { throw malformed }
            used += step.taken
            place.input += Int64(step.taken)
            place.output += Int64(given)
            isAtEnd = step.isAtEnd
            mark(place)
        }
        if place.output == byteCount, !isAtEnd {
            let rest = Array(input[used...])
            try await finish(&place, rest)
            return
        }
        keep(place)
    }

    /// Looks whether the stream ends where its length says: nothing may come out any more.
    private func finish(_ place: inout Place, _ rest: [UInt8]) async throws(ResourceError) {
        var input = rest
        var more: [UInt8] = []
        while true {
            if input.isEmpty { try await packed.read(place.input..<place.input + Self.inputSize, into: &input) }
            let step: (taken: Int, isAtEnd: Bool)
            do throws(Malformed) {
                step = try place.inflater.inflate(input.rawSpan, into: &more, atMost: 1)
            } catch { throw malformed }
            guard more.isEmpty, step.isAtEnd || step.taken > 0 else { throw malformed }
            if step.isAtEnd { return }
            place.input += Int64(step.taken)
            input.removeFirst(step.taken)
        }
    }

    private var malformed: ResourceError {
        ResourceError(.malformed, "\"\(link.href)\" is damaged: it does not unpack to its length")
    }

    /// The nearest state that is not past a place, for the caller alone.
    private func take(before output: Int64) -> Place {
        places.withLock { places in
            let mark = places.marks.last { $0.output <= output }
            let end = places.ends.indices.filter { places.ends[$0].output <= output }.max {
                places.ends[$0].output < places.ends[$1].output
            }
            if let end, places.ends[end].output >= mark?.output ?? 0 { return places.ends.remove(at: end) }
            guard var mark else { return Place(inflater: Inflater()) }
            mark.inflater = mark.inflater.copy()
            return mark
        }
    }

    /// Keeps a copy of the state if there is none near its place.
    private func mark(_ place: Place) {
        let interval = max(1 << 20, byteCount / Int64(Self.markLimit))
        guard place.output >= interval else { return }
        places.withLock { places in
            let index = places.marks.firstIndex { $0.output > place.output } ?? places.marks.count
            if index > 0, place.output - places.marks[index - 1].output < interval { return }
            if index < places.marks.count, places.marks[index].output - place.output < interval { return }
            var kept = place
            kept.inflater = place.inflater.copy()
            places.marks.insert(kept, at: index)
        }
    }

    private func keep(_ place: Place) {
        places.withLock { places in
            if places.ends.count == Self.endLimit { places.ends.removeFirst() }
            places.ends.append(place)
        }
    }
}
