// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelPublication
import CarrelTesting
import Testing

@testable import CarrelLCP

@Suite("A license document")
struct LicenseDocumentTests {
    private func license(_ changes: (inout JSONObject) -> Void) throws -> LicenseDocument {
        var object: JSONObject = [
            "id": "1", "issued": "2026-06-01T10:00:00.123456789+02:00", "provider": "provider",
            "encryption": [
                "profile": "http://readium.org/lcp/basic-profile",
                "content_key": ["algorithm": "a", "encrypted_value": "AAAA"],
                "user_key": ["algorithm": "b", "key_check": "AAAA", "value": "never shown"],
            ],
            "links": [["rel": "publication", "href": "https://example.com/a.epub"]],
            "signature": ["algorithm": "c", "certificate": "AAAA", "value": "AA AA\n"],
            "https://example.com/extension": ["kept": true],
        ]
        changes(&object)
        return try LicenseDocument(JSON.object(object).write())
    }

    @Test func `is accepted without a hint, with times to the nanosecond, and with unknown members`() throws {
        let license = try license { _ in }
        #expect(license.issued == Instant.parse("2026-06-01T08:00:00.123Z"))
        #expect(license.lastChange == license.issued)
        #expect(license.encryption.hint == "")
        #expect(license.links.first(withRelation: "hint") == nil)
        #expect(license.rights == (try LicenseRights(nil)))
        #expect(license.json["https://example.com/extension"]?["kept"]?.bool == true)
    }

    @Test(arguments: [
        "8e5ea4a9c12f65e33f4dccd25135d59ad4d1fda110dfc921aceab1c4f01bfab5",
        "jl6kqcEvZeM/TczSUTXVmtTR/aEQ38khrOqxxPAb+rU=",
    ])
    func `has links with a hash in base 16 or 64, a length that may be a text, and one or more relations`(hash: String) throws {
        let license = try license { object in
            object["links"] = [
                [
                    "rel": ["publication", "https://example.com/rel"], "href": "https://example.com/a.epub", "length": "752692",
                    "hash": .string(hash), "type": "application/epub+zip", "title": "A", "templated": false,
                ],
                ["rel": "status", "href": "https://example.com/status{?id}", "templated": true, "length": 12], "no link",
            ]
        }
        let link = try #require(license.links.first(withRelation: "https://example.com/rel"))
        #expect(link.hash.map { Hex.encode($0) } == "8e5ea4a9c12f65e33f4dccd25135d59ad4d1fda110dfc921aceab1c4f01bfab5")
        #expect(link.length?.byteCount == 752_692)
        #expect(license.links.count == 2)
        #expect(license.links[1].isTemplated)
        #expect(license.links[1].length?.byteCount == 12)
    }

    @Test(arguments: [("print", -1), ("copy", -5)])
    func `knows no limit where its rights are missing or negative`(name: String, number: Int) throws {
        let license = try license { $0["rights"] = .object([name: .integer(number)]) }
        #expect(license.rights.print == nil)
        #expect(license.rights.copy == nil)
        let none = try self.license { $0["rights"] = ["print": 0, "copy": 10, "end": "2026-06-01T10:00:00Z"] }
        #expect(none.rights.print == 0)
        #expect(none.rights.copy == 10)
        #expect(none.rights.end != nil)
    }

    @Test(arguments: ["copy", "print"], [1.5, "10", true, ["number": 1], 1e30] as [JSON])
    func `is refused unless the limits of copying and printing are whole numbers`(name: String, value: JSON) throws {
        #expect(throws: LCPError(.malformedLicense, "")) {
            try license { $0["rights"] = .object([name: value]) }
        }
    }

    @Test(arguments: ["99999999999999999999", "-1e3", "1e400"])
    func `is refused when what may be copied is a number that cannot be counted`(number: String) throws {
        let text = String(decoding: try license { $0["rights"] = ["copy": 1234] }.bytes, as: UTF8.self)
        let bytes = Array(text.split(separator: "1234", omittingEmptySubsequences: false).joined(separator: number).utf8)
        #expect(throws: LCPError(.malformedLicense, "")) { try LicenseDocument(bytes) }
    }

    @Test func `knows no limit where its rights are null`() throws {
        let license = try license { $0["rights"] = ["copy": .null, "print": .null] }
        #expect(license.rights == (try LicenseRights(nil)))
    }

    @Test(arguments: ["id", "issued", "provider", "encryption", "links", "signature"])
    func `is refused without what it must have`(name: String) {
        #expect(throws: LCPError(.malformedLicense, "")) { try license { $0[name] = nil } }
        #expect(throws: LCPError(.malformedLicense, "")) { try license { $0[name] = 1 } }
    }

    @Test func `of the layout from before version 1 is refused in plain words`() throws {
        let bytes = try Fixtures.bytes("readium/lcp/legacy-2015-links-object-profile-1.0.lcpl")
        let error = #expect(throws: LCPError.self) { try LicenseDocument(bytes) }
        #expect(error?.code == .malformedLicense)
        #expect(error?.message.contains("before version 1.0") == true)
    }

    @Test(arguments: ["", "{", "[]", "null", "<html>Log in to this network</html>"])
    func `is refused when it is none`(text: String) {
        #expect(throws: LCPError(.malformedLicense, "")) { try LicenseDocument(Array(text.utf8)) }
    }

    @Test(arguments: ["lcp/palace/license-fb.json", "lcp/palace/license-ul.json"])
    func `of commercial providers is read`(name: String) throws {
        let license = try LicenseDocument(try Fixtures.bytes("readium/\(name)"))
        #expect(license.links.first(withRelation: "status") != nil)
        #expect(license.rights.end != nil)
    }

    @Test(arguments: FixtureOracles.publications + FixtureOracles.licenses)
    func `of others is read as an independent program reads it`(name: String) async throws {
        let oracles = try FixtureOracles()
        let group = FixtureOracles.publications.contains(name) ? "publications" : "licenses"
        let oracle = oracles[group, name]
        let license = try LicenseDocument(try await FixtureOracles.license(name))
        #expect(license.id == oracle["license_id"]?.string)
        #expect(license.encryption.profile == oracle["profile"]?.string)
        #expect(license.issued == oracle["issued"]?.string.flatMap { Instant.parse($0) })
        #expect(license.signature.value.count == oracle["signature_bytes"]?.int)
        #expect(license.signature.algorithm.hasSuffix(oracle["signature_algorithm"]?.string ?? "?"))
        let canonical = CanonicalForm.strict.bytes(of: license.json)
        #expect(canonical.count == oracle["canonical_bytes"]?.int)
        #expect(hexDigest(canonical) == oracle["canonical_sha256"]?.string)
    }
}
