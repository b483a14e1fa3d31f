// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// An attribute of a tag by its places.
struct ScannedAttribute {
    let name: Range<Int>
    /// Without quotation marks.
    let value: Range<Int>
    let isQuoted: Bool
    /// The name as a number, first byte lowest: up to eight bytes verbatim, further ones mixed in.
    let word: UInt64

    func isNamed(_ text: StaticString, _ bytes: RawSpan) -> Bool {
        name.count == text.utf8CodeUnitCount && bytes.matches(text, at: name.lowerBound)
    }

    /// Whether the name is one of eight bytes at most, given as a number.
    @inline(__always)
    func isNamed(_ word: UInt64, _ count: Int) -> Bool { self.word == word && name.count == count }

    func hasName(of other: ScannedAttribute, _ bytes: RawSpan) -> Bool {
        word == other.word && bytes.isEqual(name, other.name)
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
        var (one, other) = (a.lowerBound, b.lowerBound)
        while one &+ 8 <= a.upperBound {
            guard u64(at: one) == u64(at: other) else { return false }
            one &+= 8
            other &+= 8
        }
        while one < a.upperBound {
            guard u8(at: one) == u8(at: other) else { return false }
            one &+= 1
            other &+= 1
        }
        return true
    }
}
