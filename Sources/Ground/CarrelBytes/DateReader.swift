// SPDX-License-Identifier: Apache-2.0

/// Reads the fixed parts of written dates, front to back.
struct DateReader {
    private let text: [UInt8]
    private var position = 0

    init(_ text: some Sequence<UInt8>) {
        self.text = Array(text)
    }

    var isAtEnd: Bool { position == text.count }

    /// Passes over `expected` when it comes next.
    mutating func skip(_ expected: some StringProtocol) -> Bool {
        guard text[position...].starts(with: expected.utf8) else { return false }
        position += expected.utf8.count
        return true
    }

    /// The number that the next `digits` characters, all of them digits, write.
    mutating func number(digits: Int) -> Int? {
        guard text.count - position >= digits else { return nil }
        var value = 0
        for character in text[position..<position + digits] {
            guard 0x30...0x39 ~= character else { return nil }
            value = value * 10 + Int(character - 0x30)
        }
        position += digits
        return value
    }

    /// One to nine digits of a second's fraction, as milliseconds rounded down.
    mutating func millisecond() -> Int? {
        let start = position
        var value = 0
        while let digit = number(digits: 1) {
            if position - start <= 3 { value = value * 10 + digit }
        }
        let count = position - start
        guard 1...9 ~= count else { return nil }
        for _ in min(count, 3)..<3 { value *= 10 }
        return value
    }

    /// `hh:mm:ss`; whether such a time exists is not checked.
    mutating func timeOfDay() -> (hour: Int, minute: Int, second: Int)? {
        guard let hour = number(digits: 2), skip(":"), let minute = number(digits: 2), skip(":"), let second = number(digits: 2)
        else { return nil }
        return (hour, minute, second)
    }

    /// Reads the next of `names`; returns its index.
    mutating func index(in names: [String]) -> Int? {
        for (index, name) in names.enumerated() where skip(name) { return index }
        return nil
    }
}
