// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelBytes
import CarrelCatalog
import CarrelHTTP
import CarrelIngest
import CarrelJSON
import CarrelOrders
import CarrelServer
import CarrelServerTesting
import CarrelStreaming
import CarrelTesting
import CarrelWorks
import Testing

/// The parts of a title in addition to its audio: chapters, cover, and the listener's position.
@Suite(.onBothDatabases)
struct `An order's chapters and cover` {
    private static let picture: [UInt8] = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a] + Array("a front".utf8)

    /// An order of a title of twelve seconds with three chapters, a cover, and silence that its encoder put in front.
    private func order(_ test: TestService) async throws -> Order {
        let chapters = [(0, 4), (4, 9), (9, 12)].map { start, end in
            "[CHAPTER]\nTIMEBASE=1/1000\nSTART=\(start * 1000)\nEND=\(end * 1000)\ntitle=from \(start) & on\n"
        }
        let metadata = test.directory.write("chapters.txt", ";FFMETADATA1\n" + chapters.joined())
        let path = test.directory.file("book.mp3")
        let inputs = ["-f", "lavfi", "-i", "sine=duration=12", "-i", metadata, "-map", "0:a", "-map_metadata", "1"]
        let ffmpeg = [try requirePeer("ffmpeg"), "-nostdin", "-v", "error"]
        try await checkProcess(ffmpeg + inputs + ["-map_chapters", "1", "-c:a", "libmp3lame", path])
        var options = IngestOptions()
        options.overrides.language = "da"
        options.overrides.coverPath = test.directory.write("cover.png", Self.picture)
        let title = try await test.service.ingesting.ingest(path, options).title
        return try await test.order(.init(account: "alice", titleID: title.id))
    }

    @Test func `are where players and pages look for them`() async throws {
        let test = try await TestService(.silence)
        let order = try await order(test)
        let base = "/v1/stream/hls/\(order.id)"
        let answer = try await test.call(.get, "\(base)/chapters.json")
        #expect(answer.status == 200)
        let list = answer.json.array ?? []
        #expect(list.map { $0["chapter"]?.int } == [1, 2, 3])
        #expect(list.map { $0["titles"]?.array?.first?["title"]?.string } == ["from 0 & on", "from 4 & on", "from 9 & on"])
        #expect(list.map { $0["titles"]?.array?.first?["language"]?.string } == ["da", "da", "da"])
        // The encoder declares 576 samples in front, and a decoder lags by 529.
        let delay = 1105.0 / 44_100
        for (chapter, start) in zip(list, [0.0, 4, 9]) {
            #expect(abs((chapter["start-time"]?.double ?? -1) - start - delay) < 0.0001, "in the stream's own time")
        }
        for (chapter, duration) in zip(list, [4.0, 5, 3]) {
            #expect(abs((chapter["duration"]?.double ?? -1) - duration) < 0.002, "the last one ends with the title")
        }

        let cover = try await test.send(.get, "\(base)/cover")
        #expect(cover.status == 200 && cover.body == Self.picture)
        #expect(cover.headers["Content-Type"] == "image/png")
        #expect(try await test.send(.head, "\(base)/cover").status == 200)
        let part = try await test.send(.get, "\(base)/cover", headers: ["Range": "bytes=1-3"])
        #expect(part.status == 206 && part.body == Array("PNG".utf8))
    }

    @Test func `are empty and not found where a title has none`() async throws {
        let test = try await TestService(.silence)
        let base = "/v1/stream/hls/\(try await test.order().id)"
        #expect(try await test.call(.get, "\(base)/chapters.json").json == [])
        #expect(try await test.call(.get, "\(base)/cover").status == 404)
        for name in ["chapters.json", "cover"] {
            let unknown = try await test.call(.get, "/v1/stream/hls/106d9ba0-125c-4b44-a410-2889d53f42bd/\(name)")
            #expect(unknown.status == 404 && unknown.json["code"] == "request.not-found")
        }
    }

    @Test func `are for the account alone where sessions are needed`() async throws {
        let test = try await TestService(.silence) { $0.stream.access = .session }
        let order = try await order(test)
        let account = try #require(try await test.service.accounts.find(named: "alice"))
        let session = try await test.service.accounts.issueSession(for: account)
        for name in ["chapters.json", "cover"] {
            let path = "/v1/stream/hls/\(order.id)/\(name)"
            #expect(try await test.send(.get, path).status == 401, "\(name)")
            let signedIn = try await test.send(.get, path, headers: ["Authorization": "Bearer \(session)"])
            #expect(signedIn.status == 200, "\(name)")
        }
    }
}

@Suite(.onBothDatabases)
struct `A title borrowed again` {
    @Test func `offers the page the place that an earlier order had`() async throws {
        let test = try await TestService(.silence)
        let now = test.clock.now
        let loan = Orders.Request(account: "alice", titleID: test.title.id, kind: .loan, end: now + .milliseconds(1000))
        let first = try await test.order(loan)
        func report(_ order: Order, seconds: Int) async throws {
            let end = test.clock.now
            let body: JSON = [
                [
                    "id": .string(order.id), "startUtc": .string((end - .milliseconds(9000)).description),
                    "endUtc": .string(end.description), "startPosition": .integer(seconds - 9), "endPosition": .integer(seconds),
                ]
            ]
            #expect(try await test.call(.post, "/v2/states/", body: body).json["accepted"] == 1)
        }
        try await report(first, seconds: 209)
        test.clock.advance(by: .seconds(3600))
        let second = try await test.order()
        let account = try #require(try await test.service.accounts.find(named: "alice"))
        let session = try await test.service.accounts.issueSession(for: account)
        func page(_ order: Order) async throws -> JSON {
            let headers: HTTPFields = ["Authorization": "Bearer \(session)"]
            return try await test.call(.get, "/v1/shelf/\(order.id)", headers: headers).json
        }
        let offered = try await page(second)
        #expect(offered["order"]?.string == second.id)
        #expect(offered["position"] == .null)
        #expect(offered["titlePosition"]?["seconds"]?.double == 209)
        #expect(offered["titlePosition"]?["order"]?.string == first.id)
        #expect(offered["titlePosition"]?["lastUpdated"]?.string == now.description)

        test.clock.advance(by: .seconds(60))
        try await report(second, seconds: 30)
        let own = try await page(second)
        #expect(own["position"]?["seconds"]?.double == 30)
        #expect(own["titlePosition"] == .null, "its own place is the title's")
        #expect(try await page(first)["titlePosition"]?["order"]?.string == second.id)

        let stranger = try await test.service.accounts.findOrCreate(named: "mallory")
        let other = try await test.service.accounts.issueSession(for: stranger)
        let refused = try await test.call(.get, "/v1/shelf/\(second.id)", headers: ["Authorization": "Bearer \(other)"])
        #expect(refused.status == 404)
    }
}
