// SPDX-License-Identifier: Apache-2.0

import CLinux
import CarrelCommandLine
import Glibc

/// A password from standard input: a line of a pipe, or typed on a terminal without being shown.
enum PasswordInput {
    /// The longest password and its line end, in bytes.
    private static let limit = 2048

    /// Reads a password.
    ///
    /// - Parameter console: shows the prompt; nil writes it to standard error.
    /// - Returns: the password, without its line break.
    /// - Throws: a usage error if the password is missing or too long.
    static func read(_ console: Console?) throws(UsageError) -> String {
        var bytes: [UInt8] = []
        if isatty(STDIN_FILENO) == 1 {
            if let console { console.note("password:") } else { unsafe _ = Glibc.write(STDERR_FILENO, "password:\n", 10) }
            bytes = [UInt8](repeating: 0, count: limit + 1)
            let count = unsafe bytes.withUnsafeMutableBytes { unsafe clinux_read_hidden(STDIN_FILENO, $0.baseAddress, $0.count) }
            bytes.removeLast(bytes.count - max(0, count))
        } else {
            var byte: UInt8 = 0
            while bytes.count <= limit, unsafe Glibc.read(STDIN_FILENO, &byte, 1) == 1, byte != UInt8(ascii: "\n") {
                bytes.append(byte)
            }
        }
        guard bytes.count <= limit else { throw UsageError(.badValue, "the password on standard input is too long") }
        if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
        guard !bytes.isEmpty, let text = String(validating: bytes, as: UTF8.self) else {
            throw UsageError(.badValue, "no password on standard input, or not UTF-8")
        }
        return text
    }
}
