// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelHTTP
import CarrelProxy
import Glibc

/// Sources that are not an argument of the command line.
enum SourceLine {
    /// Bytes of a line, at most.
    private static let limit = 16_384

    /// Reads the first line of standard input, and nothing after it: the end of the input ends the command.
    ///
    /// - Returns: the line without white space around it.
    /// - Throws: `UsageError` for an empty or a long line, and for other bytes than text.
    static func read() throws(UsageError) -> String {
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        while bytes.count <= limit {
            let count = unsafe Glibc.read(STDIN_FILENO, &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count == 1, byte != UInt8(ascii: "\n") else { break }
            bytes.append(byte)
        }
        while let last = bytes.last, [0x20, 0x09, 0x0d].contains(last) { bytes.removeLast() }
        let text = String(validating: bytes.drop { $0 == 0x20 || $0 == 0x09 }, as: UTF8.self)
        guard bytes.count <= limit, let text, !text.isEmpty else {
            throw UsageError(.badValue, "standard input does not begin with a line that names a source")
        }
        return text
    }

    /// A separate file in the form that the proxy takes: an address unchanged, a file by its absolute path.
    static func resolved(_ name: String) throws(UsageError) -> String {
        let start = name.prefix(8).lowercased()
        guard !start.hasPrefix("http://"), !start.hasPrefix("https://") else { return name }
        guard let real = unsafe realpath(name, nil) else { throw UsageError(.badValue, "\(name) cannot be opened") }
        defer { unsafe free(real) }
        let path = unsafe String(cString: real)
        return "file://" + path.split(separator: "/").map { "/" + PercentEncoding.encode(String($0)) }.joined()
    }
}
