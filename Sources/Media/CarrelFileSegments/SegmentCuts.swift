// SPDX-License-Identifier: Apache-2.0

/// Decides where segments begin: at the first possible point at or after each multiple of a target.
struct SegmentCuts: Sendable {
    /// The target, in ticks.
    let interval: Int64
    private var first: Int64?
    private var next: Int64 = 0

    /// Segments of a file, at most.
    static let limit = 1 << 15

    init(interval: Int64) { self.interval = max(1, interval) }

    /// Whether a segment begins at a time; if so, the boundary is consumed. The first point always begins one.
    mutating func isCut(at time: Int64, allowed: Bool) -> Bool {
        guard let first else {
            self.first = time
            next = time &+ interval
            return true
        }
        guard allowed, time >= next else { return false }
        next = first &+ ((time &- first) / interval &+ 1) &* interval
        return true
    }
}
