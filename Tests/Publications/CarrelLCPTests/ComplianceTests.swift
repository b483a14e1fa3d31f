// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelHTTPClient
import CarrelJSON
import CarrelPublication
import CarrelStore
import CarrelTesting
import CarrelThreads
import ProtectedPublications
import Testing

@testable import CarrelLCP

@Suite("The compliance check")
struct ComplianceTests {
    private let directory = TemporaryDirectory()
    private let server = LicenseStatusServer()

    private func checker(_ provider: TestProvider, isOffline: Bool = true) throws -> ComplianceChecker {
        var checker = ComplianceChecker(client: HTTPClient())
        checker.profiles = try provider.profiles
        checker.passphrase = "open sesame"
        checker.isOffline = isOffline
        return checker
    }

    private func failures(_ checks: [ComplianceCheck]) -> [String] {
        checks.compactMap { if case .failed = $0.outcome { $0.name } else { nil } }
    }

    private func check(_ license: [UInt8], _ checker: ComplianceChecker) async throws -> [ComplianceCheck] {
        directory.write("a.lcpl", license)
        return try await checker.check(PublicationAsset(path: directory.file("a.lcpl")))
    }

    @Test func `finds nothing wrong with what is right`() async throws {
        let provider = try await TestProvider()
        let signed = LicenseProvider(certificate: provider.certificates.directory.read("provider.der") ?? []) {
            try await provider.certificates.sign($0, with: "provider")
        }
        let made = try await ProtectedPublication.epub(
            at: directory.file("book.epub"),
            chapters: 2,
            .lcp(signed, LicenseProvider.Terms())
        )
        let checks = try await checker(provider).check(PublicationAsset(path: made.path))
        #expect(failures(checks) == [])
        let passed = Set(checks.filter { $0.outcome == .passed }.map(\.name))
        #expect(
            passed.isSuperset(of: [
                "license.schema", "license.provider", "license.profile", "license.content-key", "license.certificate",
                "license.signature", "license.user", "license.rights", "license.key-check", "package.encryption", "package.clear",
                "package.codecs",
            ])
        )
    }

    @Test(
        arguments: [
            ("license.provider", ["provider": "a name"]), ("license.user", ["user": ["id": "1", "email": "a@example.com"]]),
            ("license.user", ["user": ["name": "A"]]),
            ("license.rights", ["rights": ["start": "2026-07-01T00:00:00Z", "end": "2026-06-01T00:00:00Z"]]),
        ] as [(String, [String: JSON])]
    )
    func `finds what is wrong`(name: String, changes: [String: JSON]) async throws {
        let provider = try await TestProvider()
        var all: [String: JSON?] = ["user": ["id": "1"]]
        for (name, value) in changes { all[name] = value }
        let checks = try await check(try await provider.license(all), checker(provider))
        #expect(failures(checks) == [name])
    }

    @Test func `finds another passphrase, a changed license and a foreign certificate`() async throws {
        let provider = try await TestProvider()
        let license = try await provider.license(["user": ["id": "1"]])
        var other = try checker(provider)
        other.passphrase = "another"
        #expect(failures(try await check(license, other)) == ["license.key-check"])
        var changed = license
        changed.replace("2026-06-01T10", with: "2026-06-01T11")
        #expect(failures(try await check(changed, checker(provider))) == ["license.signature"])
        var foreign = try checker(provider)
        foreign.profiles = ProfileRegistry()
        #expect(failures(try await check(license, foreign)) == ["license.certificate"])
        #expect(failures(try await check(Array("{}".utf8), foreign)) == ["license.schema"])
    }

    @Test func `asks servers unless it may not, and registers a device only when it is told to`() async throws {
        let provider = try await TestProvider()
        try server.start()
        let license = try await provider.license(
            ["user": ["id": "1"], "issued": "2026-11-01T10:00:00Z"],
            links: [["rel": "status", "href": .string("\(server.base)/status"), "type": .string(StatusDocument.mediaType)]]
        )
        server.state.withLock { $0.license = license }
        var checker = try checker(provider, isOffline: false)
        var checks = try await check(license, checker)
        let right = ["links.status", "status.document", "status.license", "status.fresh-license", "status.times"]
        for name in right {
            #expect(checks.contains(ComplianceCheck(name, .passed)), "\(name)")
        }
        // http, and addresses that lead nowhere
        #expect(failures(checks) == ["links.status-https", "links.hint", "links.publication"])
        #expect(server.asked("register").isEmpty)
        checker.registers = true
        checks = try await check(license, checker)
        #expect(checks.contains(ComplianceCheck("status.register", .passed)))
        #expect(failures(checks).contains("status.register-nameless"))
        #expect(server.asked("register").count == 3)
        checker.isOffline = true
        checks = try await check(license, checker)
        #expect(server.asked("register").count == 3)
        // links of a license without a trusted signature are never followed
        checker.isOffline = false
        checker.profiles = ProfileRegistry()
        let before = (server.asked("status").count, server.asked("license").count)
        checks = try await check(license, checker)
        #expect(checks.contains { $0.name == "links" && $0.outcome != .passed })
        #expect(server.asked("status").count == before.0)
        #expect(server.asked("license").count == before.1)
        #expect(server.asked("register").count == 3)
        await server.stop()
    }

    @Test func `renews and gives back only when it is told to, and looks what becomes of it`() async throws {
        let provider = try await TestProvider()
        try server.start()
        let status: [JSON] = [
            ["rel": "status", "href": .string("\(server.base)/status"), "type": .string(StatusDocument.mediaType)]
        ]
        func license(until end: String, updated: String) async throws -> [UInt8] {
            try await provider.license(
                [
                    "user": ["id": "1"], "issued": "2026-11-01T10:00:00Z", "updated": .string(updated),
                    "rights": ["end": .string(end)],
                ],
                links: status
            )
        }
        let first = try await license(until: "2026-12-01T00:00:00Z", updated: "2026-11-01T10:00:00Z")
        let longer = try await license(until: "2027-01-01T00:00:00Z", updated: "2026-11-18T00:00:00Z")
        server.state.withLock { $0.license = first }
        var checker = try checker(provider, isOffline: false)
        func outcomes() async throws -> [String: ComplianceCheck.Outcome] {
            let all = try await check(first, checker).filter { $0.name.hasPrefix("status.re") }
            return Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0.outcome) })
        }
        func failed(_ outcome: ComplianceCheck.Outcome?) -> Bool { if case .failed = outcome { true } else { false } }

        _ = try await outcomes()
        #expect(server.asked("renew").isEmpty && server.asked("return").isEmpty)
        // a server that says yes and changes nothing
        checker.renews = true
        var found = try await outcomes()
        #expect(found["status.renew"] == .passed)
        #expect(failed(found["status.renew-times"]) && failed(found["status.renew-end"]))
        server.state.withLock { $0.renewed = (longer, "2026-11-18T00:00:00Z") }
        found = try await outcomes()
        for name in ["status.renew", "status.renew-times", "status.renew-end"] { #expect(found[name] == .passed, "\(name)") }
        server.state.withLock { $0.failures["renew"] = (.forbidden, "{}") }
        found = try await outcomes()
        #expect(failed(found["status.renew"]))
        #expect(server.asked("return").isEmpty)

        checker.renews = false
        checker.givesBack = true
        found = try await outcomes()
        #expect(found["status.return"] == .passed)
        #expect(failed(found["status.return-times"]))
        server.state.withLock { ($0.status, $0.returned) = ("active", "2026-11-19T00:00:00Z") }
        found = try await outcomes()
        for name in ["status.return", "status.return-times", "status.return-kept"] { #expect(found[name] == .passed, "\(name)") }
        await server.stop()
    }

    @Test func `finds a certificate that was revoked, by a list that is at hand or that the certificate leads to`() async throws {
        try server.start()
        let provider = try await TestProvider("crlDistributionPoints = URI:\(server.base)/list.crl")
        let license = try await provider.license(
            ["user": ["id": "1"]],
            links: [["rel": "status", "href": .string("\(server.base)/status"), "type": .string(StatusDocument.mediaType)]]
        )
        let name = "license.revocation"
        func outcome(_ checker: ComplianceChecker) async throws -> ComplianceCheck.Outcome? {
            try await check(license, checker).first { $0.name == name }?.outcome
        }
        func isSkipped(_ outcome: ComplianceCheck.Outcome?) -> Bool { if case .skipped = outcome { true } else { false } }
        var checker = try checker(provider)
        #expect(isSkipped(try await outcome(checker)), "offline it is no fault")
        checker.isOffline = false
        #expect(isSkipped(try await outcome(checker)), "nor where there is no list")
        let empty = try await provider.revocationList()
        server.state.withLock { $0.list = empty }
        #expect(try await outcome(checker) == .passed)
        let foreign = try await TestProvider().revocationList()
        server.state.withLock { $0.list = foreign }
        #expect(isSkipped(try await outcome(checker)), "by another root it says nothing")
        checker.revocationListAddresses = ["\(server.base)/list.crl"]
        #expect(
            try await outcome(checker)
                == .skipped("the list at the address that was given is not signed by the certificate's root")
        )
        checker.revocationListAddresses = []
        let full = try await provider.revocationList(["provider"])
        server.state.withLock { $0.list = full }
        let before = server.asked("status").count
        let checks = try await check(license, checker)
        #expect(failures(checks) == [name])
        #expect(server.asked("status").count == before, "nothing is asked of the addresses of such a license")
        server.state.withLock { $0.list = nil }
        checker.isOffline = true
        checker.revocationLists = [try RevocationList(full)]
        #expect(failures(try await check(license, checker)) == [name])
        await server.stop()
    }

    @Test func `looks into the lists that this device keeps, by which publications are opened`() async throws {
        let provider = try await TestProvider()
        let license = try await provider.license(["user": ["id": "1"]])
        let name = "license.revocation-kept"
        var checker = try checker(provider)
        func outcome() async throws -> ComplianceCheck.Outcome? {
            try await check(license, checker).first { $0.name == name }?.outcome
        }
        let none = ComplianceCheck.Outcome.skipped(
            "no list of revoked certificates that its root signed is kept on this device"
        )
        #expect(try await outcome() == none)
        let store = LCPStore(path: directory.file("lcp.sqlite"))
        checker.store = store
        #expect(try await outcome() == none)
        func keep(_ list: [UInt8], from url: String) async throws {
            try await store.keep(try RevocationList(list), from: url, at: .now())
        }
        try await keep(try await TestProvider().revocationList(["provider"]), from: "https://other.example")
        #expect(try await outcome() == none, "of another root")
        try await keep(try await provider.revocationList(digest: "sha1"), from: "https://weak.example")
        #expect(try await outcome() == .skipped("the list of revoked certificates is signed with a digest that was broken"))
        try await keep(try await provider.revocationList(), from: "https://good.example")
        #expect(try await outcome() == .passed)
        // one that cannot be read any more may be the one that takes the certificate back
        let database = try SQLiteDatabase(path: directory.file("lcp.sqlite"), migrations: LCPStore.migrations)
        let broken = SQL("UPDATE lcp_revocation_list SET der = $1 WHERE url = 'https://other.example'")
        try await database.write { try $0.run(broken, [.blob([0x30, 0x03])]) }
        await database.close()
        let url = "https://other.example"
        #expect(try await outcome() == .skipped("the list from \(url) that is kept on this device cannot be read"))
        try await keep(try await provider.revocationList(["provider"]), from: "https://later.example")
        let checks = try await check(license, checker)
        #expect(failures(checks) == [name])
        #expect(checks.contains(ComplianceCheck("links", .skipped("the license is not to be trusted"))))
        await store.close()
        let unusable = LCPStore { throw LCPError(.store, "it is broken") }
        checker.store = unusable
        guard case .skipped(let reason) = try await outcome() else { return #expect(Bool(false), "it cannot be read") }
        #expect(reason.contains("the database of licenses cannot be used"))
    }

    @Test func `accepts only a current, complete list by the issuer as proof that a certificate was not revoked`() async throws {
        let provider = try await TestProvider()
        let license = try await provider.license(["user": ["id": "1"]])
        let certificates = provider.certificates
        certificates.directory.write("other.key", try #require(certificates.directory.read("root.key")))
        let other = [
            "req", "-x509", "-new", "-key", certificates.directory.file("other.key"), "-subj", "/CN=other", "-days", "9",
        ]
        certificates.directory.write("other.pem", try await certificates.run(other, input: []))
        let partial = ["2.5.29.27=critical,ASN1:INTEGER:1", "2.5.29.28=critical,DER:30038201FF", "1.2.3.4=critical,ASN1:NULL"]
        let now = Instant.now()
        let hour = Duration.seconds(3600)
        for (words, clock, list) in [
            (nil, now, try await provider.revocationList()),
            (nil, now - hour, try await provider.revocationList()),
            ("has expired", now + hour * 24 * 31, try await provider.revocationList()),
            ("a day that has not come", now - hour * 25, try await provider.revocationList()),
            ("a digest that was broken", now, try await provider.revocationList(digest: "sha1")),
            ("another issuer", now, try await provider.revocationList(signer: "other")),
            ("another issuer", now, try await provider.revocationList(["provider"], signer: "other")),
            ("is not complete", now, try await provider.revocationList(extensions: partial[0])),
            ("is not complete", now, try await provider.revocationList(extensions: partial[1])),
            ("is not complete", now, try await provider.revocationList(extensions: partial[2])),
            ("does not say until when", now, try await provider.endlessList()),
            ("list that was given is not signed", now, try await TestProvider().revocationList()),
        ] as [(String?, Instant, [UInt8])] {
            var checker = ComplianceChecker(client: HTTPClient(), clock: ManualClock(clock))
            checker.profiles = try provider.profiles
            checker.isOffline = true
            checker.revocationLists = [try RevocationList(list)]
            let outcome = try await check(license, checker).first { $0.name == "license.revocation" }?.outcome
            switch outcome {
            case .passed: #expect(words == nil)
            case .skipped(let reason): #expect(words.map { reason.contains($0) } == true, "\(reason)")
            case .failed, nil: Issue.record("\(String(describing: outcome))")
            }
        }
        // whatever else is wrong with it, what it names was taken back
        for list in [
            try await provider.revocationList(["provider"], digest: "sha1"),
            try await provider.revocationList(["provider"], extensions: partial[0]),
        ] {
            var checker = try checker(provider)
            checker.revocationLists = [try RevocationList(list), try RevocationList(try await provider.revocationList())]
            #expect(failures(try await check(license, checker)) == ["license.revocation"])
        }
        // a good list does not hide the failure of another one
        var checker = try checker(provider)
        let foreign = try RevocationList(try await TestProvider().revocationList())
        checker.revocationLists = [try RevocationList(try await provider.revocationList()), foreign]
        let outcome = try await check(license, checker).first { $0.name == "license.revocation" }?.outcome
        #expect(outcome == .skipped("the list that was given is not signed by the certificate's root"))
    }
}
