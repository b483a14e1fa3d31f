import CarrelBytes

/// An attribute of a tag by its places.
struct ScannedAttribute {
    let name: Range<Int>
    /// Without quotation marks.
    let value: Range<Int>
    let isQuoted: Bool
    /// Of the name's bytes, so that most names are compared by one number.
    let hash: UInt64

    func isNamed(_ text: StaticString, _ bytes: RawSpan) -> Bool {
        name.count == text.utf8CodeUnitCount && bytes.matches(text, at: name.lowerBound)
    }

    func hasName(of other: ScannedAttribute, _ bytes: RawSpan) -> Bool {
        hash == other.hash && bytes.isEqual(name, other.name)
    }
}

/// A range of a text of less than 4 GiB, in half the space.
struct TextRange: Sendable {
    private let start: UInt32
    private let length: UInt32

    init(_ range: Range<Int>) {
        start = UInt32(clamping: range.lowerBound)
        length = UInt32(clamping: range.count)
    }

    static let none = TextRange(0..<0)

    var isEmpty: Bool { length == 0 }
    var range: Range<Int> { Int(start)..<Int(start) + Int(length) }
}

extension RawSpan {
    /// Whether two ranges have the same bytes.
    func isEqual(_ a: Range<Int>, _ b: Range<Int>) -> Bool {
        guard a.count == b.count else { return false }
        for place in 0..<a.count where u8(at: a.lowerBound + place) != u8(at: b.lowerBound + place) { return false }
        return true
    }
}
