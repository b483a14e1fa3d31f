// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelJSON
import CarrelTesting

/// The findings of an independent program in third-party fixtures: the oracles next to them.
struct FixtureOracles {
    private let json: JSON

    init() throws {
        let bytes = try Fixtures.bytes("readium/oracles.json")
        json = try JSON.parse(bytes.rawSpan)
    }

    subscript(group: String, name: String) -> JSON { json[group]?[name] ?? .null }

    /// The license of a fixture, also if it is in a package.
    static func license(_ name: String) async throws -> [UInt8] {
        if name.hasSuffix(".lcpl") || name.hasSuffix(".json") { return try Fixtures.bytes("readium/\(name)") }
        let unzip = try requirePeer("unzip")
        let inner = name.hasSuffix(".epub") ? "META-INF/license.lcpl" : "license.lcpl"
        return try await runProcess([unzip, "-p", try Fixtures.path("readium/\(name)"), inner]).output
    }

    static let publications = [
        "lcp/wasteland-otf-obf_LCP_dan.epub", "lcp/daisy-test.lcpdf", "lcp/daisy-mmenu.lcpdf", "lcp/audiotest.lcpa",
    ]
    /// Licenses of the layout of 1.0.
    static let licenses = ["lcp/edrlab-license1.lcpl", "lcp/prod-profile-1.0.lcpl", "lcp/wasteland-otf-obf_LCP_dan.lcpl"]
}

func hexDigest(_ bytes: [UInt8]) -> String { Hex.encode(SHA256.hash(bytes.rawSpan)) }

extension Secret {
    var hexDigest: String { withBytes { Hex.encode(SHA256.hash($0)) } }
}
