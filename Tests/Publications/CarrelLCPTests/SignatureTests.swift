// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelJSON
import CarrelTesting
import Testing

@testable import CarrelLCP

@Suite("A license's signature")
struct SignatureTests {
    @Test(arguments: FixtureOracles.publications + ["lcp/edrlab-license1.lcpl", "lcp/wasteland-otf-obf_LCP_dan.lcpl"])
    func `of others holds, though its certificate expired since`(name: String) async throws {
        let license = try UnverifiedLicense(try await FixtureOracles.license(name))
        let verified = try license.verified(by: ProfileRegistry())
        #expect(verified.anchor.name == "EDRLab test root of 2016")
        let end = try #require(Instant.parse("2026-03-24T00:00:00Z"))
        #expect(verified.certificate.validity.map { $0.upperBound < end } == true)
    }

    @Test(arguments: ["epub-lcp.unknown", "pdf-lcp.unknown"])
    func `in a package without a name holds too`(name: String) async throws {
        let unzip = try requirePeer("unzip")
        let inner = name.hasPrefix("epub") ? "META-INF/license.lcpl" : "license.lcpl"
        let path = try Fixtures.path("readium/sniffing/\(name)")
        let bytes = try await runProcess([unzip, "-p", path, inner]).output
        _ = try UnverifiedLicense(bytes).verified(by: ProfileRegistry())
    }

    @Test func `by a profile that is not registered is not looked at`() async throws {
        let license = try UnverifiedLicense(try await FixtureOracles.license("lcp/prod-profile-1.0.lcpl"))
        #expect(throws: LCPError(.unsupportedProfile, "")) { try license.verified(by: ProfileRegistry()) }
    }

    @Test func `of another profile is valid if its roots and algorithms are registered`() async throws {
        let license = try UnverifiedLicense(try await FixtureOracles.license("lcp/prod-profile-1.0.lcpl"))
        let anchors = try TrustAnchor.all(in: try Fixtures.bytes("readium/pki/cacert-edrlab-prod.pem"))
        func registry(_ signatures: Set<LCPSignatureAlgorithm>) -> ProfileRegistry {
            ProfileRegistry([
                LCPProfile(uri: license.document.encryption.profile, anchors: anchors, signatures: signatures) { $0 }
            ])
        }
        // ECDSA on P-521, R and S side by side
        let verified = try license.verified(by: registry([.ecdsaSHA256]))
        #expect(verified.certificate.revocationListAddresses == ["http://crl.edrlab.telesec.de/rl/EDRLab_CA.crl"])
        #expect(throws: LCPError(.signature, "")) { try license.verified(by: registry([.rsaSHA256])) }
        let others = LCPProfile(
            uri: license.document.encryption.profile,
            anchors: TrustAnchor.edrlabTestRoots,
            signatures: [.ecdsaSHA256]
        ) { $0 }
        #expect(throws: LCPError(.certificate, "")) { try license.verified(by: ProfileRegistry([others])) }
    }

    @Test func `is checked with the key of the root, not with its name`() throws {
        let roots = try ["2016", "2026"].map { year in
            try Certificate.all(in: try Fixtures.bytes("readium/pki/cacert-edrlab-test-\(year).pem"))[0]
        }
        #expect(TrustAnchor.edrlabTestRoots.map(\.subjectPublicKeyInfo) == roots.map(\.subjectPublicKeyInfo))
        for (place, year) in ["2016", "2026"].enumerated() {
            let provider = try Certificate.all(in: try Fixtures.bytes("readium/pki/cert-edrlab-test-\(year).pem"))[0]
            #expect(provider.isSigned(by: roots[place].subjectPublicKeyInfo))
            #expect(!provider.isSigned(by: roots[1 - place].subjectPublicKeyInfo))
        }
        let (root, provider) = ("readium/pki/lcp-rs/root_ca.der", "readium/pki/lcp-rs/provider.der")
        let issuer = try Certificate(der: try Fixtures.bytes(root)).subjectPublicKeyInfo
        #expect(try Certificate(der: try Fixtures.bytes(provider)).isSigned(by: issuer))
    }

    /// Certificates that their own key signed, with SHA-1, and that were good for a month or a year.
    @Test(arguments: [("sample_rsa.crt", "2014-06-01T00:00:00Z"), ("sample_ecdsa.crt", "2016-03-20T00:00:00Z")])
    func `of a certificate of an old signer is invalid, even if that certificate is trusted`(
        name: String,
        time: String
    ) async throws {
        let file = try Fixtures.bytes("readium/pki/\(name)")
        let certificate = try Certificate.all(in: file)[0]
        let day = try #require(Instant.parse(time))
        let validity = try #require(certificate.validity)
        #expect(validity.contains(day) && !validity.contains(day + .seconds(2 * 365 * 86_400)))
        #expect(!TrustAnchor.edrlabTestRoots.contains { certificate.isSigned(by: $0.subjectPublicKeyInfo) })
        // PEM without its first and last line (RFC 7468 §2)
        let lines = String(decoding: file, as: UTF8.self).split(separator: "\n").filter { !$0.hasPrefix("-") }
        let signed = try await TestProvider().license(["issued": .string(time)])
        let json = try JSON.parse(signed.rawSpan)
        var license = json.object ?? JSONObject()
        var signature = license["signature"]?.object ?? JSONObject()
        signature["certificate"] = .string(lines.joined())
        license["signature"] = .object(signature)
        let document = try UnverifiedLicense(JSON.object(license).write())
        for anchors in [TrustAnchor.edrlabTestRoots, try TrustAnchor.all(in: file)] {
            let profile = LCPProfile(uri: LCPProfile.basicURI, anchors: anchors, signatures: [.rsaSHA256]) { $0 }
            #expect(throws: LCPError(.certificate, "")) { try document.verified(by: ProfileRegistry([profile])) }
        }
    }

    @Test func `holds for the very document only, and for a root that is trusted`() async throws {
        let provider = try await TestProvider()
        let bytes = try await provider.license(["rights": ["copy": 10]])
        let profiles = try provider.profiles
        _ = try UnverifiedLicense(bytes).verified(by: profiles)
        #expect(throws: LCPError(.certificate, "")) { try UnverifiedLicense(bytes).verified(by: ProfileRegistry()) }
        for (from, to) in [("\"copy\":10", "\"copy\":11"), ("license-1", "license-2"), ("What opens", "Who opens")] {
            let text = String(decoding: bytes, as: UTF8.self)
            let changed = try #require(text.split(separator: from, maxSplits: 1).count == 2 ? text : nil)
                .split(separator: from, maxSplits: 1).joined(separator: to)
            let license = try UnverifiedLicense(Array(changed.utf8))
            #expect(throws: LCPError(.signature, "")) { try license.verified(by: profiles) }
        }
        // the order of members and white space between them do not matter
        let reordered = try #require(JSON.parse(bytes.rawSpan).object).sorted { $0.name > $1.name }
        let pretty = JSON.object(JSONObject(reordered.map { ($0.name, $0.value) })).writePretty()
        _ = try UnverifiedLicense(pretty).verified(by: profiles)
    }

    @Test func `needs a certificate that was valid when the license was last changed`() async throws {
        let provider = try await TestProvider()
        let profiles = try provider.profiles
        let cases: [(issued: String, updated: String?, isValid: Bool)] = [
            ("2025-12-31T23:59:59Z", nil, false), ("2026-01-01T00:00:00Z", nil, true), ("2028-01-01T00:00:00Z", nil, true),
            ("2028-01-01T00:00:01Z", nil, false), ("2020-01-01T00:00:00Z", "2026-06-01T00:00:00Z", true),
            ("2026-06-01T00:00:00Z", "2029-01-01T00:00:00Z", false),
        ]
        for (issued, updated, isValid) in cases {
            let bytes = try await provider.license(["issued": .string(issued), "updated": updated.map(JSON.string)])
            let license = try UnverifiedLicense(bytes)
            if isValid {
                #expect(throws: Never.self) { try license.verified(by: profiles) }
            } else {
                #expect(throws: LCPError(.certificate, ""), "\(issued)") { try license.verified(by: profiles) }
            }
        }
    }

    @Test(arguments: ["sha1", "md5"])
    func `needs a certificate that is signed with a digest that still holds`(digest: String) async throws {
        let provider = try await TestProvider()
        try await provider.certificates.make(
            "weak",
            by: "root",
            extensions: TestCertificates.signer,
            key: .rsa(bits: 2048),
            digest: digest
        )
        let license = try UnverifiedLicense(try await provider.license(certificate: "weak"))
        #expect(throws: LCPError(.certificate, "")) { try license.verified(by: provider.profiles) }
    }

    /// The options of `openssl ca` for RSASSA-PSS, with the digest of its mask.
    private func pss(_ mask: String) -> [String] { ["-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_mgf1_md:\(mask)"] }

    @Test(arguments: [("sha256", "sha256", true), ("sha512", "sha512", true), ("sha1", "sha1", false), ("sha256", "sha1", false)])
    func `with RSASSA-PSS needs a digest that still holds, for its mask too`(digest: String, mask: String, holds: Bool)
        async throws
    {
        let provider = try await TestProvider()
        try await provider.certificates.make(
            "pss",
            by: "root",
            extensions: TestCertificates.signer,
            key: .rsa(bits: 2048),
            digest: digest,
            options: pss(mask)
        )
        let license = try UnverifiedLicense(try await provider.license(certificate: "pss"))
        if holds {
            _ = try license.verified(by: provider.profiles)
        } else {
            #expect(throws: LCPError(.certificate, "")) { try license.verified(by: provider.profiles) }
        }
        let list = try RevocationList(try await provider.revocationList(digest: digest, options: pss(mask)))
        #expect(list.hasWeakDigest == !holds)
        #expect(list.isSigned(by: try provider.anchor.subjectPublicKeyInfo))
    }

    @Test(arguments: [
        ("sha256", false), ("sha384", false), ("sha224", true), ("ripemd160", true), ("sha3-256", true), ("sha1", true),
    ])
    func `of a list of revoked certificates counts for less unless its digest is one that certificates may have`(
        digest: String,
        isWeak: Bool
    ) async throws {
        let provider = try await TestProvider()
        guard let bytes = try? await provider.revocationList(digest: digest) else {
            // not every openssl still signs with all of them
            #expect(isWeak)
            return
        }
        #expect(try RevocationList(bytes).hasWeakDigest == isWeak)
    }
}
