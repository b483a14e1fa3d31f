import CarrelXML

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
    mutating func start(_ tag: borrowing XMLTag) throws(MPDFault) {
        depth += 1
        if depth == 1, tag.isNamed("S") { entries.append(try SegmentInformation.TimelineEntry(tag)) }
    }

    /// Takes an end.
    ///
    /// - Returns: the entries when it is that of the timeline itself.
    mutating func end() -> [SegmentInformation.TimelineEntry]? {
        if depth > 0 {
            depth -= 1
            return nil
        }
        isOpen = false
        return entries
    }
}
