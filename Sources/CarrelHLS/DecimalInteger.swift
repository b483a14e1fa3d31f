/// Numbers as playlists write them (RFC 8216 §4.2).
enum DecimalInteger {
    /// A decimal integer: 1 to 20 digits, below 2^64.
    static func parse(_ text: some StringProtocol) -> UInt64? {
        guard !text.isEmpty, text.utf8.count <= 20, text.utf8.allSatisfy(isDigit) else { return nil }
        return UInt64(text)
    }

    /// A decimal floating-point number, to the microsecond.
    static func parseSeconds(_ text: some StringProtocol) -> Duration? {
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let whole = parts.first.flatMap({ parse($0) }), whole < 1 << 40 else { return nil }
        guard parts.count == 2 else { return .seconds(Int64(whole)) }
        guard !parts[1].isEmpty, parts[1].utf8.allSatisfy(isDigit) else { return nil }
        var millionths: Int64 = 0
        for (i, digit) in parts[1].utf8.prefix(7).enumerated() {
            let value = Int64(digit - UInt8(ascii: "0"))
            millionths = i < 6 ? millionths * 10 + value : millionths + (value >= 5 ? 1 : 0)
        }
        for _ in parts[1].utf8.count..<max(6, parts[1].utf8.count) { millionths *= 10 }
        return .microseconds(Int64(whole) * 1_000_000 + millionths)
    }

    static func isDigit(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }
}
