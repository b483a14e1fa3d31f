import CarrelBytes

/// A line of a playlist that is not blank (RFC 8216 §4.1).
struct PlaylistLine {
    /// The offset of its beginning.
    let offset: Int
    let text: Substring

    /// Name and value of the tag it is; nil for a URI or a comment.
    var tag: (name: Substring, value: Substring?)? {
        guard text.hasPrefix("#EXT") else { return nil }
        let tag = text.dropFirst()
        guard let colon = tag.firstIndex(of: ":") else { return (tag, nil) }
        return (tag[..<colon], tag[tag.index(after: colon)...])
    }

    /// The URI it is; nil for a tag or a comment.
    var uri: String? { text.hasPrefix("#") ? nil : String(text) }

    func malformed(_ what: String) -> Malformed { Malformed(what, at: offset) }

    /// The lines of a playlist: UTF-8 without a byte order mark or control characters, ended by LF or CRLF.
    static func split(_ bytes: RawSpan, limit: Int) throws(Malformed) -> [PlaylistLine] {
        var lines: [PlaylistLine] = []
        var start = 0
        while start < bytes.byteCount {
            var end = start
            while end < bytes.byteCount, bytes.u8(at: end) != 0x0a { end += 1 }
            let next = end + 1
            if end > start, bytes.u8(at: end - 1) == 0x0d { end -= 1 }
            let line = [UInt8](copying: bytes.extracting(start..<end))
            guard line.allSatisfy({ $0 >= 0x20 && $0 != 0x7f || $0 == 0x09 }) else {
                throw Malformed("line holds a control character", at: start)
            }
            guard let text = String(validating: line, as: UTF8.self) else { throw Malformed("line is not UTF-8", at: start) }
            guard text.unicodeScalars.first != "\u{feff}" else { throw Malformed("playlist has a byte order mark", at: start) }
            if !line.allSatisfy({ $0 == 0x20 || $0 == 0x09 }) {
                // a segment takes a few lines; comments are few
                guard lines.count < limit &* 8 &+ 1000 else { throw Malformed("playlist has too many lines", at: start) }
                lines.append(PlaylistLine(offset: start, text: text[...]))
            }
            start = next
        }
        return lines
    }

    /// The attributes of the tag.
    func attributes(_ value: Substring?) throws(Malformed) -> AttributeList {
        guard let value else { throw malformed("tag has no attributes") }
        switch AttributeList.parse(value) {
        case .success(let list): return list
        case .failure(let fault): throw malformed(fault.what)
        }
    }

    /// A tag's value as a decimal integer.
    func integer(_ value: Substring?) throws(Malformed) -> UInt64 {
        guard let number = value.flatMap({ DecimalInteger.parse($0) }) else { throw malformed("tag is not followed by a number") }
        return number
    }

    /// The key that the tag's attributes describe; nil for none.
    func key(_ value: Substring?) throws(Malformed) -> EncryptionKey? {
        switch EncryptionKey.parse(try attributes(value)) {
        case .success(let key): return key
        case .failure(let fault): throw malformed(fault.what)
        }
    }
}
