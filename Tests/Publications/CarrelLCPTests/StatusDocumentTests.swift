// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelJSON
import CarrelTesting
import Testing

@testable import CarrelLCP

@Suite("A status document")
struct StatusDocumentTests {
    @Test(arguments: [
        ("edrlab-status1.json", "ready", 0), ("palace/status-fb-active.json", "active", 0),
        ("palace/status-fb-book-adobe.json", "active", 0), ("palace/status-fb-early-return.json", "returned", 1),
        ("palace/status-ul-active.json", "active", -1), ("palace/status-ul-returned.json", "returned", 2),
    ])
    func `of others is read, whatever else is in it`(name: String, status: String, events: Int) throws {
        let document = try StatusDocument(try Fixtures.bytes("readium/lcp/\(name)"))
        #expect(document.status.rawValue == status)
        #expect(document.licenseUpdated != nil)
        if events >= 0 { #expect(document.events.count == events) }
        if name.contains("adobe") {
            let link = document.licenseLink(ProfileRegistry())
            #expect(link?.href.contains("/lcp/") == true)
        }
    }

    @Test func `leads to the license whose profile is known, and to none when no profile is`() throws {
        func document(_ links: String) throws -> StatusDocument {
            try StatusDocument(Array(#"{"id":"1","status":"active","links":[\#(links)]}"#.utf8))
        }
        func link(_ href: String, _ profile: String?) -> String {
            let member = profile.map { #","profile":"\#($0)""# } ?? ""
            return #"{"rel":"license","href":"\#(href)","type":"\#(LicenseDocument.mediaType)"\#(member)}"#
        }
        let basic = link("b", LCPProfile.basicURI)
        let closed = link("c", "http://readium.org/lcp/profile-1.0")
        #expect(try document("\(closed),\(basic)").licenseLink(ProfileRegistry())?.href == "b")
        #expect(try document("\(closed),\(link("a", nil))").licenseLink(ProfileRegistry())?.href == "a")
        #expect(try document(closed).licenseLink(ProfileRegistry()) == nil)
    }

    @Test(arguments: [
        ("http://h/{id}", "http://h/a%20b"), ("http://h/r{?id,name}", "http://h/r?id=a%20b&name=%C3%A9"),
        ("http://h/r{?end,id}", "http://h/r?id=a%20b"), ("http://h/r?x=1{&id,name}", "http://h/r?x=1&id=a%20b&name=%C3%A9"),
        ("http://h/r{?end}", "http://h/r"), ("http://h/r?x=1{?id}", "http://h/r?x=1&id=a%20b"), ("http://h/{", "http://h/{"),
        ("http://h/r", "http://h/r"),
    ])
    func `has addresses with room for the device`(template: String, address: String) {
        #expect(URITemplate.expand(template, ["id": "a b", "name": "é"]) == address)
    }
}

@Suite("The order in which a license is checked")
struct LicenseValidationTests {
    private static let now = Instant(milliseconds: 1_795_000_000_000)

    private func validation(
        _ provider: TestProvider,
        rights: String? = nil,
        isOffline: Bool = false
    ) async throws -> (LicenseValidation, VerifiedLicense) {
        let license = try UnverifiedLicense(
            try await provider.license(
                ["rights": rights.map { ["end": .string($0)] }],
                links: [["rel": "status", "href": "https://provider.example/status"]]
            )
        )
        let profiles = try provider.profiles
        let validation = LicenseValidation(license, profiles: profiles, isOffline: isOffline, now: Self.now)
        return (validation, try license.verified(by: profiles))
    }

    private func status(_ status: String, updated: String = "2026-06-01T10:00:00Z") throws -> StatusDocument {
        try StatusDocument(
            Array(
                #"""
                {"id":"license-1","status":"\#(status)","updated":{"license":"\#(updated)","status":"\#(updated)"},
                "links":[{"rel":"license","href":"https://provider.example/license"}]}
                """#.utf8
            )
        )
    }

    @Test func `sends no request before the signature is verified`() async throws {
        let provider = try await TestProvider()
        var (validation, license) = try await validation(provider)
        guard case .verify = validation.start() else { return #expect(Bool(false), "it does not begin with the signature") }
        let refused = validation.next(.verified(.failure(LCPError(.signature, ""))))
        guard case .refuse(let error) = refused else { return #expect(Bool(false), "it goes on without a signature") }
        #expect(error.code == .signature)
        guard case .fetchStatus = validation.next(.verified(.success(license))) else {
            return #expect(Bool(false), "it does not ask for the status")
        }
        _ = license
    }

    @Test func `lets a fresh license take the place of one whose certificate was revoked`() async throws {
        let provider = try await TestProvider()
        var (validation, _) = try await validation(provider)
        _ = validation.start()
        let action = validation.next(.verified(.failure(LCPError(.certificateRevoked, ""))))
        guard case .fetchStatus = action else { return #expect(Bool(false), "it does not ask for the status") }
        let next = validation.next(.status(.success(try status("active", updated: "2026-07-01T10:00:00Z"))))
        guard case .fetchLicense = next else { return #expect(Bool(false), "it does not ask for a license") }
        let changes: [String: JSON?] = ["updated": "2026-07-01T10:00:00Z"]
        let fresh = try UnverifiedLicense(try await provider.license(changes)).verified(by: provider.profiles)
        guard case .unlock = validation.next(.license(.success(fresh))) else {
            return #expect(Bool(false), "it does not take the license")
        }
        var (offline, _) = try await self.validation(provider, isOffline: true)
        _ = offline.start()
        guard case .refuse(let error) = offline.next(.verified(.failure(LCPError(.certificateRevoked, "")))) else {
            return #expect(Bool(false), "it opens what was revoked")
        }
        #expect(error.code == .certificateRevoked)
    }

    @Test(
        arguments: [
            ["id": "license-2"], ["provider": "https://other.example"], ["updated": "2026-05-01T10:00:00Z"], ["updated": nil],
        ] as [[String: JSON?]]
    )
    func `takes no fresh license that is another's, older or of the same age`(changes: [String: JSON?]) async throws {
        let provider = try await TestProvider()
        var (validation, license) = try await validation(provider)
        _ = validation.start()
        _ = validation.next(.verified(.success(license)))
        _ = validation.next(.status(.success(try status("active", updated: "2026-07-01T10:00:00Z"))))
        let all = ["updated": "2026-07-01T10:00:00Z"].merging(changes) { $1 }
        let fresh = try UnverifiedLicense(try await provider.license(all)).verified(by: provider.profiles)
        guard case .unlock(let taken) = validation.next(.license(.success(fresh))) else {
            return #expect(Bool(false), "it does not go on with its own")
        }
        #expect(taken.document == license.document)
        #expect(validation.fresh == nil)
    }

    @Test(
        arguments: [
            (status: "expired", end: "2026-12-01T00:00:00Z", updated: "2026-06-01T10:00:00Z", code: nil),
            (status: "expired", end: nil, updated: "2026-06-01T10:00:00Z", code: "lcp.expired"),
            (status: "expired", end: "2026-12-01T00:00:00Z", updated: "2026-06-02T10:00:00Z", code: "lcp.expired"),
            (status: "active", end: "2026-11-01T00:00:00Z", updated: "2026-06-01T10:00:00Z", code: "lcp.expired"),
            (status: "ready", end: "2026-11-01T00:00:00Z", updated: "2026-06-01T10:00:00Z", code: "lcp.expired"),
            (status: "returned", end: "2026-12-01T00:00:00Z", updated: "2026-06-01T10:00:00Z", code: "lcp.returned"),
            (status: "unheard of", end: nil, updated: "2026-06-01T10:00:00Z", code: "lcp.unknown-status"),
        ] as [(status: String, end: String?, updated: String, code: String?)]
    )
    func `prefers the license if it is not older than the status, and the status otherwise`(
        _ row: (status: String, end: String?, updated: String, code: String?)
    ) async throws {
        let provider = try await TestProvider()
        var (validation, license) = try await validation(provider, rights: row.end)
        _ = validation.start()
        _ = validation.next(.verified(.success(license)))
        var action = validation.next(.status(.success(try status(row.status, updated: row.updated))))
        // a fresh license that cannot be had
        if case .fetchLicense = action { action = validation.next(.license(.failure(LCPError(.unavailable, "")))) }
        switch action {
        case .refuse(let error): #expect(error.code.identifier == row.code)
        case .unlock: #expect(row.code == nil)
        default: #expect(Bool(false), "it is not done")
        }
    }
}
