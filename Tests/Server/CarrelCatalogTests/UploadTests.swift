// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelJSON
import CarrelOrders
import CarrelServer
import CarrelServerTesting
import CarrelTesting
import CarrelThreads
import CarrelWorks
import Glibc
import Testing

/// `POST /admin/v1/titles`: the body is the source, the query what it is called.
@Suite(.onBothDatabases)
struct `An audio upload` {
    private static let query = [
        "title=The%20Title", "subtitle=A%20Sub", "author=Ann", "author=Ben", "narrator=Nils", "publisher=House", "language=en",
        "description=About", "isbn=978-3-16-148410-0",
    ].joined(separator: "&")

    private func upload(
        _ test: TestService,
        _ query: String,
        _ body: RequestBody,
        peer: Peer = .local(userID: 0)
    ) async throws -> (status: Int, json: JSON) {
        var request = HTTPRequest(.post, "/admin/v1/titles?\(query)", peer: peer)
        request.body = body
        let response = await test.service.router.respond(to: request)
        let bytes = try await response.body.collect(upTo: 1 << 20)
        #expect(try await checkProcess(["find", test.directory.path, "-path", "*/scratch/*"]) == "", "nothing stays in scratch")
        return (response.status.rawValue, try JSON.parse(bytes.rawSpan))
    }

    private func upload(_ test: TestService, _ query: String, _ bytes: [UInt8]) async throws -> (status: Int, json: JSON) {
        try await upload(test, query, RequestBody(bytes))
    }

    @Test func `becomes a title by the names in the query, once`() async throws {
        let test = try await TestService(.silence, with: .streaming)
        let sound = SilentMP3.frames(400)
        let made = try await upload(test, Self.query, sound)
        #expect(made.status == 201)
        #expect(made.json["created"] == true)
        #expect(made.json["warnings"] == [])
        #expect(made.json["titles"]?.array?.count == 1)
        let title = try #require(made.json["titles"]?.array?.first)
        let expected: [(String, JSON)] = [
            ("kind", "audiobook"), ("title", "The Title"), ("subtitle", "A Sub"), ("authors", ["Ann", "Ben"]),
            ("narrators", ["Nils"]), ("publisher", "House"), ("language", "en"), ("description", "About"),
            ("isbn", "9783161484100"), ("duration", .number(JSONNumber(10.449))), ("chapters", []), ("hasCover", false),
        ]
        for (name, value) in expected { #expect(title[name] == value, "\(name)") }
        let id = try #require(title["id"]?.string)
        #expect(try await test.call(.get, "/admin/v1/titles/\(id)", peer: .local(userID: 0)).json == title)
        let order = try await test.order(.init(account: "alice", isbn: "9783161484100"))
        #expect(try await test.playlist(order).segments.count == 2)

        let again = try await upload(test, "title=Another&author=Cid", sound)
        #expect(again.status == 200)
        #expect(again.json["created"] == false)
        let renamed = try #require(again.json["titles"]?.array?.first)
        #expect(renamed["id"]?.string == id)
        #expect(renamed["title"] == "Another" && renamed["authors"] == ["Cid"] && renamed["narrators"] == ["Nils"])
        let listed = try await test.call(.get, "/admin/v1/titles", peer: .local(userID: 0)).json["titles"]?.array ?? []
        #expect(listed.count == 2)
    }

    @Test func `may be an archive of chapters`() async throws {
        let test = try await TestService(.silence, with: .streaming)
        let zip = StoredZip.write([
            .init("10.mp3", bytes: SilentMP3.frames(200)), .init("2.mp3", bytes: SilentMP3.frames(100)),
            .init("notes.txt", "x"),
        ])
        let made = try await upload(test, "title=Two", zip)
        #expect(made.status == 201)
        let chapters = made.json["titles"]?.array?.first?["chapters"]?.array ?? []
        #expect(chapters.map { $0["title"]?.string } == ["2", "10"])
        #expect(chapters.map { $0["start"]?.double } == [0, 2.612])
    }

    @Test(
        arguments: [
            ("title=x", [], 422, "ingest.empty"), ("title=x", Array("no sound at all".utf8), 422, "ingest.not-audio"),
            ("title=x", StoredZip.write([.init("../a.mp3", bytes: SilentMP3.frames(9))]), 422, "ingest.archive"),
            ("title=x&isbn=9780306406158", SilentMP3.frames(9), 400, "request.invalid"),
        ] as [(String, [UInt8], Int, String)]
    )
    func `is refused with a reason, and leaves no files`(query: String, body: [UInt8], status: Int, code: String) async throws {
        let test = try await TestService(.silence, with: .streaming)
        let before = try test.blobCount()
        let refused = try await upload(test, query, body)
        #expect(refused.status == status && refused.json["code"]?.string == code, "\(refused)")
        #expect(refused.json["detail"]?.string?.contains(test.directory.path) == false, "no path of ours")
        #expect(try test.blobCount() == before)
        #expect(try await test.call(.get, "/admin/v1/titles", peer: .local(userID: 0)).json["titles"]?.array?.count == 1)
    }

    @Test func `whose end is missing is taken as far as it goes where that is asked for`() async throws {
        let test = try await TestService(.silence, with: .streaming)
        let cut = Array(SilentMP3.frames(400).dropLast(100))
        let refused = try await upload(test, "title=Cut", cut)
        #expect(refused.status == 422 && refused.json["code"] == "ingest.truncated")
        #expect(refused.json["detail"]?.string?.hasPrefix("the upload cut off at byte ") == true, "\(refused.json)")
        #expect(refused.json["hint"] == "allowTruncated=true keeps the usable part")
        let taken = try await upload(test, "title=Cut&allowTruncated=true", cut)
        #expect(taken.status == 201)
        #expect(taken.json["warnings"]?.array?.count == 1)
    }

    /// A client that hangs up in the middle leaves no part of what it sent.
    @Test func `that breaks off is forgotten`() async throws {
        let test = try await TestService(.silence, with: .streaming)
        let before = try test.blobCount()
        let broken = try await upload(test, "title=x", RequestBody(length: 1 << 20, source: BrokenBody()))
        #expect(broken.status == 400)
        #expect(try test.blobCount() == before)
    }

    @Test func `that is announced to be too large is refused before it is read`() async throws {
        let test = try await TestService(.silence, with: .streaming)
        let body = BrokenBody()
        let refused = try await upload(test, "title=x", RequestBody(length: (8 << 30) + 1, source: body))
        #expect(refused.status == 413)
        #expect(body.asked == 0)
    }

    @Test func `is for back offices that may change the catalog`() async throws {
        let test = try await TestService(.silence, with: .streaming)
        let body = BrokenBody()
        let nobody = try await upload(
            test,
            "title=x",
            RequestBody(length: 9, source: body),
            peer: .network(address: "192.0.2.1", port: 1)
        )
        #expect(nobody.status == 401)
        #expect(body.asked == 0, "nothing is read of a stranger")
    }
}

/// A body whose client hangs up after its first kilobyte.
private final class BrokenBody: RequestBodySource {
    private let count = Locked(0)

    /// The number of requested chunks.
    var asked: Int { count.withLock { $0 } }

    func next() async throws(HTTPError) -> [UInt8]? {
        let asked = count.withLock { count in
            count += 1
            return count
        }
        guard asked == 1 else { throw HTTPError(.badRequest, "http.hungUp", "the client hung up") }
        return SilentMP3.frames(5)
    }
}
