// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelBytes
import CarrelCrypto
package import CarrelJSON
package import CarrelMedia
import CarrelTesting

/// A protected file that others made, with what its decryption gives (`media/oracles.json` of the fixtures).
package struct ProtectedFixture: CustomStringConvertible, Sendable {
    /// The path below the fixtures' `media`.
    package let name: String
    /// Its entry in the list.
    package let entry: JSON

    package var description: String { name }

    /// All of them, by name.
    package static let all: [ProtectedFixture] = {
        guard let directory = Fixtures.directory, let bytes = Fixtures.bytes(at: "\(directory)/media/oracles.json"),
            let members = try? JSON.parse(bytes.rawSpan).object
        else { return [] }
        return members.map { ProtectedFixture(name: $0.name, entry: $0.value) }.sorted { $0.name < $1.name }
    }()

    /// Those whose names begin so.
    package static func named(_ prefixes: String...) -> [ProtectedFixture] {
        all.filter { fixture in prefixes.contains { fixture.name.hasPrefix($0) } }
    }

    /// The SHA-256 of the samples of its picture (`v`) or sound (`a`), concatenated; nil if there is no such track.
    package func samples(_ kind: String) -> String? { entry["samples"]?[kind]?["sha256_of_concatenated_samples"]?.string }

    /// The keys, by key id, and by track where the entry says so.
    package var keys: GivenKeys {
        var keys = GivenKeys()
        for key in entry["keys"]?.array ?? [] {
            guard let text = key["key"]?.string, let bytes = Hex.decode(text) else { continue }
            if let id = key["kid"]?.string.flatMap({ Hex.decode($0) }) { keys.add(Secret(bytes), for: .id(id)) }
            if let id = key["id"]?.string.flatMap({ UInt32($0) }) { keys.add(Secret(bytes), for: .track(id)) }
            if key["kid"] == nil, key["id"] == nil { keys.add(Secret(bytes), for: nil) }
        }
        return keys
    }
}
