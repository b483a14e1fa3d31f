import CarrelCommandLine
import Glibc

/// A password from standard input: a line of a pipe, or typed on a terminal without being shown.
enum PasswordInput {
    /// The longest password and its line end, in bytes.
    private static let limit = 2048

    static func read(_ console: Console) throws(UsageError) -> String {
        let isTyped = isatty(STDIN_FILENO) == 1
        var before = termios()
        if isTyped {
            console.note("password:")
            unsafe tcgetattr(STDIN_FILENO, &before)
            var silent = before
            silent.c_lflag &= ~tcflag_t(ECHO)
            unsafe tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent)
        }
        defer { if isTyped { unsafe tcsetattr(STDIN_FILENO, TCSAFLUSH, &before) } }
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        while unsafe Glibc.read(STDIN_FILENO, &byte, 1) == 1, byte != UInt8(ascii: "\n") {
            bytes.append(byte)
            guard bytes.count <= limit else { throw UsageError(.badValue, "the password on standard input is too long") }
        }
        if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
        guard !bytes.isEmpty, let text = String(validating: bytes, as: UTF8.self) else {
            throw UsageError(.badValue, "there is no password on standard input, or it is not UTF-8")
        }
        return text
    }
}
