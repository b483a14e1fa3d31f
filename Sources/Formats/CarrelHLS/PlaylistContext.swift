// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// Everything that readers of both kinds of playlists need in addition to the lines.
struct PlaylistContext {
    let text: ParsedPlaylistText
    var warnings: PlaylistWarnings
    var variables = PlaylistVariables()
    /// Bytes of values with variables so far.
    private var expandedBytes = 0
    /// Approximate number of bytes that the reader keeps in addition to segments.
    private var keptBytes = 0
    private var scanned: [ScannedAttribute] = []
    /// The last key that was checked.
    private var lastKey: KeyTag?
    private let url: String?
    private let imports: [PlaylistVariable]
    /// Variables with values that an earlier reading found.
    var priorVariables: [PlaylistVariable] = []

    init(_ text: ParsedPlaylistText, _ warnings: PlaylistWarnings, url: String? = nil, imports: [PlaylistVariable] = []) {
        self.text = text
        self.warnings = warnings
        self.url = url
        self.imports = imports
    }

    var isLenient: Bool { warnings.isLenient }

    /// Passes over a breach with a warning, or refuses it.
    mutating func tolerate(_ code: PlaylistWarning.Code, _ what: String, at offset: Int) throws(Malformed) {
        guard isLenient else { throw Malformed(what, at: offset) }
        warnings.note(code, what, at: offset)
    }

    /// Refuses control characters, a second byte order mark, and bytes that are not UTF-8.
    mutating func checkCharacters(_ bytes: RawSpan) throws(Malformed) {
        guard !Self.isPlain(bytes) else { return }
        var next = 0
        while next < bytes.byteCount {
            let line = PlaylistLine(bytes, at: next)
            next = line.next
            for position in line.range where bytes.u8(at: position) < 0x20 || bytes.u8(at: position) == 0x7f {
                if bytes.u8(at: position) != 0x09 { throw line.malformed("line holds a control character") }
            }
            let part = bytes.extracting(line.range)
            if (unsafe part.withUnsafeBytes { unsafe String(validating: $0, as: UTF8.self) }) == nil {
                let isFree =
                    line.tag(bytes).map { $0.tag == .unknown || $0.tag == .duration }
                    ?? (bytes.u8(at: line.offset) == UInt8(ascii: "#"))
                guard isFree else { throw line.malformed("line is not UTF-8") }
                try tolerate(.notUTF8, "line is not UTF-8", at: line.offset)
            }
            if line.offset > 0, line.range.count >= 3, bytes.u16(at: line.offset) == 0xefbb, bytes.u8(at: line.offset + 2) == 0xbf
            {
                throw line.malformed("playlist has a byte order mark")
            }
        }
    }

    /// Whether the bytes are ASCII without control characters but those that end lines: 32 at a time.
    private static func isPlain(_ bytes: RawSpan) -> Bool {
        var position = 0
        while position &+ 32 <= bytes.byteCount {
            let suspect =
                suspect(bytes.u64le(at: position)) | suspect(bytes.u64le(at: position &+ 8))
                | suspect(bytes.u64le(at: position &+ 16))
                | suspect(bytes.u64le(at: position &+ 24))
            if suspect & 0x8080_8080_8080_8080 != 0 {
                for at in position..<position &+ 32 where !isPlain(bytes.u8(at: at)) { return false }
            }
            position &+= 32
        }
        for at in position..<bytes.byteCount where !isPlain(bytes.u8(at: at)) { return false }
        return true
    }

    /// A word with the high bit set in each byte that is 0x7f, is not ASCII, or is a control character other than a line feed.
    @inline(__always)
    private static func suspect(_ word: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let low = word & ~(ones << 7)
        // the high bit of each byte that is 0x20 or above, and of each byte that is not a line feed
        let isPrinted = low &+ ones &* 0x60
        let isOther = (low ^ ones &* 0x0a) &+ ones &* 0x7f
        return (low &+ ones) | word | (~isPrinted & isOther)
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte < 0x7f || byte == 0x0a || byte == 0x0d || byte == 0x09
    }

    /// The attributes of a tag of RFC 8216, with the values of variables.
    mutating func attributes(_ bytes: RawSpan, _ value: Range<Int>?, _ line: PlaylistLine) throws(Malformed) -> AttributeList {
        guard let value else { throw line.malformed("tag has no attributes") }
        if let fault = scan(bytes, value, line, isLenient: isLenient) { throw line.malformed(fault.what) }
        return try expand(try scannedList(bytes, line), line)
    }

    private mutating func scan(_ bytes: RawSpan, _ value: Range<Int>, _ line: PlaylistLine, isLenient: Bool) -> AttributeFault? {
        var reader = AttributeReader(isLenient: isLenient)
        if let fault = reader.scan(bytes, value, into: &scanned) { return fault }
        if reader.blankFound { warnings.note(.blank, "attributes have spaces beside them", at: line.offset) }
        return nil
    }

    /// The attributes of the last scan. Their size counts towards the limit of the reader.
    private mutating func scannedList(_ bytes: RawSpan, _ line: PlaylistLine) throws(Malformed) -> AttributeList {
        var size = 160
        for attribute in scanned {
            size += 48
            for text in [attribute.name, attribute.value] where text.count > 15 { size += text.count + 32 }
        }
        try keep(size, line)
        return AttributeList(scanned, bytes)
    }

    /// Maximum number of bytes that a reader keeps in addition to segments.
    private static let keptLimit = 14 << 20

    /// Counts bytes that the reader keeps, and refuses a playlist of too many.
    mutating func keep(_ size: Int, _ line: PlaylistLine) throws(Malformed) {
        keptBytes += size
        guard keptBytes <= Self.keptLimit else { throw line.malformed("playlist has too many attributes") }
    }

    /// Checks a key that is read on access.
    ///
    /// - Returns: nil if it must be read now.
    mutating func keyTag(_ bytes: RawSpan, _ value: Range<Int>?) -> KeyTag? {
        guard let value else { return nil }
        if let tag = lastKey?.sibling(bytes, value) {
            lastKey = tag
            return tag
        }
        var reader = AttributeReader(isLenient: false)
        guard reader.scan(bytes, value, into: &scanned) == nil else { return nil }
        lastKey = KeyTag(bytes, value, scanned)
        return lastKey
    }

    /// The attributes of a tag that RFC 8216 does not know, so that its readers pass over it: a malformed one is a warning.
    ///
    /// - Returns: nil for a malformed one.
    mutating func newerAttributes(
        _ bytes: RawSpan,
        _ value: Range<Int>?,
        _ line: PlaylistLine
    ) throws(Malformed) -> AttributeList? {
        guard let value else { return noteInvalid("tag has no attributes", line) }
        if let fault = scan(bytes, value, line, isLenient: true) {
            if fault.what == "attribute appears twice" { throw line.malformed(fault.what) }
            return noteInvalid(fault.what, line)
        }
        return try expand(try scannedList(bytes, line), line)
    }

    private mutating func noteInvalid(_ what: String, _ line: PlaylistLine) -> AttributeList? {
        warnings.note(.tagInvalid, what, at: line.offset)
        return nil
    }

    /// The key that the tag's attributes describe; nil for none.
    mutating func key(_ bytes: RawSpan, _ value: Range<Int>?, _ line: PlaylistLine) throws(Malformed) -> EncryptionKey? {
        let list = try attributes(bytes, value, line)
        let isLenient = isLenient
        var notes: [(PlaylistWarning.Code, String)] = []
        let result = EncryptionKey.parse(list) { code, what in
            if isLenient { notes.append((code, what)) }
            return isLenient
        }
        for (code, what) in notes { warnings.note(code, what, at: line.offset) }
        switch result {
        case .success(let key): return key
        case .failure(let fault): throw line.malformed(fault.what)
        }
    }

    /// A tag's value as a decimal integer; nil if a lenient reader skips an invalid value.
    mutating func integer(
        _ bytes: RawSpan,
        _ value: Range<Int>?,
        _ line: PlaylistLine,
        _ code: PlaylistWarning.Code = .tagInvalid
    ) throws(Malformed) -> UInt64? {
        guard let value else { throw line.malformed("tag is not followed by a number") }
        if let number = DecimalInteger.parse(bytes, value) { return number }
        if isLenient, let number = DecimalInteger.parse(bytes, bytes.trimmed(value)) {
            warnings.note(.blank, "number has spaces beside it", at: line.offset)
            return number
        }
        try tolerate(code, "tag is not followed by a number", at: line.offset)
        return nil
    }

    /// A URI with the values of variables.
    mutating func expand(_ text: String, _ line: PlaylistLine) throws(Malformed) -> String {
        guard !variables.isEmpty, text.utf8.contains(UInt8(ascii: "{")) else { return text }
        var unknown: String?
        guard let expanded = variables.expand(text, unknown: { unknown = String($0) }) else {
            throw line.malformed("value with variables is too long")
        }
        if unknown != nil { try tolerate(.variableUnknown, "variable is not defined", at: line.offset) }
        try count(expanded, line)
        return expanded
    }

    private mutating func expand(_ list: AttributeList, _ line: PlaylistLine) throws(Malformed) -> AttributeList {
        guard !variables.isEmpty, list.attributes.contains(where: { $0.value.text.utf8.contains(UInt8(ascii: "{")) }) else {
            return list
        }
        var unknown = false
        var isTooLong = false
        var list = list
        let variables = variables
        list.mapValues { value in
            guard let text = variables.expand(value.text, unknown: { _ in unknown = true }) else {
                isTooLong = true
                return value
            }
            if case .bare = value { return .bare(text) }
            return .quoted(text)
        }
        if isTooLong { throw line.malformed("value with variables is too long") }
        if unknown { try tolerate(.variableUnknown, "variable is not defined", at: line.offset) }
        for attribute in list.attributes { try count(attribute.value.text, line) }
        return list
    }

    /// Most bytes of all values with variables.
    private static let expansionLimit = 8 << 20

    /// Refuses variables that make a large playlist of a small one.
    private mutating func count(_ expanded: String, _ line: PlaylistLine) throws(Malformed) {
        expandedBytes += expanded.utf8.count
        guard expandedBytes <= Self.expansionLimit else { throw line.malformed("values with variables are too long") }
    }

    /// Reads EXT-X-DEFINE (draft-pantos-hls-rfc8216bis §4.4.2.3).
    ///
    /// - Returns: the variable; nil for one that a lenient reader passed over.
    mutating func define(
        _ bytes: RawSpan,
        _ value: Range<Int>?,
        _ line: PlaylistLine,
        canImport: Bool
    ) throws(Malformed) -> PlaylistVariable? {
        let list = try attributes(bytes, value, line)
        let origins = [PlaylistVariable.Origin.value, .imported, .queryParameter].filter { list.quoted($0.rawValue) != nil }
        guard let origin = origins.first, origins.count == 1, let name = list.quoted(origin.rawValue),
            PlaylistVariables.isName(name),
            origin != .value || list.quoted("VALUE") != nil, origin != .imported || canImport
        else {
            try tolerate(.tagInvalid, "definition of a variable is not one", at: line.offset)
            return nil
        }
        guard variables[name] == nil else {
            try tolerate(.variableRepeated, "variable is defined twice", at: line.offset)
            return nil
        }
        let value: String? =
            switch origin {
            case .value: list.quoted("VALUE")
            case .imported: (priorVariables + imports).first { $0.name == name }?.value
            case .queryParameter: priorVariables.first { $0.name == name }?.value ?? queryParameter(name)
            }
        if value == nil {
            let what =
                origin == .imported
                ? "imported variable was not given" : "address of the playlist lacks the query parameter of a variable"
            try tolerate(.variableUnknown, what, at: line.offset)
        }
        guard variables.list.count < PlaylistVariables.countLimit else { throw line.malformed("playlist has too many variables") }
        var variable = PlaylistVariable(name, value, origin: origin)
        variable.source.place = line.offset
        variables.append(variable)
        return variable
    }

    private func queryParameter(_ name: String) -> String? {
        guard let query = url.flatMap({ URIReference($0).query }) else { return nil }
        for pair in query.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts[0] == name, parts.count == 2 else { continue }
            guard let value = URIReference.percentDecoded(parts[1]) else { return nil }
            // characters that a quoted string of a playlist cannot contain
            return value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f && $0 != UInt8(ascii: "\"") } ? value : nil
        }
        return nil
    }
}
