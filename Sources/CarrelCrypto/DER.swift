/// Writes the few values of the Distinguished Encoding Rules (ITU-T X.690 §10) that keys and signatures are made of.
enum DER {
    /// A value of any type with a tag below 31.
    static func value(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        [tag] + length(content.count) + content
    }

    static func sequence(_ parts: [UInt8]...) -> [UInt8] { value(0x30, Array(parts.joined())) }

    /// A whole number that is not negative, from its big-endian bytes.
    static func integer(_ bytes: some Collection<UInt8>) -> [UInt8] {
        let digits = Array(bytes.drop { $0 == 0 })
        let isSigned = (digits.first ?? 0) & 0x80 == 0x80
        return value(0x02, isSigned || digits.isEmpty ? [0] + digits : digits)
    }

    /// Whole bytes as a string of bits.
    static func bits(_ bytes: [UInt8]) -> [UInt8] { value(0x03, [0] + bytes) }

    private static func length(_ count: Int) -> [UInt8] {
        guard count >= 0x80 else { return [UInt8(count)] }
        var digits: [UInt8] = []
        var rest = count
        while rest > 0 {
            digits.insert(UInt8(rest & 0xff), at: 0)
            rest >>= 8
        }
        return [0x80 | UInt8(digits.count)] + digits
    }
}
