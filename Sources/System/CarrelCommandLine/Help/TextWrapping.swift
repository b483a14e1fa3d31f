// SPDX-License-Identifier: Apache-2.0

extension String {
    /// The text broken into lines of at most `width` columns at spaces; a longer word has its own line. Line breaks in the text
    /// are kept.
    ///
    /// - Parameters:
    ///   - width: the maximum line width, including the indent.
    ///   - indent: the number of spaces before each line except the first.
    /// - Returns: the lines, joined.
    func wrapped(to width: Int, indent: Int = 0) -> String {
        let margin = String(repeating: " ", count: indent)
        let room = max(width - indent, 20)
        var lines: [String] = []
        for paragraph in split(separator: "\n", omittingEmptySubsequences: false) {
            if paragraph.hasPrefix("  ") {  // laid out by hand
                lines.append(String(paragraph))
                continue
            }
            var line = ""
            for word in paragraph.split(separator: " ") {
                if !line.isEmpty, line.columns + 1 + word.columns > room {
                    lines.append(line)
                    line = ""
                }
                line += line.isEmpty ? String(word) : " \(word)"
            }
            lines.append(line)
        }
        return lines.enumerated().map { $0.offset == 0 || $0.element.isEmpty ? $0.element : margin + $0.element }.joined(
            separator: "\n"
        )
    }
}
