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

    /// Reads the list in a range, or says what is wrong with it.
    mutating func read(_ bytes: RawSpan, _ range: Range<Int>) -> Result<AttributeList, AttributeFault> {
        var list = AttributeList()
        var place = range.lowerBound
        let end = range.upperBound
        while true {
            if isLenient { skipBlanks(bytes, &place, end) }
            let nameStart = place
            while place < end, bytes.u8(at: place) != UInt8(ascii: "=") { place += 1 }
            guard place < end else { return .failure(AttributeFault("attribute has no value")) }
            var name = nameStart..<place
            if isLenient { name = trimmed(bytes, name) }
            guard !name.isEmpty, isName(bytes, name) else {
                return .failure(AttributeFault("attribute name is not made of capitals, digits and hyphens"))
            }
            place += 1
            if isLenient { skipBlanks(bytes, &place, end) }
            let value: AttributeList.Value
            if place < end, bytes.u8(at: place) == UInt8(ascii: "\"") {
                let start = place + 1
                place = start
                while place < end, bytes.u8(at: place) != UInt8(ascii: "\"") { place += 1 }
                guard place < end else { return .failure(AttributeFault("quoted string does not end")) }
                value = .quoted(bytes.text(start..<place))
                place += 1
                if isLenient { skipBlanks(bytes, &place, end) }
            } else {
                let start = place
                while place < end, bytes.u8(at: place) != UInt8(ascii: ",") { place += 1 }
                var found = start..<place
                if isLenient { found = trimmed(bytes, found) }
                guard !found.isEmpty, isBare(bytes, found) else {
                    return .failure(AttributeFault("attribute value is empty or holds a blank or quotation mark"))
                }
                value = .bare(bytes.text(found))
            }
            guard list.attributes.count < Self.limit else { return .failure(AttributeFault("tag has too many attributes")) }
            let text = bytes.text(name)
            guard list[text] == nil else { return .failure(AttributeFault("attribute appears twice")) }
            list.append(text, value)
            guard place < end else { return .success(list) }
            guard bytes.u8(at: place) == UInt8(ascii: ",") else {
                return .failure(AttributeFault("attributes are not separated by a comma"))
            }
            place += 1
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

    private func isName(_ bytes: RawSpan, _ range: Range<Int>) -> Bool {
        for place in range {
            switch bytes.u8(at: place) {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"): continue
            default: return false
            }
        }
        return true
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

/// The error in an attribute list, without the place: the line's reader knows that.
struct AttributeFault: Error {
    let what: String

    init(_ what: String) {
        self.what = what
    }
}
