import CarrelBytes

/// A movie's defaults for one track's samples in its fragments (`trex`, ISO/IEC 14496-12 §8.8.3).
struct FragmentDefaults {
    var duration: Int64 = 0
    var size = 0
}

/// Walks one track's samples through the movie fragments of a file, in the order of the file (§8.8).
struct FragmentSamples {
    private let trackID: UInt32
    private let defaults: FragmentDefaults
    private let fragments: [MP4Box]
    private var nextFragment = 0
    private var runs: [FragmentRun] = []
    private var nextRun = 0
    private var sample = 0
    private var offset: Int64 = 0
    private var window: FileWindow

    /// - Parameters:
    ///   - trackID: whose samples.
    ///   - defaults: the movie's defaults for them.
    ///   - fragments: each `moof` box.
    ///   - reader: the file.
    init(_ trackID: UInt32, _ defaults: FragmentDefaults, _ fragments: [MP4Box], _ reader: any ByteReader) {
        self.trackID = trackID
        self.defaults = defaults
        self.fragments = fragments
        window = FileWindow(reader, capacity: 1 << 14)
    }

    /// The next sample; nil after the last.
    mutating func next() throws -> MP4Sample? {
        while true {
            guard nextRun < runs.count else {
                guard nextFragment < fragments.count else { return nil }
                runs = try FragmentRun.read(fragments[nextFragment], trackID, defaults, &window)
                nextFragment += 1
                nextRun = 0
                sample = 0
                continue
            }
            let run = runs[nextRun]
            if sample == 0 { offset = run.dataStart }
            guard sample < run.count else {
                nextRun += 1
                sample = 0
                continue
            }
            let (duration, size) = try run.entry(sample, &window)
            sample += 1
            let result = MP4Sample(offset: offset, size: size, duration: duration)
            let (end, overflow) = offset.addingReportingOverflow(Int64(size))
            guard !overflow else { throw Malformed("sample lies past any file", at: Int(run.entries)) }
            offset = end
            return result
        }
    }
}
