// SPDX-License-Identifier: Apache-2.0

/// Segments of one duration after one another.
struct MPDSegmentRun: Sendable {
    /// The place of the first among all segments.
    let first: Int
    /// Its media time.
    let time: Int64
    let duration: Int64
    /// Nil for a run without an end.
    let count: Int?
    /// The number of the first.
    let number: Int64
    /// Segments of one number, which share the duration.
    var parts: Int64 = 1
}
