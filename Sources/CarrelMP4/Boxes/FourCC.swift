/// Four characters that name a box, a codec or a brand; in ISO 8859-1, so that `©nam` has four.
struct FourCC: Hashable, ExpressibleByStringLiteral, CustomStringConvertible {
    let word: UInt32

    init(_ word: UInt32) {
        self.word = word
    }

    init(stringLiteral text: String) {
        word = text.unicodeScalars.reduce(0) { $0 << 8 | $1.value & 0xff }
    }

    /// The characters, with `?` for those that do not print.
    var description: String {
        var text = ""
        for shift: UInt32 in [24, 16, 8, 0] {
            let byte = UInt8(word >> shift & 0xff)
            let prints = (0x20...0x7e).contains(byte) || byte == 0xa9
            text.unicodeScalars.append(Unicode.Scalar(prints ? byte : UInt8(ascii: "?")))
        }
        return text
    }
}
