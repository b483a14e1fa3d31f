// SPDX-License-Identifier: Apache-2.0

/// Reads values of the Distinguished Encoding Rules one after the other (ITU-T X.690 §8, §10): short tags, definite lengths.
struct DERReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    var isAtEnd: Bool { rest.isEmpty }

    static let integer: UInt8 = 0x02
    static let octets: UInt8 = 0x04
    static let utf8: UInt8 = 0x0c
    static let ia5: UInt8 = 0x16
    static let sequence: UInt8 = 0x30
    static let set: UInt8 = 0x31

    /// The content of the next value, which has to be of that kind.
    ///
    /// - Throws: `receipt.malformed`.
    mutating func next(_ tag: UInt8) throws(ReceiptError) -> ArraySlice<UInt8> {
        guard rest.popFirst() == tag, let first = rest.popFirst() else { throw Self.malformed }
        var count = Int(first)
        if first >= 0x80 {
            let digits = rest.prefix(Int(first & 0x7f))
            guard 1...4 ~= digits.count, digits.count == Int(first & 0x7f) else { throw Self.malformed }
            count = digits.reduce(0) { $0 << 8 | Int($1) }
            rest = rest.dropFirst(digits.count)
        }
        guard count <= rest.count else { throw Self.malformed }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }

    /// The one value of that kind that the bytes are.
    ///
    /// - Throws: `receipt.malformed`.
    static func only(_ tag: UInt8, in bytes: ArraySlice<UInt8>) throws(ReceiptError) -> ArraySlice<UInt8> {
        var reader = DERReader(bytes)
        let content = try reader.next(tag)
        guard reader.isAtEnd else { throw malformed }
        return content
    }

    /// A whole number from 0 to 2³¹ - 1.
    ///
    /// - Throws: `receipt.malformed`.
    mutating func number() throws(ReceiptError) -> Int {
        let digits = try next(Self.integer)
        guard 1...4 ~= digits.count, let first = digits.first, first < 0x80 else { throw Self.malformed }
        return digits.reduce(0) { $0 << 8 | Int($1) }
    }

    static let malformed = ReceiptError(.malformed, "its values cannot be read")
}
