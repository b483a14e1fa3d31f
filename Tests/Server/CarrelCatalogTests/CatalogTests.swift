// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCatalog
import CarrelHTTP
import CarrelIngest
import CarrelJSON
import CarrelOrders
import CarrelServer
import CarrelServerTesting
import CarrelStore
import CarrelTesting
import CarrelThreads
import CarrelWorks
import Glibc
import Testing

/// Taking uploads, and covers, into the catalog.
@Suite(.onBothDatabases)
struct `The catalog` {
    private static let png: [UInt8] = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a] + [UInt8](repeating: 1, count: 200)

    private func upload(
        _ body: [UInt8],
        to target: String,
        by method: HTTPMethod = .post,
        at test: TestService
    ) async throws -> (status: Int, json: JSON) {
        let response = await test.service.router.respond(
            to: HTTPRequest(method, target, headers: [:], body: body, peer: .local(userID: 0))
        )
        let bytes = try await response.body.collect(upTo: 1 << 20)
        return (response.status.rawValue, try JSON.parse(bytes.rawSpan))
    }

    private func blobs(_ test: TestService) async throws -> Set<String> {
        let find = ["find", test.directory.file("blobs"), "-type", "f", "!", "-path", "*/trash/*"]
        return Set(try await checkProcess(find).split(separator: "\n").map(String.init))
    }

    @Test func `takes an upload that says no title only with one, and keeps nothing otherwise`() async throws {
        let test = try await TestService(.silence, with: .streaming)
        let before = try await blobs(test)
        let sound = SilentMP3.frames(100)
        let refused = try await upload(sound, to: "/admin/v1/titles", at: test)
        #expect(refused.status == 422)
        #expect(refused.json["code"] == "ingest.untitled")
        #expect(refused.json["hint"]?.string?.contains("title=") == true)
        #expect(try await blobs(test) == before)
        let taken = try await upload(sound, to: "/admin/v1/titles?title=Hush&sampleSeconds=0&segmentSeconds=2", at: test)
        #expect(taken.status == 201)
        let title = try #require(taken.json["titles"]?.array?.first)
        #expect(title["title"] == "Hush")
        #expect(title["sampleDuration"] == .null)
        let again = try await upload(sound, to: "/admin/v1/titles", at: test)
        #expect(again.status == 200, "a source that is there needs no title")
        #expect(again.json["titles"]?.array?.first?["id"] == title["id"])
        #expect(try await upload(sound, to: "/admin/v1/titles?title=Hush&segmentSeconds=0", at: test).status == 400)
    }

    @Test func `gives a title another cover, and lets go of the one before`() async throws {
        let test = try await TestService(.silence, with: .streaming)
        let before = try await blobs(test)
        let path = "/admin/v1/titles/\(test.title.id)/cover"
        let set = try await upload(Self.png, to: path, by: .put, at: test)
        #expect(set.status == 200)
        #expect(set.json["hasCover"] == true)
        let first = try await blobs(test)
        #expect(first.count == before.count + 1)
        let order = try await test.order()
        #expect(try await test.send(.get, "/v1/stream/hls/\(order.id)/cover").body == Self.png)
        let other = test.directory.write("other.png", Self.png + [2])
        var options = IngestOptions()
        options.overrides.coverPath = other
        options.sampleSeconds = 5
        let outcome = try await test.service.ingesting.ingest(test.directory.file("silence.mp3"), options)
        #expect(!outcome.created)
        #expect(outcome.warnings.count == 1, "the sample of a title that is there stays as it is")
        #expect(try await test.send(.get, "/v1/stream/hls/\(order.id)/cover").body == Self.png + [2])
        #expect(try await blobs(test).isSuperset(of: first), "another ingest may be about to use the old one")
        #expect(try await test.service.blobSweep.run() == 1)
        #expect(try await blobs(test).count == first.count)
        #expect(try await blobs(test) != first)
        let refused = try await upload(Array("not a picture".utf8), to: path, by: .put, at: test)
        #expect(refused.status == 422)
        #expect(try await blobs(test).count == first.count)
    }

    @Test func `takes a cover during an ingest`() async throws {
        let test = try await TestService(.silence, with: .streaming)
        let path = test.directory.write("long.mp3", SilentMP3.frames(500))
        let (isGoing, mayEnd) = (Locked(false), Locked(false))
        let ingest = Task {
            try await test.service.ingesting.ingest(path, IngestOptions()) { _ in
                isGoing.withLock { $0 = true }
                while !mayEnd.withLock({ $0 }) { usleep(1000) }
            }
        }
        while !isGoing.withLock({ $0 }) { await Task.yield() }
        let set = try await upload(Self.png, to: "/admin/v1/titles/\(test.title.id)/cover", by: .put, at: test)
        #expect(set.status == 200)
        #expect(try await test.service.blobSweep.run() == 0)
        mayEnd.withLock { $0 = true }
        #expect(try await ingest.value.created)
    }

    @Test func `sweeps what no title uses away, but nothing of the last day`() async throws {
        // the clock shows 2027-01-15T08:00:00Z
        let test = try await TestService(.silence, with: .streaming)
        let used = try await blobs(test)
        for (text, time) in [("of an ingest that was killed", "2026-11-19T08:00:00Z"), ("just finished", "2027-01-14T09:00:00Z")]
        {
            let writer = try test.service.blobs.writer()
            try writer.append(Array(text.utf8).rawSpan)
            let id = try writer.finish().text
            try await checkProcess(["touch", "-d", time, test.directory.file("blobs/\(id.prefix(2))/\(id)")])
        }
        #expect(try await test.service.blobSweep.run() == 1)
        let left = try await blobs(test)
        #expect(left.isSuperset(of: used) && left.count == used.count + 1)
        test.clock.advance(by: .seconds(26 * 3600))
        #expect(try await test.service.blobSweep.run() == 1)
        #expect(try await blobs(test) == used)
        let order = try await test.order()
        #expect(try await test.send(.get, try await test.playlist(order).segments[0]).status == 200)
    }

    @Test func `names the cover in a multivariant playlist where there is one`() async throws {
        let test = try await TestService(.silence, with: .streaming)
        let order = try await test.order()
        let path = "/v1/stream/hls/\(order.id)/playlist.m3u8?mediaPlaylist=true"
        let without = String(decoding: try await test.send(.get, path).body, as: UTF8.self)
        #expect(without.contains(#"#EXT-X-SESSION-DATA:DATA-ID="com.apple.hls.chapters",URI="chapters.json""#))
        #expect(!without.contains("org.carrel.cover"))
        _ = try await upload(Self.png, to: "/admin/v1/titles/\(test.title.id)/cover", by: .put, at: test)
        let with = String(decoding: try await test.send(.get, path).body, as: UTF8.self)
        #expect(with.contains(#"#EXT-X-SESSION-DATA:DATA-ID="org.carrel.cover",VALUE="cover""#))
    }
}
