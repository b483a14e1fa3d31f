// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The sample tables of a track on their way (ISO/IEC 14496-12 §8.6, §8.7): run lengths, and four bytes for each size.
struct SampleTableBuilder: Sendable {
    private struct Run: Sendable {
        var count: UInt32
        var value: UInt32
    }
    private struct ChunkRun: Sendable {
        var first: UInt32
        var samples: UInt32
        var entry: UInt32
    }

    private var durations: [Run] = []
    private var compositions: [Run] = []
    private var hasCompositions = false
    private var isSigned = false
    /// The numbers of the sync samples; nil while all samples are sync samples.
    private var syncs: [UInt32]?
    private var sizes: [UInt32] = []
    /// How many samples have `constantSize`; after the first other size they are all in `sizes`.
    private var constantCount = 0
    private var constantSize: UInt32 = 0
    private var chunks: [Int64] = []
    private var chunkRuns: [ChunkRun] = []
    private var chunkEntry = 0
    private var chunkSamples: UInt32 = 0
    /// The duration of all samples.
    private(set) var duration: Int64 = 0
    private(set) var count: UInt32 = 0

    init() {}

    /// Begins a chunk.
    mutating func beginChunk(at offset: Int64, entry: Int) {
        endChunk()
        chunks.append(offset)
        chunkEntry = entry
    }

    private mutating func endChunk() {
        guard chunkSamples > 0 else { return }
        let entry = UInt32(clamping: chunkEntry + 1)
        if chunkRuns.last?.samples != chunkSamples || chunkRuns.last?.entry != entry {
            chunkRuns.append(ChunkRun(first: UInt32(clamping: chunks.count), samples: chunkSamples, entry: entry))
        }
        chunkSamples = 0
    }

    /// Adds a sample to the last chunk; false if a number does not fit into the tables.
    mutating func append(size: Int, duration: Int64, compositionOffset: Int64, isSync: Bool) -> Bool {
        guard let bytes = UInt32(exactly: size), let units = UInt32(exactly: duration), count < .max,
            (Int64(Int32.min)...Int64(UInt32.max)).contains(compositionOffset)
        else { return false }
        Self.add(units, to: &durations)
        Self.add(UInt32(truncatingIfNeeded: compositionOffset), to: &compositions)
        if compositionOffset != 0 { hasCompositions = true }
        if compositionOffset < 0 { isSigned = true }
        if syncs == nil, !isSync { syncs = Array(0..<count).map { $0 + 1 } }
        if isSync { syncs?.append(count + 1) }
        append(size: bytes)
        count += 1
        chunkSamples += 1
        self.duration += Int64(units)
        return true
    }

    private mutating func append(size: UInt32) {
        if sizes.isEmpty, constantCount == 0 || size == constantSize {
            constantSize = size
            constantCount += 1
            return
        }
        if sizes.isEmpty { sizes = [UInt32](repeating: constantSize, count: constantCount) }
        sizes.append(size)
    }

    private static func add(_ value: UInt32, to runs: inout [Run]) {
        if let last = runs.indices.last, runs[last].value == value {
            runs[last].count += 1
        } else {
            runs.append(Run(count: 1, value: value))
        }
    }

    /// Writes the boxes.
    ///
    /// - Parameters:
    ///   - writer: gets the tables.
    ///   - shift: added to the offsets of chunks.
    ///   - isLong: whether offsets have eight bytes.
    func write(to writer: inout BoxWriter, shift: Int64, isLong: Bool) {
        var finished = self
        finished.endChunk()
        finished.writeFinished(to: &writer, shift, isLong)
    }

    private func writeFinished(to writer: inout BoxWriter, _ shift: Int64, _ isLong: Bool) {
        Self.write(durations, "stts", version: 0, to: &writer)
        if hasCompositions { Self.write(compositions, "ctts", version: isSigned ? 1 : 0, to: &writer) }
        if let syncs {
            writer.fullBox("stss") { writer in
                writer.u32(UInt32(clamping: syncs.count))
                for number in syncs { writer.u32(number) }
            }
        }
        writer.fullBox("stsc") { writer in
            writer.u32(UInt32(clamping: chunkRuns.count))
            for run in chunkRuns {
                writer.u32(run.first)
                writer.u32(run.samples)
                writer.u32(run.entry)
            }
        }
        writer.fullBox("stsz") { writer in
            writer.u32(sizes.isEmpty ? constantSize : 0)
            writer.u32(count)
            // a constant size of 0 means a table
            if sizes.isEmpty, constantSize == 0 { writer.zeros(4 * constantCount) }
            for size in sizes { writer.u32(size) }
        }
        writer.fullBox(isLong ? "co64" : "stco") { writer in
            writer.u32(UInt32(clamping: chunks.count))
            for offset in chunks {
                if isLong { writer.u64(UInt64(clamping: offset + shift)) } else { writer.u32(UInt32(clamping: offset + shift)) }
            }
        }
    }

    private static func write(_ runs: [Run], _ type: FourCC, version: UInt8, to writer: inout BoxWriter) {
        writer.fullBox(type, version: version) { writer in
            writer.u32(UInt32(clamping: runs.count))
            for run in runs {
                writer.u32(run.count)
                writer.u32(run.value)
            }
        }
    }
}
