// SPDX-License-Identifier: Apache-2.0

/// Names of files in tables: one plain component of a path, so that no table leads out of its package.
enum PlainName {
    /// Whether a text is a name that tables may contain.
    static func isValid(_ name: String) -> Bool {
        let bytes = name.utf8
        guard 1...255 ~= bytes.count, name != ".", name != ".." else { return false }
        return bytes.allSatisfy { $0 > 0x20 && $0 != 0x7f && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "\\") }
    }

    /// The name of a piece in its folder: `00000.frag`, `00000.initfrag`.
    static func piece(_ number: Int, isInitialization: Bool) -> String {
        padded(number) + (isInitialization ? ".initfrag" : ".frag")
    }

    /// The name of a data item in its folder: `00000.data`.
    static func item(_ number: Int) -> String { padded(number) + ".data" }

    private static func padded(_ number: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, 5 - digits.utf8.count)) + digits
    }
}
