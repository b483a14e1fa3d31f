import CarrelThreads
import Glibc

/// Asks for credentials on the terminal of the process.
public enum TerminalDialog {
    private static let threads = BlockingThreads(name: "carrel-dialog", count: 1)

    /// Shows the dialog on the controlling terminal and reads a line that is not shown.
    ///
    /// - Parameters:
    ///   - dialog: what to ask.
    ///   - sender: not used.
    /// - Returns: nil when there is no terminal, and when the line is empty.
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
        var text = "\(dialog.title)\n\(dialog.message)\n"
        if let hint = dialog.hint { text += "Hint: \(printable(hint))\n" }
        write(terminal, text + "> ")
        var before = termios()
        guard unsafe tcgetattr(terminal, &before) == 0 else { return nil }
        var quiet = before
        quiet.c_lflag &= ~tcflag_t(ECHO)
        unsafe tcsetattr(terminal, TCSAFLUSH, &quiet)
        defer {
            unsafe tcsetattr(terminal, TCSAFLUSH, &before)
            write(terminal, "\n")
        }
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while line.count < 4096, unsafe Glibc.read(terminal, &byte, 1) == 1, byte != UInt8(ascii: "\n") { line.append(byte) }
        return line.isEmpty ? nil : String(validating: line, as: UTF8.self)
    }

    /// A stranger's words without what moves a terminal's cursor.
    private static func printable(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7f && !(0x80...0x9f ~= $0.value) }
            )
        )
    }

    private static func write(_ terminal: Int32, _ text: String) {
        let bytes = Array(text.utf8)
        _ = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(terminal, $0.baseAddress, $0.count) }
    }
}
