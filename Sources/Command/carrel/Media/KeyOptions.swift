// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCommandLine
import CarrelMedia
import CarrelMediaPackaging

/// The keys that `--key` and the lines of `--keys` name. No home, vault or license is searched for others.
protocol KeySet: Sendable {
    init()
    /// Adds the key of one text; the error has no key.
    mutating func add(_ text: String) throws(MediaError)

    static var valueName: String { get }
    static var help: String { get }
}

extension GivenKeys: KeySet {
    static let valueName = "id:key"
    static let help =
        "A content key. id: the 32 digits of a key id, a track's number, a content id, the address of a key line, group for a "
        + "group key, or * for all others; key: 32 hexadecimal digits, or 64. Other users of this machine can see it: prefer --keys."
}

extension PackagingKeys: KeySet {
    static let valueName = "[type=]id:key"
    static let help =
        "A content key. type: video or audio; without one the key is for all others. id, key: 32 hexadecimal digits each. "
        + "Several keys of a type take turns with --rotate. Other users of this machine can see it: prefer --keys."
}

/// The options for content keys: of a source, or to encrypt with.
struct KeyOptions<Keys: KeySet>: ParameterGroup, Sendable {
    var given: [String] = []
    var file: String?

    static var parameters: [Parameter<Self>] {
        [
            .option(\.given, "--key", value: Keys.valueName, help: Keys.help, group: "Keys"),
            .option(\.file, "--keys", value: "file", help: "A file of such lines, or - for standard input.", group: "Keys"),
        ]
    }

    /// The keys.
    ///
    /// - Throws: `UsageError` with the place when one is not written as a key; `MediaError` when the file cannot be read.
    func keys() throws -> Keys {
        var keys = Keys()
        for (number, text) in given.enumerated() {
            do throws(MediaError) { try keys.add(text) } catch {
                let place = given.count == 1 ? "--key" : "--key number \(number + 1)"
                throw UsageError(.badValue, "\(place): \(error.message)")
            }
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
