// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelFileSegments
import CarrelMP4
import CarrelThreads

/// A fragmented file with an index of a test's own.
struct IndexedFile {
    /// One reference of an index.
    struct Reference {
        var isIndex = false
        var size: Int
        var duration: Int
        var isSync = true
    }

    /// The bytes in front of the first fragment, without an index.
    let head: [UInt8]
    /// Each fragment with its media.
    let fragments: [[UInt8]]
    let track: MP4Track
    /// When the pictures of each begin, and the end, in units of the track.
    private(set) var times: [Int64] = []

    init(_ bytes: [UInt8]) throws {
        let file = try MP4File(BytesReader(bytes))
        guard let track = file.tracks.first(where: { $0.kind == "vide" }) ?? file.tracks.first else {
            throw Malformed("no track", at: 0)
        }
        self.track = track
        // audio-only fragments belong to the video fragments before them
        var starts: [Int] = []
        var survey = FragmentSurvey([track], in: BytesReader(bytes), from: [0])
        for box in file.fragments {
            guard let part = try survey.read(box, limit: .max)[0] else { continue }
            starts.append(Int(box.start))
            times.append(part.first.decodeTime + part.first.compositionOffset)
        }
        times.append(survey.ends[0] + (times.first ?? 0))
        var end = bytes.count
        try file.forEachBox { box, _ in if box.type == "mfra" { end = Int(box.start) } }
        var own = bytes[..<(starts.first ?? 0)]
        if let index = file.indexes.first { own.removeSubrange(Int(index.start)..<Int(index.content.upperBound)) }
        head = Array(own)
        fragments = starts.indices.map { Array(bytes[starts[$0]..<($0 + 1 < starts.count ? starts[$0 + 1] : end)]) }
    }

    func index(at time: Int64, offset: Int = 0, _ references: [Reference]) -> [UInt8] {
        var writer = BoxWriter()
        writer.fullBox("sidx") { writer in
            writer.u32(track.id)
            writer.u32(UInt32(track.timescale))
            writer.u32(UInt32(clamping: time))
            writer.u32(UInt32(clamping: offset))
            writer.u16(0)
            writer.u16(UInt16(clamping: references.count))
            for reference in references {
                writer.u32(UInt32(truncatingIfNeeded: reference.size) & 0x7fff_ffff | (reference.isIndex ? 0x8000_0000 : 0))
                writer.u32(UInt32(truncatingIfNeeded: reference.duration))
                writer.u32(reference.isSync ? 0x9000_0000 : 0)
            }
        }
        return writer.bytes
    }

    func references(_ range: Range<Int>) -> [Reference] {
        range.map { Reference(size: fragments[$0].count, duration: Int(times[$0 + 1] - times[$0])) }
    }

    /// One index of all fragments.
    var flat: [UInt8] {
        head + index(at: times[0], references(fragments.indices)) + fragments.joined()
    }

    /// An index of indexes, each of which lies in front of its fragments.
    func chained(_ count: Int) -> [UInt8] {
        let groups = stride(from: 0, to: fragments.count, by: count).map { $0..<min(fragments.count, $0 + count) }
        var parts: [[UInt8]] = []
        var references: [Reference] = []
        for group in groups {
            let own = index(at: times[group.lowerBound], self.references(group))
            let part = own + fragments[group].joined()
            parts.append(part)
            references.append(
                Reference(isIndex: true, size: part.count, duration: Int(times[group.upperBound] - times[group.lowerBound]))
            )
        }
        return head + index(at: times[0], references) + parts.joined()
    }

    /// Indexes that each lead to the next, after their own fragments.
    func daisy(_ count: Int) -> [UInt8] {
        var rest: [UInt8] = []
        for start in stride(from: 0, to: fragments.count, by: count).reversed() {
            let group = start..<min(fragments.count, start + count)
            var references = self.references(group)
            if !rest.isEmpty {
                references.append(
                    Reference(isIndex: true, size: rest.count, duration: Int(times[fragments.count] - times[group.upperBound]))
                )
            }
            rest = index(at: times[start], references) + fragments[group].joined() + rest
        }
        return head + rest
    }

    /// A table of sync samples at the end.
    var table: [UInt8] {
        var writer = BoxWriter()
        writer.append(head)
        var starts: [Int] = []
        for fragment in fragments {
            starts.append(writer.bytes.count)
            writer.append(fragment)
        }
        let start = writer.bytes.count
        writer.box("mfra") { writer in
            writer.fullBox("tfra", version: 1) { writer in
                writer.u32(track.id)
                writer.u32(0)
                writer.u32(UInt32(starts.count))
                for (number, place) in starts.enumerated() {
                    writer.u64(UInt64(times[number]))
                    writer.u64(UInt64(place))
                    for _ in 0..<3 { writer.u8(1) }
                }
            }
            writer.fullBox("mfro") { $0.u32(0) }
        }
        let length = writer.bytes.count - start
        writer.patch(UInt32(length), at: writer.bytes.count - 4)
        return writer.bytes
    }
}

/// Counts what is read of a file.
final class CountedReader: ByteReader, Sendable {
    private let bytes: [UInt8]
    private let found = Locked<Set<Int64>>([])

    /// Blocks of 4 KiB that were read from.
    var blocks: Set<Int64> { found.withLock { $0 } }

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var length: Int64 { Int64(bytes.count) }

    func read(_ range: Range<Int64>) -> [UInt8] {
        if !range.isEmpty {
            found.withLock { $0.formUnion(range.lowerBound / 4096...(range.upperBound - 1) / 4096) }
        }
        return Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)])
    }

    func forget() { found.withLock { $0 = [] } }
}
