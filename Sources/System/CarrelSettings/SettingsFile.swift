// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The parsed lines of a settings file: keys, line numbers, and values still in quotes.
///
/// A line is `key = value`, empty, or a comment that begins with `#`; a comment may also follow a value after a space. A value is
/// bare (`http.port = 8080`) or in double quotes, where `\"`, `\\`, `\n` and `\t` have their usual meanings. Several values are
/// separated by commas. The text is UTF-8; `\r\n` ends a line too.
package struct SettingsFile: Sendable {
    /// A line with content.
    struct Entry: Sendable, Equatable {
        let line: Int
        let key: String
        /// After the equals sign, without white space around it.
        let value: String
    }

    /// Its name in messages.
    package let path: String
    /// Whether users other than its owner may read it.
    package let isReadableByOthers: Bool
    let entries: [Entry]
    let problems: [SettingsError.Problem]

    /// Reads settings from the bytes of a file. Errors are reported by ``LoadedSettings``, together with all others.
    ///
    /// - Parameters:
    ///   - bytes: the whole file.
    ///   - path: its name in messages.
    ///   - isReadableByOthers: whether users other than its owner may read it.
    package init(_ bytes: [UInt8], path: String, isReadableByOthers: Bool = false) {
        self.path = path
        self.isReadableByOthers = isReadableByOthers
        var entries: [Entry] = []
        var problems: [SettingsError.Problem] = []
        let mark: [UInt8] = [0xef, 0xbb, 0xbf]
        let text = bytes.starts(with: mark) ? bytes.dropFirst(3) : bytes[...]
        for (index, line) in text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
            let number = index + 1
            do throws(BadLine) {
                guard let (key, value) = try SettingsLine.read(line.last == UInt8(ascii: "\r") ? line.dropLast() : line) else {
                    continue
                }
                entries.append(Entry(line: number, key: key, value: value))
            } catch {
                problems.append(
                    .init(code: .syntax, origin: .file(path: path, line: number), message: error.message, hint: error.hint)
                )
            }
        }
        self.entries = entries
        self.problems = problems
    }

    /// The file at `path`; nil if there is none.
    ///
    /// - Parameters:
    ///   - path: the file's path; also its name in messages.
    ///   - limit: the maximum size in bytes.
    /// - Returns: the settings, not yet validated.
    /// - Throws: `settings.unreadable` if it exists but cannot be read, or is too large.
    package static func read(_ path: String, limit: Int = 1 << 20) throws(SettingsError) -> SettingsFile? {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        if descriptor < 0, errno == ENOENT { return nil }
        guard descriptor >= 0 else { throw unreadable(path, errno) }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw unreadable(path, errno) }
        var bytes: [UInt8] = []
        while true {
            var part = [UInt8](repeating: 0, count: 65536)
            let count = unsafe Glibc.read(descriptor, &part, part.count)
            guard count >= 0 else { throw unreadable(path, errno) }
            if count == 0 { break }
            bytes += part.prefix(count)
            guard bytes.count <= limit else { throw unreadable(path, EFBIG) }
        }
        return SettingsFile(bytes, path: path, isReadableByOthers: status.st_mode & 0o077 != 0)
    }

    private static func unreadable(_ path: String, _ code: Int32) -> SettingsError {
        let reason = unsafe String(cString: strerror(code))
        return SettingsError(problems: [
            .init(code: .unreadable, origin: .builtIn, message: "\(path) cannot be read: \(reason)", hint: nil)
        ])
    }
}
