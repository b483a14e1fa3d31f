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
        var attributes: [ScannedAttribute] = []
        if let fault = scan(bytes, range, into: &attributes) { return .failure(fault) }
        return .success(AttributeList(attributes, bytes))
    }

    /// Finds the attributes in a range.
    ///
    /// - Parameters:
    ///   - bytes: the playlist.
    ///   - range: the range of the list.
    ///   - attributes: gets the attributes, instead of its previous ones.
    /// - Returns: the fault of the list; nil if there is none.
    mutating func scan(_ bytes: RawSpan, _ range: Range<Int>, into attributes: inout [ScannedAttribute]) -> AttributeFault? {
        attributes.removeAll(keepingCapacity: true)
        var position = range.lowerBound
        let end = range.upperBound
        while true {
            if isLenient { skipBlanks(bytes, &position, end) }
            let nameStart = position
            var word: UInt64 = 0
            while position < end, Self.isOfName(bytes.u8(at: position)) {
                word = Self.word(word, bytes.u8(at: position))
                position &+= 1
            }
            var name = nameStart..<position
            if position == end || name.isEmpty || bytes.u8(at: position) != UInt8(ascii: "=") {
                while position < end, bytes.u8(at: position) != UInt8(ascii: "=") { position &+= 1 }
                guard position < end else { return AttributeFault("attribute has no value") }
                name = nameStart..<position
                if isLenient { name = trim(bytes, name) }
                guard !name.isEmpty, let whole = Self.word(ofName: name, bytes) else {
                    return AttributeFault("attribute name is not made of capitals, digits and hyphens")
                }
                word = whole
            }
            position &+= 1
            if isLenient { skipBlanks(bytes, &position, end) }
            var value: Range<Int>
            let isQuoted = position < end && bytes.u8(at: position) == UInt8(ascii: "\"")
            if isQuoted {
                let start = position &+ 1
                position = bytes.firstQuotationMark(start..<end)
                guard position < end else { return AttributeFault("quoted string does not end") }
                value = start..<position
                position &+= 1
                if isLenient { skipBlanks(bytes, &position, end) }
            } else {
                let start = position
                position = bytes.firstEndOfBare(start..<end)
                value = start..<position
                if value.isEmpty || position < end && bytes.u8(at: position) != UInt8(ascii: ",") {
                    while position < end, bytes.u8(at: position) != UInt8(ascii: ",") { position &+= 1 }
                    value = start..<position
                    if isLenient { value = trim(bytes, value) }
                    guard !value.isEmpty, isBare(bytes, value) else {
                        return AttributeFault("attribute value is empty or holds a blank or quotation mark")
                    }
                }
            }
            guard attributes.count < Self.limit else { return AttributeFault("tag has too many attributes") }
            let attribute = ScannedAttribute(name: name, value: value, isQuoted: isQuoted, word: word)
            for other in attributes where other.hasName(of: attribute, bytes) { return AttributeFault("attribute appears twice") }
            attributes.append(attribute)
            guard position < end else { return nil }
            guard bytes.u8(at: position) == UInt8(ascii: ",") else {
                return AttributeFault("attributes are not separated by a comma")
            }
            position &+= 1
        }
    }

    private mutating func skipBlanks(_ bytes: RawSpan, _ position: inout Int, _ end: Int) {
        while position < end, bytes.u8(at: position) == 0x20 || bytes.u8(at: position) == 0x09 {
            position += 1
            blankFound = true
        }
    }

    private mutating func trim(_ bytes: RawSpan, _ range: Range<Int>) -> Range<Int> {
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
        for position in range {
            guard isOfName(bytes.u8(at: position)) else { return nil }
            word = Self.word(word, bytes.u8(at: position))
        }
        return word
    }

    /// A bare value may hold spaces and tabs for a lenient reader, such as RECENTLY-REMOVED-DATERANGES.
    private mutating func isBare(_ bytes: RawSpan, _ range: Range<Int>) -> Bool {
        for position in range {
            let byte = bytes.u8(at: position)
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
