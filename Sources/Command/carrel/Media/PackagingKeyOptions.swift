// SPDX-License-Identifier: Apache-2.0

import CarrelCommandLine
import CarrelMedia
import CarrelMediaPackaging

/// The content keys that output is encrypted with.
struct PackagingKeyOptions: ParameterGroup, Sendable {
    var given: [String] = []
    var file: String?

    static let parameters: [Parameter<PackagingKeyOptions>] = [
        .option(
            \.given,
            "--key",
            value: "[type=]id:key",
            help:
                "A content key. type: video or audio; without one the key is for all others. id, key: 32 hexadecimal digits each. "
                + "Several keys of a type take turns with --rotate. Other users of this machine can see it: prefer --keys.",
            group: "Keys"
        ),
        .option(\.file, "--keys", value: "file", help: "A file of such lines, or - for standard input.", group: "Keys"),
    ]

    /// The keys.
    ///
    /// - Throws: `UsageError` if a key is malformed; `MediaError` if the file cannot be read.
    func keys() throws -> PackagingKeys {
        var keys = PackagingKeys()
        try KeyLines(given: given, file: file).read { text throws(MediaError) in try keys.add(text) }
        return keys
    }
}
