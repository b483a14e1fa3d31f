// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelMedia

/// The content keys that a caller passes to a command. No home, vault or license is used for keys.
struct ContentKeyOptions: ParameterGroup, Sendable {
    var given: [String] = []
    var file: String?

    static let parameters: [Parameter<ContentKeyOptions>] = [
        .option(
            \.given,
            "--key",
            value: "id:key",
            help:
                "A content key. id: the 32 digits of a key id, a track's number, a content id, the address of a key line, group for a "
                + "group key, or * for all others; key: 32 hexadecimal digits, or 64. Other users of this machine can see it: prefer --keys.",
            group: "Keys"
        ),
        .option(\.file, "--keys", value: "file", help: "A file of such lines, or - for standard input.", group: "Keys"),
    ]

    /// The keys.
    ///
    /// - Throws: `UsageError` when one is not written as a key; `MediaError` when the file cannot be read.
    func keys() throws -> GivenKeys {
        var keys = GivenKeys()
        try KeyLines(given: given, file: file).read { text throws(MediaError) in try keys.add(text) }
        return keys
    }
}
