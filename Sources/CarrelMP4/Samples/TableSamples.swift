import CarrelBytes

/// Walks the sample tables of a movie in decode order, holding a window of each table.
struct TableSamples {
    private let tables: SampleTables
    private var durationWindow: FileWindow
    private var chunkRunWindow: FileWindow
    private var chunkWindow: FileWindow
    private var sizeWindow: FileWindow

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

    init(_ tables: SampleTables, _ reader: any ByteReader) {
        self.tables = tables
        durationWindow = FileWindow(reader, capacity: 4096)
        chunkRunWindow = FileWindow(reader, capacity: 4096)
        chunkWindow = FileWindow(reader, capacity: 1 << 14)
        sizeWindow = FileWindow(reader, capacity: 1 << 16)
    }

    /// The next sample, wherever the tables say it lies; nil after the last.
    mutating func next() throws -> MP4Sample? {
        guard sample < tables.sampleCount else { return nil }
        while samplesLeft == 0 { try nextChunk() }
        let size = try nextSize()
        let result = MP4Sample(offset: offset, size: size, duration: try nextDuration())
        sample += 1
        samplesLeft -= 1
        let (end, overflow) = offset.addingReportingOverflow(Int64(size))
        guard !overflow else { throw Malformed("sample lies past any file", at: Int(tables.chunks.start)) }
        offset = end
        return result
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
    }

    /// Moves to the next entry of `stsc`, which counts chunks from 1.
    private mutating func nextRun() throws {
        let table = tables.chunkRuns
        guard runIndex < table.count else {
            throw Malformed("chunk \(chunk) has no sample count", at: Int(table.start))
        }
        let entry = table.start + Int64(runIndex) * 12
        let first = Int(try chunkRunWindow.u32(at: entry, "chunk run"))
        samplesPerChunk = Int(try chunkRunWindow.u32(at: entry + 4, "chunk run"))
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
}
