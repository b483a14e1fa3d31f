// SPDX-License-Identifier: Apache-2.0

/// Finds where the content of a document's root element begins: after `<html …>`, or another start tag.
enum RootTag {
    /// Finds the end of the root's start tag.
    ///
    /// - Parameter bytes: the beginning of an HTML or XML document, in UTF-8 or another superset of ASCII.
    /// - Returns: the index after the root's start tag; nil if the tag is not in the bytes, the root is empty, or the text is
    ///   UTF-16.
    static func end(in bytes: [UInt8]) -> Int? {
        var at = bytes.starts(with: [0xef, 0xbb, 0xbf]) ? 3 : 0
        while at < bytes.count {
            switch bytes[at] {
            case 0x09, 0x0a, 0x0c, 0x0d, 0x20: at += 1
            case UInt8(ascii: "<"):
                let rest = bytes[at...]
                let next: Int?
                if rest.starts(with: "<!--".utf8) {
                    next = find("-->", in: rest.dropFirst(4))
                } else if rest.starts(with: "<?".utf8) {
                    next = find("?>", in: rest.dropFirst(2))
                } else if rest.starts(with: "<!".utf8) {
                    next = declarationEnd(rest)
                } else {
                    guard at + 1 < bytes.count, isNameStart(bytes[at + 1]), let end = tagEnd(rest) else { return nil }
                    return bytes[end - 2] == UInt8(ascii: "/") ? nil : end
                }
                guard let next else { return nil }
                at = next
            default: return nil
            }
        }
        return nil
    }

    private static func find(_ text: String, in bytes: ArraySlice<UInt8>) -> Int? {
        let mark = Array(text.utf8)
        guard bytes.count >= mark.count else { return nil }
        for at in bytes.startIndex...(bytes.endIndex - mark.count) where bytes[at...].starts(with: mark) {
            return at + mark.count
        }
        return nil
    }

    /// The end of a document type declaration, which may have an internal subset in brackets.
    private static func declarationEnd(_ bytes: ArraySlice<UInt8>) -> Int? {
        var depth = 0
        var quote: UInt8?
        var next = bytes.startIndex
        while next < bytes.endIndex {
            let at = next
            let c = bytes[at]
            next += 1
            if let open = quote {
                if c == open { quote = nil }
                continue
            }
            // quotes in comments and instructions of the subset open nothing
            let isComment = bytes[at...].starts(with: "<!--".utf8)
            if depth > 0, isComment || bytes[at...].starts(with: "<?".utf8) {
                guard let end = find(isComment ? "-->" : "?>", in: bytes[at...].dropFirst(isComment ? 4 : 2)) else { return nil }
                next = end
                continue
            }
            switch c {
            case UInt8(ascii: "\""), UInt8(ascii: "'"): quote = c
            case UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "]"): depth -= 1
            case UInt8(ascii: ">") where depth <= 0: return at + 1
            default: break
            }
        }
        return nil
    }

    /// The end of a tag; the value of an attribute may contain a `>`.
    private static func tagEnd(_ bytes: ArraySlice<UInt8>) -> Int? {
        var quote: UInt8?
        for at in bytes.indices {
            let c = bytes[at]
            if let open = quote {
                if c == open { quote = nil }
            } else if c == UInt8(ascii: "\"") || c == UInt8(ascii: "'") {
                quote = c
            } else if c == UInt8(ascii: ">") {
                return at + 1
            }
        }
        return nil
    }

    private static func isNameStart(_ c: UInt8) -> Bool {
        (c | 0x20) >= UInt8(ascii: "a") && (c | 0x20) <= UInt8(ascii: "z") || c == UInt8(ascii: "_") || c >= 0x80
    }
}
