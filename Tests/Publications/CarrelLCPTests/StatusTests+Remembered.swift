// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelPublication
import CarrelStore
import CarrelTesting
import CarrelThreads
import ProtectedPublications
import Testing

@testable import CarrelLCP

/// The memory of a device about a license, and the licenses for which it counts.
extension StatusTests {
    private func refusal(_ publication: Publication) -> String? {
        (publication.protectionError as? Publication.OpeningError)?.code.identifier
    }

    @Test(arguments: [
        #""updated":{"license":"2026-11-01T10:00:00Z","status":"yesterday"}"#,
        #""updated":{"license":"soon","status":"2026-11-01T10:00:00Z"}"#,
        #""updated":"2026-11-01T10:00:00Z","potential_rights":{"end":"13.13.2026"}"#,
        #""potential_rights":[],"events":[{"type":"revoke","timestamp":"once"}]"#,
    ])
    func `is revoked however its other times are written`(members: String) async throws {
        try await withShelf { shelf in
            server.state.withLock { state in
                state.statusBody = #"{"id":"license-1","status":"revoked","message":"",\#(members),"links":[]}"#
            }
            let closed = try await open(shelf, try service(shelf))
            #expect(refusal(closed) == "lcp.revoked")
        }
    }

    @Test func `stays closed without the server once an open publication was told that it was revoked`() async throws {
        try await withShelf { shelf in
            let license = try #require(try await open(shelf, try service(shelf)).lcpLicense)
            server.state.withLock { $0.status = "revoked" }
            try await license.update()
            let closed = try await open(shelf, try service(shelf, isOffline: true))
            #expect(refusal(closed) == "lcp.revoked")
            server.state.withLock { $0.status = "active" }
            try await license.update()
            #expect(try await !open(shelf, try service(shelf, isOffline: true)).isRestricted)
        }
    }

    @Test func `stays closed without the server once a renewal was refused because it was revoked`() async throws {
        try await withShelf { shelf in
            let license = try #require(try await open(shelf, try service(shelf)).lcpLicense)
            server.state.withLock { state in
                state.status = "revoked"
                state.failures["renew"] = (.forbidden, "{}")
            }
            await #expect(throws: LCPError.self) { try await license.renew() }
            let closed = try await open(shelf, try service(shelf, isOffline: true))
            #expect(refusal(closed) == "lcp.revoked")
        }
    }

    @Test func `does not come back without the server once it was renewed`() async throws {
        try await withShelf { shelf in
            let old = try #require(directory.read("book.epub"))
            let new = try await renewed(shelf, until: "2027-01-15T00:00:00Z", updated: "2026-11-18T00:00:00Z")
            server.state.withLock { $0.renewed = (new, "2026-11-18T00:00:00Z") }
            let license = try #require(try await open(shelf, try service(shelf)).lcpLicense)
            try await license.renew()
            #expect(try await !open(shelf, try service(shelf, isOffline: true)).isRestricted)
            directory.write("book.epub", old)
            let closed = try await open(shelf, try service(shelf, isOffline: true))
            #expect(refusal(closed) == "lcp.superseded")
        }
    }

    /// Another provider under the same root, which writes the first one's name and identifiers into its licenses.
    private func impostor(_ shelf: Shelf) async throws -> LicenseProvider {
        let certificates = try #require(shelf.certificates)
        let made = try await certificates.make(
            "impostor",
            by: "root",
            extensions: TestCertificates.signer,
            key: .rsa(bits: 2048)
        )
        return LicenseProvider(certificate: made) { try await certificates.sign($0, with: "impostor") }
    }

    @Test func `has nothing from one of the same name and provider that another certificate signed`() async throws {
        try await withShelf { shelf in
            var terms = shelf.terms
            terms.updated = "2026-11-10T00:00:00Z"
            let impostor = try await impostor(shelf)
            let foreign = try LicenseDocument(
                try await impostor.license(terms, key: shelf.book.contentKey, type: "application/epub+zip")
            )
            let own = try LicenseDocument(try #require(shelf.book.license))
            #expect(foreign.id == own.id && foreign.provider == own.provider && foreign.signer != own.signer)
            let store = LCPStore(path: directory.file("lcp.sqlite"))
            try await store.keep(foreign)
            try await store.noteStanding(of: foreign, refusal: LCPError(.revoked, ""))
            #expect(try await store.standing(of: own) == nil)
            #expect(try await store.license(for: own) == nil)
            #expect(try await store.standing(of: foreign)?.refusal?.code == .revoked)
            await store.close()
            let publication = try await open(shelf, try service(shelf, isOffline: true))
            #expect(!publication.isRestricted)
            #expect(publication.lcpLicense?.document.updated == nil)
        }
    }

    @Test func `has a newer one of another certificate that came in its own place, and counts as that stands`() async throws {
        try await withShelf { shelf in
            var terms = shelf.terms
            terms.updated = "2026-11-10T00:00:00Z"
            terms.rights = #"{"end":"2027-02-01T00:00:00Z"}"#
            let next = try await impostor(shelf)
            let fresh = try LicenseDocument(
                try await next.license(terms, key: shelf.book.contentKey, type: "application/epub+zip")
            )
            let own = try LicenseDocument(try #require(shelf.book.license))
            let store = LCPStore(path: directory.file("lcp.sqlite"))
            try await store.noteStanding(of: fresh, after: own, refusal: nil)
            #expect(try await store.standing(of: own)?.refusal(of: own)?.code == .superseded)
            try await store.keep(fresh, for: own)
            await store.close()
            let publication = try await open(shelf, try service(shelf, isOffline: true))
            #expect(!publication.isRestricted)
            #expect(publication.lcpLicense?.document.rights.end == Instant.parse("2027-02-01T00:00:00Z"))
        }
    }

    /// A store as an earlier version left it: the state of a license, with a newer license.
    private func earlierStore(
        _ own: LicenseDocument,
        newest: Instant,
        _ refusal: String?,
        _ new: [UInt8]
    ) async throws -> LCPStore {
        let path = directory.file("lcp.sqlite")
        let old = try SQLiteDatabase(path: path, migrations: Array(LCPStore.migrations.prefix(2)))
        let key: [SQLValue] = [.text(own.id), .text(own.provider)]
        try await old.write { transaction in
            try transaction.run(
                SQL("INSERT INTO lcp_standing VALUES ($1, $2, $3, $4, '')"),
                key + [.instant(newest), SQLValue(refusal)]
            )
            try transaction.run(
                SQL("INSERT INTO lcp_license (id, provider, document) VALUES ($1, $2, $3)"),
                key + [.blob(new)]
            )
        }
        await old.close()
        return LCPStore(path: path)
    }

    @Test func `counts as it stood in the store of an earlier version, until more is known`() async throws {
        try await withShelf { shelf in
            let own = try LicenseDocument(try #require(shelf.book.license))
            let new = try await renewed(shelf, until: "2027-01-15T00:00:00Z", updated: "2026-11-18T00:00:00Z")
            let store = try await earlierStore(own, newest: own.issued, "lcp.revoked", new)
            #expect(try await store.standing(of: own)?.refusal?.code == .revoked)
            #expect(try await store.license(for: own) == new)
            // the license is seen, and its provider has not said anything since
            try await store.noteSeen(own)
            #expect(try await store.standing(of: own)?.refusal?.code == .revoked)
            try await store.noteStanding(of: own, refusal: nil)
            #expect(try await store.standing(of: own)?.refusal == nil)
            await store.close()
        }
    }

    @Test func `counts as the newest that an earlier version knew, though its signer's is older`() async throws {
        try await withShelf { shelf in
            let own = try LicenseDocument(try #require(shelf.book.license))
            let middle = try await renewed(shelf, until: "2027-01-01T00:00:00Z", updated: "2026-11-10T00:00:00Z")
            let new = try await renewed(shelf, until: "2027-01-15T00:00:00Z", updated: "2026-11-18T00:00:00Z")
            let newest = try LicenseDocument(new)
            let store = try await earlierStore(own, newest: newest.lastChange, nil, new)
            try await store.noteSeen(own)
            #expect(try await store.standing(of: own)?.newest == newest.lastChange)
            #expect(try await store.standing(of: own)?.refusal(of: own)?.code == .superseded)
            try await store.noteStanding(of: LicenseDocument(middle), refusal: nil)
            #expect(try await store.standing(of: own)?.newest == newest.lastChange)
            try await store.keep(LicenseDocument(middle), for: own)
            #expect(try await store.license(for: own) == new)
            let later = try await renewed(shelf, until: "2027-02-01T00:00:00Z", updated: "2026-11-19T00:00:00Z")
            try await store.keep(LicenseDocument(later), for: own)
            #expect(try await store.license(for: own) == later)
            await store.close()
        }
    }
}
