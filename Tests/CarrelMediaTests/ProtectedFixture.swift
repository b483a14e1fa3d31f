import CarrelBytes
import CarrelCrypto
import CarrelJSON
import CarrelMP4
import CarrelMedia
import CarrelTesting
import Testing

/// A protected file that others made, with what its decryption gives (`media/oracles.json` of the fixtures).
struct ProtectedFixture: CustomTestStringConvertible {
    let name: String
    let entry: JSON

    var testDescription: String { name }

    /// All of them, by name.
    static let all: [ProtectedFixture] = {
        guard let directory = Fixtures.directory, let bytes = Fixtures.bytes(at: "\(directory)/media/oracles.json"),
            let members = try? JSON.parse(bytes.rawSpan).object
        else { return [] }
        return members.map { ProtectedFixture(name: $0.name, entry: $0.value) }.sorted { $0.name < $1.name }
    }()

    static func named(_ prefixes: String...) -> [ProtectedFixture] {
        all.filter { fixture in prefixes.contains { fixture.name.hasPrefix($0) } }
    }

    /// The keys, by key id, and by track where the entry says so.
    var keys: GivenKeys {
        var keys = GivenKeys()
        for key in entry["keys"]?.array ?? [] {
            guard let text = key["key"]?.string, let bytes = Hex.decode(text) else { continue }
            if let id = key["kid"]?.string.flatMap({ Hex.decode($0) }) { keys.add(Secret(bytes), for: .id(id)) }
            if let id = key["id"]?.string.flatMap({ UInt32($0) }) { keys.add(Secret(bytes), for: .track(id)) }
            if key["kid"] == nil, key["id"] == nil { keys.add(Secret(bytes), for: nil) }
        }
        return keys
    }

    /// The SHA-256 of the samples of its picture (`v`) or sound (`a`), concatenated; nil when there is no such track.
    func samples(_ kind: String) -> String? { entry["samples"]?[kind]?["sha256_of_concatenated_samples"]?.string }
}

extension MP4File {
    /// The SHA-256 of the samples of the first track of a kind, concatenated.
    func digest(of kind: String) throws -> String? {
        guard let track = tracks.first(where: { $0.kind == kind }) else { return nil }
        var hash = SHA256.Stream()
        var samples = samples(of: track)
        while let sample = try samples.next() {
            let bytes = try reader.readAll(sample.range)
            hash.update(bytes.rawSpan)
        }
        return Hex.encode(hash.finish())
    }
}
