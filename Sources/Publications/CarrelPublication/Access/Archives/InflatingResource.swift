// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelThreads
import CarrelZlib

/// Decompresses deflated bytes while they are read, with random access.
///
/// The decompressor's state is saved at intervals, so that a later read starts near its position and not at the beginning; where
/// a read ended, its state and the remaining compressed bytes are saved too. This takes less than 3 MiB for resources of any
/// length.
final class InflatingResource: Resource {
    var link: Link { packed.link }
    private let packed: any Resource
    /// The declared length in bytes, if known; a stream of another length is damaged.
    private let declared: Int64?
    private let fault: ResourceError.Code
    private let places: Locked<Places>

    /// The decompressor's state at a position, which can be copied and continued.
    private struct Place {
        var inflater: Inflater
        /// The number of compressed bytes consumed.
        var input: Int64 = 0
        /// Bytes given.
        var output: Int64 = 0
        /// Packed bytes that were read already and not taken.
        var rest: [UInt8] = []
    }

    private struct Places: @unchecked Sendable {  // only `take` and `keep` see the inflaters in it, under the lock
        /// In the order of their output; never continued, only copied.
        var marks: [Place] = []
        /// Bytes between them.
        var interval: Int64 = 1 << 20
        /// States at which reads ended; a read that continues takes its state out.
        var ends: [Place] = []
        /// Bytes that come out in all, once that was seen.
        var length: Int64?
    }

    private static let inputSize: Int64 = 64 << 10
    private static let outputSize = 64 << 10
    private static let markLimit = 32
    private static let endLimit = 4

    /// - Parameters:
    ///   - packed: raw deflate data (RFC 1951); closed with the resource.
    ///   - length: the decompressed length in bytes; nil if it is not declared and the stream's end decides.
    ///   - fault: the error code for invalid data.
    init(_ packed: any Resource, length: Int64? = nil, fault: ResourceError.Code = .malformed) {
        self.packed = packed
        declared = length
        self.fault = fault
        places = Locked(Places())
    }

    func length() async throws(ResourceError) -> Int64 {
        if let known { return known }
        var nothing: [UInt8] = []
        try await unpack(Int64.max - 1..<Int64.max, into: &nothing)
        return known ?? 0
    }

    func close() { packed.close() }

    func read(_ range: Range<Int64>, into buffer: inout [UInt8]) async throws(ResourceError) {
        let range = range.clamped(to: 0..<(known ?? Int64.max))
        guard !range.isEmpty else { return }
        try await unpack(range, into: &buffer)
    }

    private var known: Int64? { declared ?? places.withLock { $0.length } }

    private func unpack(_ range: Range<Int64>, into buffer: inout [UInt8]) async throws(ResourceError) {
        var place = take(before: range.lowerBound)
        var input: [UInt8] = []
        swap(&input, &place.rest)
        var used = 0
        var skipped: [UInt8] = []
        while place.output < range.upperBound {
            if used == input.count {
                input.removeAll(keepingCapacity: true)
                used = 0
                try await packed.read(place.input..<place.input + Self.inputSize, into: &input)
            }
            let isSkipping = place.output < range.lowerBound
            let wanted = min(Int64(Self.outputSize), (isSkipping ? range.lowerBound : range.upperBound) - place.output)
            skipped.removeAll(keepingCapacity: true)
            let before = isSkipping ? 0 : buffer.count
            let step: (consumed: Int, isAtEnd: Bool)
            do throws(Malformed) {
                let rest = input.rawSpan.extracting(used..<input.count)
                step =
                    isSkipping
                    ? try place.inflater.inflate(rest, into: &skipped, atMost: Int(wanted))
                    : try place.inflater.inflate(rest, into: &buffer, atMost: Int(wanted))
            } catch { throw damaged }
            let given = (isSkipping ? skipped.count : buffer.count) - before
            guard step.consumed > 0 || given > 0 || step.isAtEnd else { throw damaged }
            used += step.consumed
            place.input += Int64(step.consumed)
            place.output += Int64(given)
            if step.isAtEnd { return try end(at: place.output, before: range.upperBound) }
            mark(place)
        }
        if place.output == declared { return try await finish(place, Array(input[used...])) }
        place.rest = Array(input[used...])
        keep(place)
    }

    /// Checks that the stream ends at its declared length.
    private func finish(_ place: Place, _ rest: [UInt8]) async throws(ResourceError) {
        var (at, input) = (place.input, rest)
        var more: [UInt8] = []
        while true {
            if input.isEmpty { try await packed.read(at..<at + Self.inputSize, into: &input) }
            let step: (consumed: Int, isAtEnd: Bool)
            do throws(Malformed) {
                step = try place.inflater.inflate(input.rawSpan, into: &more, atMost: 1)
            } catch { throw damaged }
            guard more.isEmpty, step.isAtEnd || step.consumed > 0 else { throw damaged }
            if step.isAtEnd { return }
            at += Int64(step.consumed)
            input.removeFirst(step.consumed)
        }
    }

    /// The stream has ended: too early, or at a length that was not declared.
    private func end(at output: Int64, before upper: Int64) throws(ResourceError) {
        guard declared == nil else {
            if output < upper { throw damaged }
            return
        }
        places.withLock { $0.length = output }
    }

    private var damaged: ResourceError {
        ResourceError(fault, "\"\(link.href)\" is damaged: it does not unpack to its length")
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

    /// Saves a copy of the state if there is none near its position. If there are too many, every other copy is discarded.
    private func mark(_ place: Place) {
        places.withLock { places in
            guard place.output >= places.interval else { return }
            let index = places.marks.firstIndex { $0.output > place.output } ?? places.marks.count
            if index > 0, place.output - places.marks[index - 1].output < places.interval { return }
            if index < places.marks.count, places.marks[index].output - place.output < places.interval { return }
            places.marks.insert(
                Place(inflater: place.inflater.copy(), input: place.input, output: place.output),
                at: index
            )
            guard places.marks.count > Self.markLimit else { return }
            places.interval *= 2
            places.marks = places.marks.indices.filter { $0 % 2 == 1 }.map { places.marks[$0] }
        }
    }

    private func keep(_ place: Place) {
        places.withLock { places in
            if places.ends.count == Self.endLimit { places.ends.removeFirst() }
            places.ends.append(place)
        }
    }
}
