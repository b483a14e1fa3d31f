// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelJSON
import CarrelTesting
import Testing

@testable import CarrelPublication

/// A protected publication of the fixtures with the values of its oracle. The content key is derived here according to Readium
/// LCP §5.2, without the tested code.
struct LCPFixture: Sendable, CustomTestStringConvertible {
    let name: String
    var testDescription: String { name }

    static let all = ["wasteland-otf-obf_LCP_dan.epub", "daisy-test.lcpdf", "daisy-mmenu.lcpdf", "audiotest.lcpa"].map {
        LCPFixture(name: "lcp/\($0)")
    }

    var path: String { get throws { try Fixtures.path("readium/\(name)") } }

    /// The oracle's values.
    var oracle: JSONObject {
        get throws {
            let bytes = try Fixtures.bytes("readium/oracles.json")
            let json = try JSON.parse(bytes.rawSpan)
            return try #require(json["publications"]?[name]?.object)
        }
    }

    /// The content key by the license that is in the publication, and the passphrase.
    func key(_ fetcher: any Fetcher) async throws -> ContentKey {
        let oracle = try oracle
        let place = name.hasSuffix("epub") ? "META-INF/license.lcpl" : "license.lcpl"
        let bytes = try await fetcher.get(place).read(upTo: 1 << 20)
        let json = try JSON.parse(bytes.rawSpan)
        let value = try #require(json["encryption"]?["content_key"]?["encrypted_value"]?.string.flatMap { Base64.decode($0) })
        let phrase = Array(try #require(oracle["passphrase"]?.string).utf8)
        let userKey = Secret(SHA256.hash(phrase.rawSpan))
        var plain: [UInt8] = []
        try AESCBCBlocks(key: userKey).decrypt(value.rawSpan, into: &plain)
        let key = Array(plain.prefix(32))
        #expect(Hex.encode(SHA256.hash(key.rawSpan)) == oracle["content_key_sha256"]?.string)
        return try ContentKey(Secret(key))
    }
}
