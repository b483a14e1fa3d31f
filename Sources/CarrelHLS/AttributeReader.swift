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
        var found: [ScannedAttribute] = []
        if let fault = scan(bytes, range, into: &found) { return .failure(fault) }
        return .success(AttributeList(found, bytes))
    }

    /// Finds the attributes in a range.
    ///
    /// - Parameters:
    ///   - bytes: the playlist.
    ///   - range: of the list.
    ///   - found: gets the attributes in place of those that it has.
    /// - Returns: what is wrong with the list; nil for nothing.
    mutating func scan(_ bytes: RawSpan, _ range: Range<Int>, into found: inout [ScannedAttribute]) -> AttributeFault? {
        found.removeAll(keepingCapacity: true)
        var place = range.lowerBound
        let end = range.upperBound
        while true {
            if isLenient { skipBlanks(bytes, &place, end) }
            let nameStart = place
            while place < end, bytes.u8(at: place) != UInt8(ascii: "=") { place &+= 1 }
            guard place < end else { return AttributeFault("attribute has no value") }
            var name = nameStart..<place
            if isLenient { name = trimmed(bytes, name) }
            guard !name.isEmpty, let hash = hash(ofName: name, bytes) else {
                return AttributeFault("attribute name is not made of capitals, digits and hyphens")
            }
            place &+= 1
            if isLenient { skipBlanks(bytes, &place, end) }
            var value: Range<Int>
            let isQuoted = place < end && bytes.u8(at: place) == UInt8(ascii: "\"")
            if isQuoted {
                let start = place &+ 1
                place = start
                while place < end, bytes.u8(at: place) != UInt8(ascii: "\"") { place &+= 1 }
                guard place < end else { return AttributeFault("quoted string does not end") }
                value = start..<place
                place &+= 1
                if isLenient { skipBlanks(bytes, &place, end) }
            } else {
                let start = place
                while place < end, bytes.u8(at: place) != UInt8(ascii: ",") { place &+= 1 }
                value = start..<place
                if isLenient { value = trimmed(bytes, value) }
                guard !value.isEmpty, isBare(bytes, value) else {
                    return AttributeFault("attribute value is empty or holds a blank or quotation mark")
                }
            }
            guard found.count < Self.limit else { return AttributeFault("tag has too many attributes") }
            let attribute = ScannedAttribute(name: name, value: value, isQuoted: isQuoted, hash: hash)
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

    /// A number of the name's bytes (FNV-1a); nil for bytes that a name cannot have.
    private func hash(ofName range: Range<Int>, _ bytes: RawSpan) -> UInt64? {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for place in range {
            let byte = bytes.u8(at: place)
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
                hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3
            default: return nil
            }
        }
        return hash
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
