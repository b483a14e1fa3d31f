import CarrelCommandLine
import CarrelMedia

/// The content keys that a caller passes to a command. Nothing else is asked for a key: no home, no vault, no license.
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
