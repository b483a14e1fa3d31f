// SPDX-License-Identifier: Apache-2.0

/// Numbers as tables write them.
enum TableNumbers {
    /// Reads a decimal number without a sign, of at most 18 digits.
    static func integer(_ text: String) -> Int64? {
        guard 1...18 ~= text.utf8.count, text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else { return nil }
        return Int64(text)
    }

    /// Reads seconds with at most 9 decimals, below 10^9.
    static func seconds(_ text: String) -> Duration? {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, 1...9 ~= first.count, first.allSatisfy({ 0x30...0x39 ~= $0 }),
            let whole = Int64(String(decoding: first, as: UTF8.self))
        else { return nil }
        guard parts.count == 2 else { return .seconds(whole) }
        guard 1...9 ~= parts[1].count, parts[1].allSatisfy({ 0x30...0x39 ~= $0 }) else { return nil }
        let digits = String(decoding: parts[1], as: UTF8.self) + String(repeating: "0", count: 9 - parts[1].count)
        return Int64(digits).map { .seconds(whole) + .nanoseconds($0) }
    }

    /// Writes seconds with a decimal point: `6.0`, `4.5`. Times before 0 are written as 0.
    static func text(_ time: Duration) -> String {
        let time = max(.zero, min(time, .seconds(999_999_999)))
        let (seconds, attoseconds) = time.components
        let nanoseconds = attoseconds / 1_000_000_000
        guard nanoseconds > 0 else { return "\(seconds).0" }
        var digits = String(nanoseconds)
        digits = String(repeating: "0", count: 9 - digits.utf8.count) + digits
        while digits.utf8.last == UInt8(ascii: "0") { digits.removeLast() }
        return "\(seconds).\(digits)"
    }

    /// Reads a range of bytes as HTTP writes it, `0-4194303`: the first and the last byte.
    static func range(_ text: String) -> Range<Int64>? {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let first = integer(String(parts[0])), let last = integer(String(parts[1])), first <= last else {
            return nil
        }
        return first..<last + 1
    }

    static func text(_ range: Range<Int64>) -> String { "\(range.lowerBound)-\(range.upperBound - 1)" }

    /// Reads `YES` and `NO`.
    static func flag(_ text: String) -> Bool? { text == "YES" ? true : text == "NO" ? false : nil }

    static func text(_ flag: Bool) -> String { flag ? "YES" : "NO" }
}
