// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelCatalog
import CarrelHTTP
import CarrelIngest
import CarrelJSON
import CarrelOrders
import CarrelPackager
import CarrelServer
import CarrelServerTesting
import CarrelStore
import CarrelTesting
import CarrelWorks
import Testing

/// Requests of an ingest outside the server process.
@Suite(.onBothDatabases)
struct `An accession` {
    private static let operatorPeer = Peer.local(userID: 0)

    private func post(
        _ test: TestService,
        _ kind: String,
        _ body: [UInt8],
        headers: HTTPFields = [:],
        peer: Peer = operatorPeer
    ) async throws -> (status: Int, json: JSON) {
        let request = HTTPRequest(.post, "/admin/v1/accessions/\(kind)", headers: headers, body: body, peer: peer)
        let response = await test.service.router.respond(to: request)
        let bytes = try await response.body.collect(upTo: 1 << 20)
        return (response.status.rawValue, bytes.isEmpty ? .null : try JSON.parse(bytes.rawSpan))
    }

    /// Made in the blobs of the test's home, and not entered.
    private func sound(_ test: TestService, frames: Int = 2000) throws -> IngestedTitle {
        let path = test.directory.write("other.mp3", SilentMP3.frames(frames))
        var options = IngestOptions()
        options.overrides.title = "Hush \u{2028}\n\"quoted\""
        let scratch = Scratch(test.directory.file("scratch"))
        let work = IngestWork(blobs: test.service.blobs, scratch: scratch) { _ in }
        return try Ingest(work, options).run(path, sourceHash: try Ingest.sourceHash(path) { _ in })
    }

    private func pages(_ test: TestService) throws -> IngestedEdition {
        var options = EditionOptions(productID: "issue")
        options.samples = ["pages/2.html"]
        let scratch = Scratch(test.directory.file("scratch"))
        let history = PageHistory(now: test.clock.now)
        let work = IngestWork(blobs: test.service.blobs, scratch: scratch) { _ in }
        let path = EditionFiles.folder(test.directory)
        return try EditionIngest(work, options, history: history).run(
            path,
            sourceHash: try EditionIngest.sourceHash(path) { _ in }
        )
    }

    @Test func `of an audiobook is asked about, entered once, and streams`() async throws {
        let test = try await TestService(.silence, with: .streaming)
        let made = try sound(test)
        let question = TitleIngestRequest(sourceHash: made.sourceHash, overrides: .init())
        let unknown = try await post(test, "titles", question.write())
        #expect(unknown.status == 200)
        #expect(unknown.json["titles"]?.array?.isEmpty == true)
        let entry = TitleIngestRequest(sourceHash: made.sourceHash, overrides: .init(), made: made).write()
        let entered = try await post(test, "titles", entry)
        #expect(entered.status == 201)
        let title = try #require(entered.json["titles"]?.array?.first)
        #expect(title["title"] == "Hush \u{2028}\n\"quoted\"")
        #expect(title["duration"]?.double == Double(made.durationMS) / 1000)
        let twice = try await post(test, "titles", entry)
        #expect(twice.status == 200)
        #expect(twice.json["titles"]?.array?.first?["id"] == title["id"])
        let id = try #require(title["id"]?.string)
        let order = try await test.order(.init(account: "alice", titleID: id))
        let segments = try await test.playlist(order).segments
        #expect(segments.count == made.index.segmentCount)
        let last = try #require(segments.last)
        #expect(try await test.send(.get, last).status == 200)
        var filter = AuditFilter()
        filter.limit = 10
        let entries = try await test.service.audit.list(filter).filter { $0.action == "title.ingest" && $0.subject == id }
        #expect(entries.map(\.actor) == ["operator"])
    }

    @Test func `of an edition brings every resource with its place and its sample`() async throws {
        let test = try await TestService(.silence, with: .streaming)
        let made = try pages(test)
        var terms = Edition.Terms(productID: "issue")
        terms.issuedAt = Instant(milliseconds: 1_700_000_000_123)
        terms.isDraft = true
        let accession = EditionIngestRequest(
            sourceHash: made.sourceHash,
            terms: terms,
            options: EditionOptions(productID: "issue"),
            made: made
        )
        let entered = try await post(test, "editions", accession.write())
        #expect(entered.status == 201, "\(entered.json)")
        let edition = try await test.service.editions.find("issue")
        #expect(edition.issuedAt == terms.issuedAt)
        #expect(edition.publishedAt == nil)
        let kept = try await test.service.editions.resources(of: edition)
        #expect(Set(kept.map(\.path)) == Set(made.resources.map(\.path)))
        for resource in made.resources { #expect(kept.contains(resource), "\(resource.path)") }
        let known = EditionIngestRequest(
            sourceHash: made.sourceHash,
            terms: .init(productID: "issue"),
            options: .init(productID: "issue")
        )
        #expect(try await post(test, "editions", known.write()).json["titles"]?.array?.first?["edition"]?["state"] == "published")
        let other = EditionIngestRequest(
            sourceHash: made.sourceHash,
            terms: .init(productID: "two"),
            options: .init(productID: "two")
        )
        let asked = try await post(test, "editions", other.write())
        #expect(asked.status == 200 && asked.json["titles"] == [], "one content may be several products")
    }

    @Test func `is for the home's own user: a key that may do everything else gets 403`() async throws {
        let test = try await TestService(.silence, with: .streaming)
        let key = try await test.service.accounts.createServiceKey(name: "mighty", role: .admin).text
        let made = try sound(test)
        let entry = TitleIngestRequest(sourceHash: made.sourceHash, overrides: .init(), made: made).write()
        let far = Peer.network(address: "192.0.2.1", port: 1)
        let edition = EditionIngestRequest(
            sourceHash: made.sourceHash,
            terms: .init(productID: "a"),
            options: .init(productID: "a")
        )
        let bodies = ["titles": entry, "editions": edition.write(), "take-back": Array(#"{"blobs":[]}"#.utf8)]
        for (kind, body) in bodies {
            #expect(try await post(test, kind, body, peer: far).status == 401, "\(kind)")
            let headers: HTTPFields = ["Authorization": "Bearer \(key)", "Content-Type": "application/json"]
            #expect(try await post(test, kind, body, headers: headers, peer: far).status == 403, "\(kind)")
        }
        #expect(try await test.service.titles.list().count == 1)
    }

    @Test func `names blobs that the home has, while they exist`() async throws {
        let test = try await TestService(.silence, with: .streaming)
        let made = try sound(test)
        let short = try sound(test, frames: 1999)
        let wrong = IngestedTitle(
            metadata: made.metadata,
            sourceHash: made.sourceHash,
            media: short.media,
            index: made.index,
            cover: nil,
            sample: nil
        )
        let entry = TitleIngestRequest(sourceHash: made.sourceHash, overrides: .init(), made: wrong).write()
        #expect(try await post(test, "titles", entry).status == 400)
        _ = try test.service.blobs.delete(made.media)
        let missing = TitleIngestRequest(sourceHash: made.sourceHash, overrides: .init(), made: made).write()
        #expect(try await post(test, "titles", missing).status == 400)
        #expect(try await test.service.titles.list().count == 1)
    }

    @Test func `that came to nothing gives back what nothing uses, and only that`() async throws {
        let test = try await TestService(.silence, with: .streaming)
        let used = try test.blobCount()
        let made = try sound(test)
        var all: Set<BlobID> = []
        try test.service.blobs.each { all.insert($0) }
        #expect(all.count > used && all.contains(made.media))
        let body: JSON = ["blobs": .array(all.map { .string($0.text) })]
        #expect(try await post(test, "take-back", body.write()).status == 204)
        #expect(try test.blobCount() == used)
        let order = try await test.order()
        let segments = try await test.playlist(order).segments
        #expect(try await test.send(.get, segments[0]).status == 200)
    }

    @Test(arguments: [
        "", "[]", "{}", #"{"sourceHash":"00"}"#, "{}\n{}", "\u{0}",
        #"{"sourceHash":"\#(String(repeating: "0", count: 64))","made":{"media":"x"}}"#,
        #"{"sourceHash":"\#(String(repeating: "0", count: 64))","productId":"a/b"}"#,
        #"{"sourceHash":"\#(String(repeating: "0", count: 64))","productId":"a","typo":1}"#,
        #"{"sourceHash":"\#(String(repeating: "0", count: 64))","productId":"a"}"# + "\n"
            + #"{"path":"../x","mediaType":"a/b","offset":0,"bytes":1,"digest":""}"#,
    ])
    func `that is none is refused`(text: String) async throws {
        let test = try await TestService(.silence, with: .streaming)
        #expect(try await post(test, "titles", Array(text.utf8)).status == 400 || text.contains("productId"))
        #expect(try await post(test, "editions", Array(text.utf8)).status == 400)
    }
}
