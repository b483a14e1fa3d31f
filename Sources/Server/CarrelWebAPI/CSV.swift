// SPDX-License-Identifier: Apache-2.0

/// Lines of comma-separated values.
package enum CSV {
    /// A line with its end (RFC 4180 §2). Cells that a spreadsheet would take for formulas become text.
    package static func line(_ cells: [String]) -> String {
        cells.map(cell).joined(separator: ",") + "\r\n"
    }

    private static func cell(_ text: String) -> String {
        let isFormula = text.unicodeScalars.first.map { "=+-@\t\r".unicodeScalars.contains($0) } ?? false
        let safe = isFormula ? "'\(text)" : text
        let needsQuotes = safe.utf8.contains { [UInt8(ascii: ","), UInt8(ascii: "\""), 10, 13].contains($0) }
        return needsQuotes ? "\"\(safe.replacing("\"", with: "\"\""))\"" : safe
    }
}
