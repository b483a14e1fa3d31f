// SPDX-License-Identifier: Apache-2.0

import CLinux
import CarrelThreads
import Glibc

/// Asks for credentials on the terminal of the process.
public enum TerminalDialog {
    private static let threads = BlockingThreadPool(name: "carrel-dialog", count: 1)

    /// Shows the dialog on the controlling terminal and reads a line without echo.
    ///
    /// - Parameters:
    ///   - dialog: the dialog to show.
    ///   - sender: not used.
    /// - Returns: nil if there is no terminal or the line is empty. Ctrl-C sends the process its usual signal, and returns nil if
    ///   the process continues.
    @Sendable
    public static func ask(_ dialog: Dialog<String>, _ sender: (any Sendable)?) async -> String? {
        // the outer optional is the thread's failure, which cannot happen
        let answer = try? await threads.run { read(dialog) }
        return answer ?? nil
    }

    private static func read(_ dialog: Dialog<String>) -> String? {
        let terminal = unsafe open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
        guard terminal >= 0 else { return nil }
        defer { close(terminal) }
        write(terminal, text(dialog))
        var line = [UInt8](repeating: 0, count: 4096)
        let count = unsafe line.withUnsafeMutableBytes { unsafe clinux_read_hidden(terminal, $0.baseAddress, $0.count) }
        return count > 0 ? String(validating: line[..<count], as: UTF8.self) : nil
    }

    /// The text of the dialog. All of it may be untrusted: titles and messages hold names of files.
    static func text(_ dialog: Dialog<String>) -> String {
        let hint = dialog.hint.map { "Hint: \(printable($0))\n" } ?? ""
        return "\(printable(dialog.title.description))\n\(printable(dialog.message.description))\n\(hint)> "
    }

    /// Untrusted text without characters that move a terminal's cursor or reverse its line.
    private static func printable(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.filter { scalar in
                    switch scalar.value {
                    case 0..<0x20, 0x7f..<0xa0, 0x2028...0x202e, 0x2066...0x2069: false
                    default: true
                    }
                }
            )
        )
    }

    private static func write(_ terminal: Int32, _ text: String) {
        let bytes = Array(text.utf8)
        _ = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(terminal, $0.baseAddress, $0.count) }
    }
}
