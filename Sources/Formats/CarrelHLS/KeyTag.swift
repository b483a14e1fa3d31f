// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// An EXT-X-KEY tag by its ranges, checked but not parsed: most keys of a playlist are never requested.
struct KeyTag {
    /// The attributes.
    private(set) var value: TextRange
    /// The key's format; empty for `identity`.
    let format: TextRange
    let hasVector: Bool
    /// Whether it names a format or its versions.
    let hasFormat: Bool
    /// Whether following segments are clear (METHOD=NONE).
    let isNone: Bool
    /// The range of the URI, and the number of digits of a vector at the end of the tag; nil if it has its own format or no URI.
    private var parts: (uri: TextRange, digits: Int)?

    /// Checks a tag as ``EncryptionKey/parse(_:tolerate:)`` does without tolerance; nil if it must be parsed to report its fault.
    init?(_ bytes: RawSpan, _ value: Range<Int>, _ attributes: [ScannedAttribute]) {
        var (hasMethod, hasURI, isNone) = (false, false, false)
        var (hasVector, hasFormat) = (false, false)
        var format = TextRange.none
        var (uri, digits) = (TextRange.none, 0)
        for attribute in attributes {
            if attribute.isNamed(0x4d45_5448_4f44, 6) {  // METHOD
                guard !attribute.isQuoted else { return nil }
                hasMethod = true
                isNone = attribute.value.count == 4 && bytes.matches("NONE", at: attribute.value.lowerBound)
            } else if attribute.isNamed(0x55_5249, 3) {  // URI
                guard attribute.isQuoted, !attribute.value.isEmpty else { return nil }
                hasURI = true
                uri = TextRange(attribute.value)
            } else if attribute.isNamed(0x4956, 2) {  // IV
                guard !attribute.isQuoted, Self.isVector(bytes, attribute.value) else { return nil }
                hasVector = true
                digits = attribute.value.upperBound == value.upperBound ? attribute.value.count &- 2 : 0
            } else if attribute.isNamed("KEYFORMAT", bytes) {
                guard attribute.isQuoted else { return nil }
                hasFormat = true
                let isIdentity =
                    attribute.value.count == 8 && bytes.matches("identity", at: attribute.value.lowerBound)
                // an empty name is no other one than itself, which is rare enough to be read
                guard !attribute.value.isEmpty else { return nil }
                if !isIdentity { format = TextRange(attribute.value) }
            } else if attribute.isNamed("KEYFORMATVERSIONS", bytes) {
                guard attribute.isQuoted else { return nil }
                hasFormat = true
            }
        }
        guard hasMethod, isNone ? attributes.count == 1 : hasURI else { return nil }
        self.value = TextRange(value)
        self.format = format
        self.hasVector = hasVector
        self.hasFormat = hasFormat
        self.isNone = isNone
        if hasURI, !isNone, format.isEmpty { parts = (uri, digits) }
    }

    private static func isVector(_ bytes: RawSpan, _ range: Range<Int>) -> Bool {
        guard 3...34 ~= range.count, bytes.u8(at: range.lowerBound) == UInt8(ascii: "0"),
            bytes.u8(at: range.lowerBound + 1) | 0x20 == UInt8(ascii: "x")
        else { return false }
        return bytes.isHexadecimal(range.lowerBound + 2..<range.upperBound)
    }

    /// Reads another tag with the same text except the URI and the digits of a vector at its end, as most keys of a playlist
    /// have.
    ///
    /// - Parameters:
    ///   - bytes: the playlist.
    ///   - value: the value of the other tag.
    /// - Returns: nil if its text differs otherwise, or this tag has its own format.
    func sibling(_ bytes: RawSpan, _ value: Range<Int>) -> KeyTag? {
        guard let parts else { return nil }
        let (own, uri) = (self.value.range, parts.uri.range)
        let start = value.lowerBound &+ (uri.lowerBound &- own.lowerBound)
        guard start < value.upperBound, bytes.isEqual(own.lowerBound..<uri.lowerBound, value.lowerBound..<start) else {
            return nil
        }
        let end = bytes.firstQuotationMark(start..<value.upperBound)
        guard end > start, value.upperBound &- end == own.upperBound &- uri.upperBound else { return nil }
        let digits = value.upperBound &- parts.digits
        guard bytes.isEqual(uri.upperBound..<own.upperBound &- parts.digits, end..<digits),
            bytes.isHexadecimal(digits..<value.upperBound)
        else { return nil }
        return KeyTag(self, value: value, uri: start..<end)
    }

    private init(_ other: KeyTag, value: Range<Int>, uri: Range<Int>) {
        self = other
        self.value = TextRange(value)
        parts?.uri = TextRange(uri)
    }

    /// The key of a tag that was checked.
    static func key(_ bytes: RawSpan, _ value: Range<Int>) -> EncryptionKey? {
        var reader = AttributeReader(isLenient: false)
        guard case .success(let list) = reader.read(bytes, value),
            case .success(let key) = EncryptionKey.parse(list, tolerate: { _, _ in false })
        else { return nil }
        return key
    }
}
