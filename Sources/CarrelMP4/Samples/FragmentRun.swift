import CarrelBytes

/// Samples of one track run (`trun`, ISO/IEC 14496-12 §8.8.8).
struct FragmentRun {
    /// No fragment has more runs of one track than this: a run takes memory, and an empty one would take little of the file.
    private static let limit = 16_384

    /// The offset of the first sample's bytes.
    var dataStart: Int64
    /// The offset of the first entry.
    var entries: Int64
    var count: Int
    var flags: UInt32
    var defaults: FragmentDefaults

    private var hasDurations: Bool { flags & 0x100 != 0 }
    private var hasSizes: Bool { flags & 0x200 != 0 }

    /// Bytes of an entry: up to four numbers.
    private var entryLength: Int64 { Int64((flags >> 8 & 15).nonzeroBitCount) * 4 }

    /// Duration and size of the sample of that number.
    func entry(_ index: Int, _ window: inout FileWindow) throws -> (duration: Int64, size: Int) {
        let at = entries + Int64(index) * entryLength
        let duration = hasDurations ? Int64(try window.u32(at: at, "run entry")) : defaults.duration
        let size = hasSizes ? Int(try window.u32(at: at + (hasDurations ? 4 : 0), "run entry")) : defaults.size
        return (duration, size)
    }

    /// The end of the bytes of its last sample.
    private func dataEnd(_ window: inout FileWindow) throws -> Int64 {
        if !hasSizes { return dataStart + Int64(count) * Int64(defaults.size) }
        var end = dataStart
        for index in 0..<count { end += Int64(try entry(index, &window).size) }
        return end
    }

    /// The runs of one track in a fragment.
    ///
    /// - Parameters:
    ///   - fragment: a `moof` box.
    ///   - trackID: whose runs.
    ///   - defaults: the movie's defaults for the track.
    ///   - window: reads the file.
    /// - Returns: the runs in order.
    /// - Throws: when a box is malformed or cannot be read.
    static func read(
        _ fragment: MP4Box,
        _ trackID: UInt32,
        _ defaults: FragmentDefaults,
        _ window: inout FileWindow
    ) throws -> [FragmentRun] {
        var runs: [FragmentRun] = []
        var end = fragment.start
        try MP4Box.forEach(in: fragment.content, &window) { box, window in
            guard box.type == "traf" else { return }
            try readTrack(box.content, trackID, defaults, fragmentStart: fragment.start, previousEnd: &end, &window, &runs)
        }
        return runs
    }

    private static func readTrack(
        _ content: Range<Int64>,
        _ trackID: UInt32,
        _ movie: FragmentDefaults,
        fragmentStart: Int64,
        previousEnd: inout Int64,
        _ window: inout FileWindow,
        _ runs: inout [FragmentRun]
    ) throws {
        var defaults = movie
        var base = previousEnd
        var isWanted = false
        var end = previousEnd
        try MP4Box.forEach(in: content, &window) { box, window in
            let at = box.content.lowerBound
            if box.type == "tfhd" {
                let flags = try window.u32(at: at, "fragment header") & 0xff_ffff
                isWanted = try window.u32(at: at + 4, "fragment header") == trackID
                if flags & 0x2_0000 != 0 { base = fragmentStart }
                var field = at + 8
                if flags & 1 != 0 {
                    let long = try window.u64(at: field, "fragment header")
                    guard long <= UInt64(window.reader.length) else { throw Malformed("fragment lies past the end", at: Int(at)) }
                    base = Int64(long)
                    field += 8
                }
                if flags & 2 != 0 { field += 4 }
                if flags & 8 != 0 {
                    defaults.duration = Int64(try window.u32(at: field, "fragment header"))
                    field += 4
                }
                if flags & 16 != 0 { defaults.size = Int(try window.u32(at: field, "fragment header")) }
                end = base
            } else if box.type == "trun" {
                let run = try FragmentRun(box, base: base, previousEnd: end, defaults, &window)
                end = try run.dataEnd(&window)
                guard isWanted, run.count > 0 else { return }
                guard runs.count < limit else { throw Malformed("fragment has too many runs", at: Int(box.start)) }
                runs.append(run)
            }
        }
        previousEnd = end
    }

    private init(
        _ box: MP4Box,
        base: Int64,
        previousEnd: Int64,
        _ defaults: FragmentDefaults,
        _ window: inout FileWindow
    ) throws {
        let at = box.content.lowerBound
        flags = try window.u32(at: at, "track run") & 0xff_ffff
        count = Int(try window.u32(at: at + 4, "track run"))
        self.defaults = defaults
        entries = at + 8
        dataStart = previousEnd
        if flags & 1 != 0 {
            dataStart = base + Int64(Int32(truncatingIfNeeded: try window.u32(at: entries, "track run")))
            entries += 4
        }
        if flags & 4 != 0 { entries += 4 }
        guard dataStart >= 0 else { throw Malformed("track run lies before the file", at: Int(at)) }
        guard Int64(count) * entryLength <= box.content.upperBound - entries else {
            throw Malformed("track run has more entries than bytes", at: Int(at))
        }
        if !hasSizes, count > 0, defaults.size == 0 || count > Int(window.reader.length) / defaults.size {
            throw Malformed("more samples than the file can hold", at: Int(at))
        }
    }
}
