// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelJSON
import CarrelMP4
import CarrelTesting
import Testing

/// The known properties of the fixtures, from the files next to them.
struct Oracles {
    let entry: JSON
    let name: String

    static func media(_ name: String) throws -> Oracles {
        let bytes = try Fixtures.bytes("media/oracles.json")
        let all = try JSON.parse(bytes.rawSpan, limits: JSONLimits(depth: 64, values: 1_000_000))
        return Oracles(entry: try #require(all[name]), name: name)
    }

    var bytes: [UInt8] {
        get throws { try Fixtures.bytes("media/\(name)") }
    }

    /// The key in this field of the first entry that has it, or of the entry with this id.
    func key(_ field: String = "key", id: String? = nil) throws -> Secret {
        for entry in try #require(entry["keys"]?.array) where id == nil || entry["id"]?.string == id {
            if let text = entry[field]?.string { return Secret(try #require(Hex.decode(text))) }
        }
        Issue.record("no key \(field) \(id ?? "")")
        return Secret([])
    }

    func samples(_ kind: String) throws -> String {
        try #require(entry["samples"]?[kind]?["sha256_of_concatenated_samples"]?.string)
    }
}

func sha256(_ bytes: [UInt8]) -> String { Hex.encode(SHA256.hash(bytes.rawSpan)) }

/// The fault of bytes that are refused; any other outcome fails the test.
func fault(_ body: () throws -> Void) -> Malformed? {
    do {
        try body()
        return nil
    } catch let error as Malformed {
        return error
    } catch {
        Issue.record("\(error)")
        return nil
    }
}
