// SPDX-License-Identifier: Apache-2.0

package import CarrelMedia
import CarrelBytes
import CarrelCrypto
import CarrelMP4

/// Keys for output as a command line names them.
package struct PackagingKeys: Sendable {
    private var common: [PackagingKey] = []
    private var typed: [PackagedTrack.Kind: [PackagingKey]] = [:]

    /// The video keys, or the keys for all tracks.
    package var video: [PackagingKey] { typed[.video] ?? common }
    /// The audio keys, or the keys for all tracks.
    package var audio: [PackagingKey] { typed[.audio] ?? common }

    package init() {}

    /// Whether there is none.
    package var isEmpty: Bool { video.isEmpty && audio.isEmpty }

    /// Adds a key.
    ///
    /// - Parameter text: `[video=|audio=]ID:KEY`; `ID` and `KEY` are 32 hexadecimal digits each, dashes in `ID` are passed over.
    ///   A key without a type is for all tracks that have none of their type.
    /// - Throws: `badKey` with the fault, without the key.
    package mutating func add(_ text: some StringProtocol) throws(MediaError) {
        var type: PackagedTrack.Kind?
        var rest = Substring(text)
        if let sign = rest.firstIndex(of: "=") {
            guard let kind = PackagedTrack.Kind(rawValue: String(rest[..<sign])), kind != .text else {
                throw MediaError(.badKey, "the text before '=' names no type of track: write video= or audio=")
            }
            type = kind
            rest = rest[rest.index(after: sign)...]
        }
        guard let colon = rest.firstIndex(of: ":") else { throw MediaError(.badKey, "a key is written ID:KEY") }
        let digits = rest[..<colon].filter { $0 != "-" }
        guard digits.utf8.count == 32, let id = Hex.decode(digits).flatMap({ KeyID($0.rawSpan) }) else {
            throw MediaError(.badKey, "the key id is not 32 hexadecimal digits")
        }
        guard let bytes = Hex.decode(rest[rest.index(after: colon)...]), bytes.count == 16,
            let key = try? PackagingKey(id: id, key: Secret(bytes))
        else { throw MediaError(.badKey, "the key behind the id is not 32 hexadecimal digits") }
        // messages never contain an ID: if the two halves of a line were swapped, it is the key
        for other in common + typed.values.joined() where (other.id == id) && other.key != key.key {
            throw MediaError(.badKey, "the id is given for two keys")
        }
        if let type { typed[type, default: []].append(key) } else { common.append(key) }
    }
}
