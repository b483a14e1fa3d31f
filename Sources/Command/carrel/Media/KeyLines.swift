// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelMedia

/// Keys as options name them: on the command line, or one a line in a file.
struct KeyLines {
    /// The values of `--key`.
    let given: [String]
    /// The value of `--keys`.
    let file: String?

    /// Calls `add` with each line.
    ///
    /// - Parameter add: adds a key; its error does not contain the key.
    /// - Throws: `UsageError` with the line number of a malformed key; `MediaError` if the file cannot be read.
    func read(_ add: (String) throws(MediaError) -> Void) throws {
        for (number, text) in given.enumerated() {
            do throws(MediaError) { try add(text) } catch {
                let place = given.count == 1 ? "--key" : "--key number \(number + 1)"
                throw UsageError(.badValue, "\(place): \(error.message)")
            }
        }
        guard let file else { return }
        let lines = try SmallFile.read(file, limit: 1 << 20).split(
            separator: UInt8(ascii: "\n"),
            omittingEmptySubsequences: false
        )
        for (number, bytes) in lines.enumerated() {
            let text = String(decoding: bytes, as: UTF8.self).filter { !$0.isWhitespace }
            guard !text.isEmpty, !text.hasPrefix("#") else { continue }
            do throws(MediaError) { try add(text) } catch {
                throw UsageError(.badValue, "\(file), line \(number + 1): \(error.message)")
            }
        }
    }
}
