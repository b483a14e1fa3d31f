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
    /// - Throws: `UsageError` when one is not written as a key; `MediaError` when the file cannot be read.
    func keys() throws -> PackagingKeys {
        var keys = PackagingKeys()
        do throws(MediaError) {
            for text in given { try keys.add(text) }
        } catch {
            throw UsageError(.badValue, "--key: \(error.message)")
        }
        guard let file else { return keys }
        let lines = try SmallFile.read(file, limit: 1 << 20).split(
            separator: UInt8(ascii: "\n"),
            omittingEmptySubsequences: false
        )
        for (number, bytes) in lines.enumerated() {
            let text = String(decoding: bytes, as: UTF8.self).filter { !$0.isWhitespace }
            guard !text.isEmpty, !text.hasPrefix("#") else { continue }
            do throws(MediaError) { try keys.add(text) } catch {
                throw UsageError(.badValue, "\(file), line \(number + 1): \(error.message)")
            }
        }
        return keys
    }
}
