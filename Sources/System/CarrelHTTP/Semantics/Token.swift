// SPDX-License-Identifier: Apache-2.0

/// The characters of a token: methods, field names, cookie names (RFC 9110 §5.6.2).
public enum Token {
    private static let allowed: [Bool] = {
        var table = [Bool](repeating: false, count: 256)
        for c in "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8 { table[Int(c)] = true }
        return table
    }()

    /// Whether the text is a token: at least one character, every one allowed.
    ///
    /// - Parameter text: the text.
    /// - Returns: true if it is a token.
    public static func isValid(_ text: some StringProtocol) -> Bool {
        // an array of its own, because generic text is read slowly; the next function too
        let characters = Array(text.utf8)
        return !characters.isEmpty && characters.allSatisfy { allowed[Int($0)] }
    }

    /// Whether the text may be a field's value: no control character but the tab (RFC 9110 §5.5).
    ///
    /// - Parameter text: the text.
    /// - Returns: true if it may be a value.
    public static func isValidFieldValue(_ text: some StringProtocol) -> Bool {
        Array(text.utf8).allSatisfy { ($0 >= 0x20 && $0 != 0x7f) || $0 == 0x09 }
    }
}
