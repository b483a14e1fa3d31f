import CarrelBytes

/// An EXT-X-KEY tag by its places, checked and not read: most keys of a playlist are never asked for.
struct KeyTag {
    /// The attributes.
    let value: TextRange
    /// The key's format; empty for `identity`.
    let format: TextRange
    let hasVector: Bool
    /// Whether it names a format or its versions.
    let hasFormat: Bool
    /// Whether segments are in the clear behind it (METHOD=NONE).
    let isNone: Bool

    /// Checks a tag as ``EncryptionKey/parse(_:tolerate:)`` does without tolerance; nil for one that is to be read, for its fault.
    init?(_ bytes: RawSpan, _ value: Range<Int>, _ attributes: [ScannedAttribute]) {
        var (hasMethod, hasURI, isNone) = (false, false, false)
        var (hasVector, hasFormat) = (false, false)
        var format = TextRange.none
        for attribute in attributes {
            if attribute.isNamed("METHOD", bytes) {
                guard !attribute.isQuoted else { return nil }
                hasMethod = true
                isNone = attribute.value.count == 4 && bytes.matches("NONE", at: attribute.value.lowerBound)
            } else if attribute.isNamed("URI", bytes) {
                guard attribute.isQuoted, !attribute.value.isEmpty else { return nil }
                hasURI = true
            } else if attribute.isNamed("IV", bytes) {
                guard !attribute.isQuoted, Self.isVector(bytes, attribute.value) else { return nil }
                hasVector = true
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
    }

    private static func isVector(_ bytes: RawSpan, _ range: Range<Int>) -> Bool {
        guard 3...34 ~= range.count, bytes.u8(at: range.lowerBound) == UInt8(ascii: "0"),
            bytes.u8(at: range.lowerBound + 1) | 0x20 == UInt8(ascii: "x")
        else { return false }
        for place in range.dropFirst(2) {
            let byte = bytes.u8(at: place)
            guard 0x30...0x39 ~= byte || 0x61...0x66 ~= byte | 0x20 else { return false }
        }
        return true
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
