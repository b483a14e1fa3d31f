// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// Walks one track's samples through the movie fragments of a file, in the order of the file (§8.8).
struct FragmentSamples {
    private let track: MP4Track
    private let fragments: [MP4Box]
    private var nextFragment = 0
    private var parts: [TrackFragment] = []
    private var nextPart = 0
    private var walk = TrackFragmentSamples()
    private var window: FileWindow

    /// - Parameters:
    ///   - track: the track of the samples.
    ///   - fragments: the `moof` boxes.
    ///   - reader: the file.
    init(_ track: MP4Track, _ fragments: [MP4Box], _ reader: any ByteReader) {
        self.track = track
        self.fragments = fragments
        window = FileWindow(reader, capacity: 1 << 14)
    }

    /// The next sample; nil after the last.
    ///
    /// - Parameter time: when the samples before it end.
    /// - Returns: the sample; nil after the last.
    /// - Throws: `Malformed`, and read or write errors.
    mutating func next(from time: Int64) throws -> MP4Sample? {
        while true {
            if let sample = try walk.next(&window) { return sample }
            guard nextPart < parts.count else {
                guard nextFragment < fragments.count else { return nil }
                parts = try TrackFragment.read(fragments[nextFragment], of: [track], &window)
                nextFragment += 1
                nextPart = 0
                continue
            }
            walk = TrackFragmentSamples(parts[nextPart], from: nextPart == 0 ? time : walk.decodeTime)
            nextPart += 1
        }
    }

    /// Fills `result` for the sample that `next` returned last.
    mutating func readEncryption(_ defaults: TrackEncryption?, into result: inout SampleEncryption) throws {
        try walk.readEncryption(defaults, into: &result, &window)
    }
}

/// Walks the samples of one track's part of a fragment.
struct TrackFragmentSamples {
    private var part: TrackFragment?
    private var run = 0
    private var sample = 0
    private var offset: Int64 = 0
    private var startsRun = false
    /// When the samples so far end.
    private(set) var decodeTime: Int64 = 0

    init() {}

    /// - Parameters:
    ///   - part: the part with the samples.
    ///   - time: the decode time of the first sample, if the part does not declare it.
    init(_ part: TrackFragment, from time: Int64) {
        self.part = part
        decodeTime = part.baseTime ?? time
    }

    var trackID: UInt32 { part?.trackID ?? 0 }

    mutating func next(_ window: inout FileWindow) throws -> MP4Sample? {
        guard let part else { return nil }
        while run < part.runs.count, sample == part.runs[run].count {
            run += 1
            sample = 0
        }
        guard run < part.runs.count else { return nil }
        if sample == 0 {
            offset = part.runs[run].dataStart
            startsRun = true
        }
        let result = try part.runs[run].sample(sample, offset: offset, decodeTime: decodeTime, &window)
        sample += 1
        let (end, overflow) = offset.addingReportingOverflow(Int64(result.size))
        guard !overflow else { throw Malformed("sample lies past any file", at: Int(part.runs[run].entries)) }
        offset = end
        decodeTime &+= result.duration
        return result
    }

    /// Fills `result` for the sample that `next` returned last.
    mutating func readEncryption(
        _ defaults: TrackEncryption?,
        into result: inout SampleEncryption,
        _ window: inout FileWindow
    ) throws {
        let total = part?.sampleCount ?? 0
        try part?.auxiliary.next(defaults, startsRun: startsRun, of: total, into: &result, &window)
        startsRun = false
    }
}
