// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The properties of a stream's destination.
package struct Terminal: Sendable, Equatable {
    /// Whether a person watches: lines may be redrawn.
    package var isInteractive: Bool
    /// Width in character cells; 80 if unknown.
    package var columns: Int
    /// Height in lines; 24 if unknown.
    package var rows: Int
    /// Whether text may be colored and set bold.
    package var hasColor: Bool
    /// Whether characters beyond ASCII may be drawn.
    package var hasUnicode: Bool

    package init(
        isInteractive: Bool = false,
        columns: Int = 80,
        rows: Int = 24,
        hasColor: Bool = false,
        hasUnicode: Bool = true
    ) {
        self.isInteractive = isInteractive
        self.columns = columns
        self.rows = rows
        self.hasColor = hasColor
        self.hasUnicode = hasUnicode
    }

    /// The properties of an open file, by the system and the environment.
    ///
    /// Color needs a terminal, a `TERM` other than `dumb` and no `NO_COLOR` (no-color.org).
    package init(descriptor: Int32, environment: [String: String]) {
        isInteractive = isatty(descriptor) == 1
        var size = winsize()
        let hasSize = unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
        columns = hasSize ? Int(size.ws_col) : environment["COLUMNS"].flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil } ?? 80
        rows = hasSize && size.ws_row > 0 ? Int(size.ws_row) : 24
        hasColor = isInteractive && environment["TERM"] != "dumb" && (environment["NO_COLOR"] ?? "").isEmpty
        let locale =
            [environment["LC_ALL"], environment["LC_CTYPE"], environment["LANG"]].compactMap(\.self).first { !$0.isEmpty } ?? ""
        hasUnicode = locale.lowercased().contains("utf")
    }

    /// A text style.
    package enum Style: Int, Sendable {
        case bold = 1
        case faint = 2
        case red = 31
        case green = 32
        case yellow = 33
        case blue = 34
        case magenta = 35
        case cyan = 36
    }

    /// The text in a style, if the terminal supports styles (ECMA-48 §8.3.117).
    package func styled(_ text: String, _ style: Style) -> String {
        hasColor ? "\u{1b}[\(style.rawValue)m\(text)\u{1b}[0m" : text
    }

    func bold(_ text: String) -> String { styled(text, .bold) }
}
