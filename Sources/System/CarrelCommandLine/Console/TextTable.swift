// SPDX-License-Identifier: Apache-2.0

/// Rows in aligned columns, for lists.
package struct TextTable: Sendable, Equatable {
    /// One column.
    package struct Column: ExpressibleByStringLiteral, Sendable, Equatable {
        package let title: String
        /// Whether it holds numbers, which are aligned at their ends.
        package let isNumeric: Bool
        /// Whether its cells may be cut if the terminal is too narrow.
        package let canShrink: Bool

        package init(_ title: String, isNumeric: Bool = false, canShrink: Bool = false) {
            self.title = title
            self.isNumeric = isNumeric
            self.canShrink = canShrink
        }

        package init(stringLiteral title: String) { self.init(title) }
    }

    package let columns: [Column]
    /// Each as long as `columns`.
    package private(set) var rows: [[String]] = []

    package init(_ columns: [Column]) {
        self.columns = columns
    }

    /// Adds a row with one cell a column; cells may hold untrusted text.
    package mutating func add(_ cells: [String]) {
        precondition(cells.count == columns.count, "a row has one cell a column")
        rows.append(cells.map(\.printable))
    }

    /// The lines, without a break after the last: the titles, if there are any, and the rows.
    ///
    /// - Parameters:
    ///   - width: the maximum width, kept by cutting shrinkable cells; nil for no limit.
    ///   - heading: formats titles.
    /// - Returns: the lines, joined.
    func text(width: Int?, heading: (String) -> String = { $0 }) -> String {
        var widths = columns.indices.map { index in
            max(columns[index].title.columns, rows.map { $0[index].columns }.max() ?? 0)
        }
        if let width { shrink(&widths, to: width) }
        // without titles it begins with its rows
        let isUntitled = columns.allSatisfy(\.title.isEmpty)
        let titles = isUntitled ? [] : [heading(line(columns.map { $0.title.uppercased() }, widths))]
        return (titles + rows.map { line($0, widths) }).joined(separator: "\n")
    }

    private func shrink(_ widths: inout [Int], to width: Int) {
        while widths.reduce(0, +) + 2 * (widths.count - 1) > width {
            let widest = columns.indices.filter { columns[$0].canShrink && widths[$0] > 8 }.max { widths[$0] < widths[$1] }
            guard let widest else { return }
            widths[widest] -= 1
        }
    }

    private func line(_ cells: [String], _ widths: [Int]) -> String {
        var text = cells.indices.map { index in
            cells[index].shortened(to: widths[index]).padded(to: widths[index], onTheLeft: columns[index].isNumeric)
        }.joined(separator: "  ")
        while text.last == " " { text.removeLast() }
        return text
    }
}
