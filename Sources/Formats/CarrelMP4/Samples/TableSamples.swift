// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// Walks the sample tables of a movie in decode order, holding a window of each table.
struct TableSamples {
    private let tables: SampleTables
    private var durationWindow: FileWindow
    private var chunkRunWindow: FileWindow
    private var chunkWindow: FileWindow
    private var sizeWindow: FileWindow
    private var compositionWindow: FileWindow
    private var syncWindow: FileWindow
    private var auxiliaryWindow: FileWindow

    private var sample = 0
    // the run of durations
    private var durationIndex = 0
    private var durationLeft = 0
    private var duration: Int64 = 0
    // the chunk
    private var chunk = 0
    private var samplesLeft = 0
    private var offset: Int64 = 0
    // the run of chunks
    private var runIndex = 0
    private var runEnd = 0
    private var samplesPerChunk = 0
    private var entry = 0
    // composition offsets and sync samples
    private var decodeTime: Int64 = 0
    private var compositionIndex = 0
    private var compositionLeft = 0
    private var composition: Int64 = 0
    private var syncIndex = 0
    private var nextSync = 0
    // protection
    private var auxiliary: AuxiliaryInformation
    private var startsChunk = false

    init(_ tables: SampleTables, _ auxiliary: AuxiliaryInformation, _ reader: any ByteReader) {
        self.tables = tables
        self.auxiliary = auxiliary
        compositionWindow = FileWindow(reader)
        syncWindow = FileWindow(reader)
        auxiliaryWindow = FileWindow(reader, capacity: 1 << 14)
        durationWindow = FileWindow(reader, capacity: 4096)
        chunkRunWindow = FileWindow(reader, capacity: 4096)
        chunkWindow = FileWindow(reader, capacity: 1 << 14)
        sizeWindow = FileWindow(reader, capacity: 1 << 16)
    }

    /// Returns the next sample at the offset in the tables; nil after the last one.
    mutating func next() throws -> MP4Sample? {
        guard sample < tables.sampleCount else { return nil }
        while samplesLeft == 0 { try nextChunk() }
        let size = try nextSize()
        let duration = try nextDuration()
        let result = MP4Sample(
            offset: offset,
            size: size,
            duration: duration,
            decodeTime: decodeTime,
            compositionOffset: try nextComposition(),
            isSync: try nextIsSync(),
            entry: entry
        )
        decodeTime &+= duration
        sample += 1
        samplesLeft -= 1
        let (end, overflow) = offset.addingReportingOverflow(Int64(size))
        guard !overflow else { throw Malformed("sample lies past any file", at: Int(tables.chunks.start)) }
        offset = end
        return result
    }

    /// Fills `result` for the sample that `next` returned last.
    mutating func readEncryption(_ defaults: TrackEncryption?, into result: inout SampleEncryption) throws {
        try auxiliary.next(defaults, startsRun: startsChunk, of: tables.sampleCount, into: &result, &auxiliaryWindow)
        startsChunk = false
    }

    private mutating func nextChunk() throws {
        guard chunk < tables.chunks.count else {
            throw Malformed("chunks hold \(sample) of \(tables.sampleCount) samples", at: Int(tables.chunks.start))
        }
        while chunk >= runEnd { try nextRun() }
        if tables.chunkOffsetsAreLong {
            let long = try chunkWindow.u64(at: tables.chunks.start + Int64(chunk) * 8, "chunk offset")
            guard long <= UInt64(Int64.max) else { throw Malformed("chunk lies past any file", at: Int(tables.chunks.start)) }
            offset = Int64(long)
        } else {
            offset = Int64(try chunkWindow.u32(at: tables.chunks.start + Int64(chunk) * 4, "chunk offset"))
        }
        chunk += 1
        samplesLeft = samplesPerChunk
        startsChunk = true
    }

    /// Moves to the next entry of `stsc`, whose chunk numbers start at 1.
    private mutating func nextRun() throws {
        let table = tables.chunkRuns
        guard runIndex < table.count else {
            throw Malformed("chunk \(chunk) has no sample count", at: Int(table.start))
        }
        let entry = table.start + Int64(runIndex) * 12
        let first = Int(try chunkRunWindow.u32(at: entry, "chunk run"))
        samplesPerChunk = Int(try chunkRunWindow.u32(at: entry + 4, "chunk run"))
        self.entry = max(0, Int(try chunkRunWindow.u32(at: entry + 8, "chunk run")) - 1)
        runIndex += 1
        guard first == runEnd + 1 else { throw Malformed("chunk runs are out of order", at: Int(entry)) }
        if runIndex == table.count {
            runEnd = Int.max
        } else {
            let next = Int(try chunkRunWindow.u32(at: entry + 12, "chunk run"))
            guard next > first else { throw Malformed("chunk runs are out of order", at: Int(entry) + 12) }
            runEnd = next - 1
        }
    }

    private mutating func nextSize() throws -> Int {
        let start = tables.sizes.start
        switch tables.sizeBits {
        case 32: return Int(try sizeWindow.u32(at: start + Int64(sample) * 4, "sample size"))
        case 16: return Int(try sizeWindow.u16(at: start + Int64(sample) * 2, "sample size"))
        case 8: return Int(try sizeWindow.u8(at: start + Int64(sample), "sample size"))
        case 4:
            let pair = try sizeWindow.u8(at: start + Int64(sample / 2), "sample size")
            return Int(sample % 2 == 0 ? pair >> 4 : pair & 15)
        default: return tables.constantSize
        }
    }

    private mutating func nextDuration() throws -> Int64 {
        while durationLeft == 0 {
            guard durationIndex < tables.durations.count else {
                throw Malformed("sample \(sample) has no duration", at: Int(tables.durations.start))
            }
            let entry = tables.durations.start + Int64(durationIndex) * 8
            durationLeft = Int(try durationWindow.u32(at: entry, "sample duration"))
            duration = Int64(try durationWindow.u32(at: entry + 4, "sample duration"))
            durationIndex += 1
        }
        durationLeft -= 1
        return duration
    }

    private mutating func nextComposition() throws -> Int64 {
        let table = tables.compositions
        guard table.count > 0 else { return 0 }
        while compositionLeft == 0 {
            // samples beyond the table have no offset
            guard compositionIndex < table.count else { return 0 }
            let at = table.start + Int64(compositionIndex) * 8
            compositionLeft = Int(try compositionWindow.u32(at: at, "composition offset"))
            // files of version 0 carry negative offsets too
            composition = Int64(Int32(truncatingIfNeeded: try compositionWindow.u32(at: at + 4, "composition offset")))
            compositionIndex += 1
        }
        compositionLeft -= 1
        return composition
    }

    private mutating func nextIsSync() throws -> Bool {
        guard let table = tables.syncSamples else { return true }
        while nextSync <= sample, syncIndex < table.count {
            let number = Int(try syncWindow.u32(at: table.start + Int64(syncIndex) * 4, "sync sample"))
            guard number > nextSync else {
                throw Malformed("sync samples are out of order", at: Int(table.start) + syncIndex * 4)
            }
            nextSync = number
            syncIndex += 1
        }
        return nextSync == sample + 1
    }

    // MARK: - Places

    /// Skips the parameters of the last sample returned by `next`: reads only what determines their length.
    mutating func skipEncryption(_ defaults: TrackEncryption?) throws {
        try auxiliary.skip(defaults, startsRun: startsChunk, of: tables.sampleCount, &auxiliaryWindow)
        startsChunk = false
    }

    /// The position of the next sample in each table; a walk continues from there with its own windows.
    var position: MP4SamplePosition {
        get {
            MP4SamplePosition(
                sample: UInt32(clamping: sample),
                durations: .init(
                    index: UInt32(clamping: durationIndex),
                    remaining: UInt32(clamping: durationLeft),
                    value: duration
                ),
                compositions: .init(
                    index: UInt32(clamping: compositionIndex),
                    remaining: UInt32(clamping: compositionLeft),
                    value: composition
                ),
                chunk: UInt32(clamping: chunk),
                samplesLeft: UInt32(clamping: samplesLeft),
                offset: offset,
                decodeTime: decodeTime,
                run: UInt32(clamping: runIndex),
                runEnd: runEnd == .max ? nil : UInt32(clamping: runEnd),
                samplesPerChunk: UInt32(clamping: samplesPerChunk),
                entry: UInt32(clamping: entry),
                syncIndex: UInt32(clamping: syncIndex),
                nextSync: UInt32(clamping: nextSync),
                startsChunk: startsChunk,
                auxiliary: auxiliary.position
            )
        }
        set {
            sample = Int(newValue.sample)
            (durationIndex, durationLeft) = (Int(newValue.durations.index), Int(newValue.durations.remaining))
            duration = newValue.durations.value
            (compositionIndex, compositionLeft) = (Int(newValue.compositions.index), Int(newValue.compositions.remaining))
            composition = newValue.compositions.value
            (chunk, samplesLeft) = (Int(newValue.chunk), Int(newValue.samplesLeft))
            (offset, decodeTime) = (newValue.offset, newValue.decodeTime)
            (runIndex, runEnd) = (Int(newValue.run), newValue.runEnd.map { Int($0) } ?? .max)
            (samplesPerChunk, entry) = (Int(newValue.samplesPerChunk), Int(newValue.entry))
            (syncIndex, nextSync) = (Int(newValue.syncIndex), Int(newValue.nextSync))
            startsChunk = newValue.startsChunk
            auxiliary.position = newValue.auxiliary
        }
    }
}
