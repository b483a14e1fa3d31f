// SPDX-License-Identifier: Apache-2.0

import CarrelHTTPClient
import CarrelJSON
import CarrelPublication
import CarrelTesting
import CarrelThreads
import ProtectedPublications
import Testing

@testable import CarrelLCP

/// The schemas of LCP's documents (readium/lcp-specs), and the documents of these tests.
@Suite("A license or status document by its schema")
struct LicenseSchemaTests {
    private let directory = TemporaryDirectory()

    private static let licenses =
        FixtureOracles.licenses + FixtureOracles.publications + [
            "lcp/legacy-2015-links-object-profile-1.0.lcpl", "lcp/palace/license-fb.json", "lcp/palace/license-ul.json",
            "sniffing/lcpl.unknown",
        ]

    @Test func `is as good as the compliance check says, of others`() async throws {
        var documents: [String: [UInt8]] = [:]
        for name in Self.licenses {
            documents[name] =
                name.hasPrefix("sniffing") ? try Fixtures.bytes("readium/\(name)") : try await FixtureOracles.license(name)
        }
        let faults = try await JSONSchemas.faults(of: documents, by: "schema/lcp/license.schema.json", in: directory)
        // the digest of the passphrase is in these; links are an object; there is neither a signature nor a publication
        #expect(
            faults.mapValues { Set($0) } == [
                "lcp/wasteland-otf-obf_LCP_dan.lcpl": ["/encryption/user_key additionalProperties"],
                "lcp/wasteland-otf-obf_LCP_dan.epub": ["/encryption/user_key additionalProperties"],
                "lcp/legacy-2015-links-object-profile-1.0.lcpl": ["/links type"],
                "sniffing/lcpl.unknown": [" required", "/links contains"],
            ]
        )
        var checker = ComplianceChecker(client: HTTPClient())
        checker.isOffline = true
        for (name, bytes) in documents {
            let asset = PublicationAsset(path: directory.write("a.lcpl", bytes))
            let check = try await checker.check(asset).first { $0.name == "license.schema" }
            let isGood = check?.outcome == .passed
            #expect(isGood == (faults[name] == nil), "\(name)")
        }
    }

    @Test func `match received documents, except for one that is never issued`() async throws {
        let names =
            ["edrlab-status1"]
            + ["fb-active", "fb-book-adobe", "fb-early-return", "ul-active", "ul-returned"].map { "palace/status-\($0)" }
        var documents: [String: [UInt8]] = [:]
        for name in names {
            documents[name] = try Fixtures.bytes("readium/lcp/\(name).json")
            #expect(throws: Never.self, "\(name)") { try StatusDocument(documents[name] ?? []) }
        }
        let faults = try await JSONSchemas.faults(of: documents, by: "schema/lcp/status.schema.json", in: directory)
        // a returned loan no longer links to a license
        #expect(faults == ["palace/status-fb-early-return": ["/links contains"]])
    }

    @Test func `is one where the tests make it`() async throws {
        let test = try await TestProvider()
        let signed = LicenseProvider(certificate: test.certificates.directory.read("provider.der") ?? []) {
            try await test.certificates.sign($0, with: "provider")
        }
        var terms = LicenseProvider.Terms()
        terms.rights = #"{"copy":10,"end":"2027-01-01T00:00:00Z","print":5}"#
        terms.updated = "2026-11-02T10:00:00Z"
        let licenses = [
            "member by member": try await test.license(["rights": ["copy": 10, "print": 3], "user": ["id": "1"]]),
            "canonical": try await signed.license(
                terms,
                key: [UInt8](repeating: 1, count: 32),
                type: "application/epub+zip",
                length: 9
            ),
        ]
        #expect(try await JSONSchemas.faults(of: licenses, by: "schema/lcp/license.schema.json", in: directory) == [:])
        let server = LicenseStatusServer()
        try server.start()
        var documents: [String: [UInt8]] = [:]
        for status in ["ready", "active", "revoked", "returned", "cancelled", "expired"] {
            server.state.withLock { $0.status = status }
            documents[status] = try await HTTPClient().send(ClientRequest("\(server.base)/status")).body
        }
        await server.stop()
        #expect(documents.count == 6)
        #expect(try await JSONSchemas.faults(of: documents, by: "schema/lcp/status.schema.json", in: directory) == [:])
    }
}
