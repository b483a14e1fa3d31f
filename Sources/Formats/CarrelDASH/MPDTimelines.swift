// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The runs of timelines, each made once for all representations that share it.
///
/// Thousands of representations may inherit one timeline of a hundred thousand entries.
package struct MPDTimelines: Sendable {
    /// A timeline by its storage, which is kept.
    private struct Storage: Hashable {
        var address: Int
        var count: Int

        init(_ timeline: [SegmentInformation.TimelineEntry]) {
            address = unsafe timeline.withUnsafeBufferPointer { Int(bitPattern: $0.baseAddress) }
            count = timeline.count
        }
    }

    /// A timeline, and the numbers that its runs depend on.
    private struct Key: Hashable {
        var storage: Storage
        var offset: Int64
        var length: Int64?
        var startNumber: Int64
        var limit: Int?
    }

    private struct RunsEntry: Sendable {
        let timeline: [SegmentInformation.TimelineEntry]
        let runs: [MPDSegmentRun]
    }

    private struct SequencesEntry: Sendable {
        let timeline: [SegmentInformation.TimelineEntry]
        let hasSequences: Bool
    }

    private let keepsRuns: Bool
    private let workLimit: Int
    private var runEntries: [Key: RunsEntry] = [:]
    private var sequenceEntries: [Storage: SequencesEntry] = [:]
    /// Entries that runs were made of.
    private var work = 0
    /// Runs that are kept.
    package private(set) var count = 0

    /// - Parameters:
    ///   - keepsRuns: false for the last run of each timeline alone.
    ///   - workLimit: entries of all timelines that runs are made of, at most.
    package init(keepsRuns: Bool = true, workLimit: Int = .max) {
        self.keepsRuns = keepsRuns
        self.workLimit = workLimit
    }

    /// Whether a number of a timeline has several segments (@k).
    mutating func hasSequences(_ timeline: [SegmentInformation.TimelineEntry]) -> Bool {
        let storage = Storage(timeline)
        if let entry = sequenceEntries[storage] { return entry.hasSequences }
        let hasSequences = timeline.contains { $0.parts > 1 }
        sequenceEntries[storage] = SequencesEntry(timeline: timeline, hasSequences: hasSequences)
        return hasSequences
    }

    /// Returns the runs of a timeline.
    ///
    /// - Parameters:
    ///   - timeline: the entries.
    ///   - offset: the media time at which the period begins.
    ///   - length: the length of the period in units of the timescale; nil if unknown.
    ///   - startNumber: the number of the first segment.
    ///   - limit: maximum number of segments; nil for no limit.
    /// - Returns: runs of segments of equal duration; only the last run if runs are not kept.
    /// - Throws: for numbers out of range, and too much work, at offset zero.
    mutating func runs(
        of timeline: [SegmentInformation.TimelineEntry],
        _ offset: Int64,
        _ length: Int64?,
        _ startNumber: Int64,
        _ limit: Int?
    ) throws(Malformed) -> [MPDSegmentRun] {
        let key = Key(
            storage: Storage(timeline),
            offset: offset,
            length: length,
            startNumber: startNumber,
            limit: limit
        )
        if let entry = runEntries[key] { return entry.runs }
        guard timeline.count <= workLimit - work else {
            throw Malformed("timelines of the MPD have too many entries together", at: 0)
        }
        work += timeline.count
        let runs = try TimelineRuns.make(timeline, offset, length, startNumber, limit, keepsRuns)
        runEntries[key] = RunsEntry(timeline: timeline, runs: runs)
        count += runs.count
        return runs
    }
}
