// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The arguments of a program that a test starts, limits or kills: words, and options before or after them.
package struct ProgramArguments: Sendable {
    /// The words that are not options, without the program's path.
    package let words: [String]
    private let options: Set<String>

    /// Reads the arguments of this process. `file-size=BYTES` takes effect immediately.
    ///
    /// - Parameter names: the names of options without a value.
    package init(options names: Set<String>) {
        var (words, found): ([String], Set<String>) = ([], [])
        for word in CommandLine.arguments.dropFirst() {
            if word.hasPrefix("file-size="), let bytes = UInt(word.dropFirst("file-size=".count)) {
                Self.limitFiles(bytes)
            } else if names.contains(word) {
                found.insert(word)
            } else {
                words.append(word)
            }
        }
        (self.words, options) = (words, found)
    }

    /// Whether an option was given.
    package func has(_ option: String) -> Bool { options.contains(option) }

    /// Fails writes beyond a file size, like a full disk.
    private static func limitFiles(_ bytes: UInt) {
        signal(SIGXFSZ, SIG_IGN)
        var limits = rlimit(rlim_cur: bytes, rlim_max: .max)
        guard unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limits) == 0 else { exit(70) }
    }

    /// Writes a line to standard output, unbuffered.
    package static func say(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        _ = unsafe bytes.withUnsafeBytes { unsafe write(1, $0.baseAddress, $0.count) }
    }
}
