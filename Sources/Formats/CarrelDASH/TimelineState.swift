// SPDX-License-Identifier: Apache-2.0

/// The entries of the timeline that is open. There may be tens of thousands of them, so that they have a way of their own past the
/// other elements.
struct TimelineState {
    var isOpen = false
    private(set) var entries: [SegmentInformation.TimelineEntry] = []
    /// Elements that are open in it.
    private var depth = 0

    mutating func open() { self = TimelineState(isOpen: true) }

    init(isOpen: Bool = false) {
        self.isOpen = isOpen
    }

    /// Takes the start of an element in it.
    ///
    /// - Returns: whether it may be an entry, which is to be added.
    mutating func start() -> Bool {
        depth += 1
        return depth == 1
    }

    mutating func add(_ entry: SegmentInformation.TimelineEntry) { entries.append(entry) }

    /// Handles an end tag.
    ///
    /// - Returns: the entries if it is the end of the timeline itself.
    mutating func end() -> [SegmentInformation.TimelineEntry]? {
        if depth > 0 {
            depth -= 1
            return nil
        }
        isOpen = false
        return entries
    }
}
