// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// Reads an attribute list in place (RFC 8216 §4.2).
struct AttributeReader {
    /// The breach that a lenient reader passed over.
    private(set) var blankFound = false
    private let isLenient: Bool

    init(isLenient: Bool) {
        self.isLenient = isLenient
    }

    /// Most attributes of one tag.
    private static let limit = 64

    /// Reads the list in a range, or returns its fault.
    mutating func read(_ bytes: RawSpan, _ range: Range<Int>) -> Result<AttributeList, AttributeFault> {
        var found: [ScannedAttribute] = []
        if let fault = scan(bytes, range, into: &found) { return .failure(fault) }
        return .success(AttributeList(found, bytes))
    }

    /// Finds the attributes in a range.
    ///
    /// - Parameters:
    ///   - bytes: the playlist.
    ///   - range: the range of the list.
    ///   - found: gets the attributes, instead of its previous ones.
    /// - Returns: the fault of the list; nil if there is none.
    mutating func scan(_ bytes: RawSpan, _ range: Range<Int>, into found: inout [ScannedAttribute]) -> AttributeFault? {
        found.removeAll(keepingCapacity: true)
        var place = range.lowerBound
        let end = range.upperBound
        while true {
            if isLenient { skipBlanks(bytes, &place, end) }
            let nameStart = place
            var word: UInt64 = 0
            while place < end, Self.isOfName(bytes.u8(at: place)) {
                word = Self.word(word, bytes.u8(at: place))
                place &+= 1
            }
            var name = nameStart..<place
            if place == end || name.isEmpty || bytes.u8(at: place) != UInt8(ascii: "=") {
                while place < end, bytes.u8(at: place) != UInt8(ascii: "=") { place &+= 1 }
                guard place < end else { return AttributeFault("attribute has no value") }
                name = nameStart..<place
                if isLenient { name = trimmed(bytes, name) }
                guard !name.isEmpty, let whole = Self.word(ofName: name, bytes) else {
                    return AttributeFault("attribute name is not made of capitals, digits and hyphens")
                }
                word = whole
            }
            place &+= 1
            if isLenient { skipBlanks(bytes, &place, end) }
            var value: Range<Int>
            let isQuoted = place < end && bytes.u8(at: place) == UInt8(ascii: "\"")
            if isQuoted {
                let start = place &+ 1
                place = bytes.firstQuotationMark(start..<end)
                guard place < end else { return AttributeFault("quoted string does not end") }
                value = start..<place
                place &+= 1
                if isLenient { skipBlanks(bytes, &place, end) }
            } else {
                let start = place
                place = bytes.firstEndOfBare(start..<end)
                value = start..<place
                if value.isEmpty || place < end && bytes.u8(at: place) != UInt8(ascii: ",") {
                    while place < end, bytes.u8(at: place) != UInt8(ascii: ",") { place &+= 1 }
                    value = start..<place
                    if isLenient { value = trimmed(bytes, value) }
                    guard !value.isEmpty, isBare(bytes, value) else {
                        return AttributeFault("attribute value is empty or holds a blank or quotation mark")
                    }
                }
            }
            guard found.count < Self.limit else { return AttributeFault("tag has too many attributes") }
            let attribute = ScannedAttribute(name: name, value: value, isQuoted: isQuoted, word: word)
            for other in found where other.hasName(of: attribute, bytes) { return AttributeFault("attribute appears twice") }
            found.append(attribute)
            guard place < end else { return nil }
            guard bytes.u8(at: place) == UInt8(ascii: ",") else {
                return AttributeFault("attributes are not separated by a comma")
            }
            place &+= 1
        }
    }

    private mutating func skipBlanks(_ bytes: RawSpan, _ place: inout Int, _ end: Int) {
        while place < end, bytes.u8(at: place) == 0x20 || bytes.u8(at: place) == 0x09 {
            place += 1
            blankFound = true
        }
    }

    private mutating func trimmed(_ bytes: RawSpan, _ range: Range<Int>) -> Range<Int> {
        let part = bytes.trimmed(range)
        if part != range { blankFound = true }
        return part
    }

    /// Whether a name may have the byte: a capital, a digit or a hyphen.
    @inline(__always)
    private static func isOfName(_ byte: UInt8) -> Bool {
        byte &- UInt8(ascii: "A") < 26 || byte &- UInt8(ascii: "0") < 10 || byte == UInt8(ascii: "-")
    }

    /// The word of a name with one more byte.
    @inline(__always)
    private static func word(_ word: UInt64, _ byte: UInt8) -> UInt64 { (word &<< 8 | word &>> 56) ^ UInt64(byte) }

    /// The word of a name; nil for bytes that a name cannot have.
    private static func word(ofName range: Range<Int>, _ bytes: RawSpan) -> UInt64? {
        var word: UInt64 = 0
        for place in range {
            guard isOfName(bytes.u8(at: place)) else { return nil }
            word = Self.word(word, bytes.u8(at: place))
        }
        return word
    }

    /// A bare value may hold spaces and tabs for a lenient reader, such as RECENTLY-REMOVED-DATERANGES.
    private mutating func isBare(_ bytes: RawSpan, _ range: Range<Int>) -> Bool {
        for place in range {
            let byte = bytes.u8(at: place)
            if byte == UInt8(ascii: "\"") { return false }
            guard byte <= 0x20 else { continue }
            if !isLenient { return false }
            blankFound = true
        }
        return true
    }
}

/// A fault in an attribute list, without the line, which the caller knows.
struct AttributeFault: Error {
    let what: String

    init(_ what: String) {
        self.what = what
    }
}
