// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCatalog
import CarrelContentKeys
import CarrelCrypto
import CarrelEME
import CarrelHTTP
import CarrelIngest
import CarrelJSON
import CarrelMedia
import CarrelOrders
import CarrelPlayer
import CarrelPlayerTesting
import CarrelRights
import CarrelServer
import CarrelServerTesting
import CarrelTesting
import CarrelTokens
import CarrelWorks
import Testing

struct `Key servers` {
    @Test func `of addresses get the app's fields at their own origin alone`() async throws {
        let film = try await FilmWorld()
        let engine = try await film.world.player()
        let own = KeyServer { _ in .init(body: Array(0..<16)) }
        let other = KeyServer { _ in .init(body: Array(16..<32)) }
        let session = film.session(engine) {
            $0.keyServerFields = [MediaHTTPField("X-Ticket", "letmein")]
            $0.source = own.url("/film/master.m3u8")
        }
        let identifiers = [own.url("/7.key"), other.url("/8.key")].map { ContentKeyIdentifier(.address($0)) }
        try await session.persist(identifiers, item: "film")
        #expect(own.requests.map { $0["X-Ticket"] } == ["letmein"])
        #expect(other.requests.map { $0["X-Ticket"] } == [nil])
        // a second call requests nothing
        try await film.session(engine).persist(identifiers, item: "film")
        #expect(own.requests.count == 1 && other.requests.count == 1)
        #expect(granted(await SavedKeys(engine, item: "film").key(identifiers[1].names[0]))?.key == Secret(Array(16..<32)))
    }

    @Test(arguments: [
        (
            KeyServer.Response(fields: ["Content-Type: text/html; charset=utf-8"], body: Array("<html>Sign in</html>".utf8)),
            "keys.response"
        ),
        (KeyServer.Response(status: 403, body: Array("no".utf8)), "keys.refused"),
        (KeyServer.Response(status: 404), "keys.refused"), (KeyServer.Response(status: 410), "keys.refused"),
        (KeyServer.Response(status: 503), "keys.network"),
    ])
    func `that return no key are named, without their tickets`(response: KeyServer.Response, code: String) async throws {
        let film = try await FilmWorld()
        let engine = try await film.world.player()
        let server = KeyServer { $0.target.contains("good") ? .init(body: Array(0..<16)) : response }
        let log = TraceLog()
        let ticket = "c2VjcmV0LXRpY2tldC1vZi1hLXBsYXlsaXN0"
        let identifiers = ["/good/\(ticket)/1.key?t=\(ticket)", "/bad/\(ticket)/2.key?t=\(ticket)"]
            .map { ContentKeyIdentifier(.address(server.url($0))) }
        let session = film.session(engine, log)
        let failure = await #expect(throws: ContentKeyError.self) { try await session.persist(identifiers, item: "film") }
        let error = try #require(failure)
        #expect(error.code.identifier == code && error.isRetryable == (code == "keys.network"))
        let shown = "\(error.description) \(log.text)"
        #expect(!shown.contains(ticket) && shown.contains("2.key"))
        // the first is kept
        #expect(granted(await SavedKeys(engine, item: "film").key(identifiers[0].names[0])) != nil)
    }

    @Test func `on other machines are requested by https alone`() async throws {
        let film = try await FilmWorld()
        let session = film.session(try await film.world.player())
        let identifiers = [ContentKeyIdentifier(.address("http://192.0.2.7/k/1.key"))]
        let error = await #expect(throws: ContentKeyError.self) { try await session.persist(identifiers, item: "film") }
        #expect(error?.code == .address)
    }

    @Test func `of ClearKey give keys to save and to play, and another key is noticed`() async throws {
        let film = try await FilmWorld()
        let engine = try await film.world.player()
        let server = KeyServer { request in
            guard let read = try? ClearKeyRequest(parsing: request.body.rawSpan) else { return .init(status: 400) }
            let isOther = read.keyIDs[0] == FilmWorld.ids[2].bytes
            let keys = read.keyIDs.map { ClearKeyLicense.Key(id: isOther ? Array(0..<16) : $0, key: FilmWorld.keys[0]) }
            return .init(body: ClearKeyLicense(keys).write(for: read))
        }
        let session = film.session(engine) { $0.clearKeyServer = server.url("/license") }
        let error = await #expect(throws: ContentKeyError.self) { try await session.persist(FilmWorld.identifiers, item: "film") }
        #expect(error?.code == .missingKey && error?.key == FilmWorld.ids[2].hex)
        let bodies = server.requests.map { String(decoding: $0.body, as: UTF8.self) }
        #expect(bodies.count == 3 && bodies.allSatisfy { $0.contains("persistent-license") })
        #expect(granted(await SavedKeys(engine, item: "film").key(.id(FilmWorld.ids[1].bytes)))?.key == FilmWorld.keys[0])
        let playing = film.session(nil) { $0.clearKeyServer = server.url("/license") }
        #expect(granted(await playing.key(.id(FilmWorld.ids[0].bytes)))?.key == FilmWorld.keys[0])
        let last = try #require(server.requests.last)
        let body = String(decoding: last.body, as: UTF8.self)
        #expect(body.contains("temporary"))
    }
}

struct `The key of an order` {
    /// A server with an audiobook, and an order for it.
    private struct Bookshop {
        let film: FilmWorld
        let engine: PlayerEngine
        let order: Order

        var world: PlayerWorld { film.world }

        init(until end: Duration? = nil) async throws {
            film = try await FilmWorld()
            engine = try await film.world.player()
            let world = film.world
            let path = world.directory.write("silence.mp3", SilentMP3.frames(2000))
            var options = IngestOptions()
            options.overrides.title = "Silence"
            let title = try await world.service.ingesting.ingest(path, options).title
            var request = Orders.Request(account: "alice", titleID: title.id)
            if let end {
                request.kind = .loan
                request.end = world.clock.now + end
            }
            order = try await world.service.orders.place(request).order
        }

        /// The address of the key in the playlist that apps save.
        func address() async throws -> String {
            let target = "/v1/stream/hls/\(order.id)/playlist.m3u8?offline=true"
            let host = String(world.url.dropFirst("http://".count))
            let request = HTTPRequest(.get, target, headers: ["Host": host], peer: .network(address: "127.0.0.1", port: 1))
            let body = try await world.service.router.respond(to: request).body.collect(upTo: 1 << 20)
            let text = String(decoding: body, as: UTF8.self)
            let key = try #require(text.split(separator: "\"").map(String.init).first { $0.hasPrefix("offline://") })
            return "offline://" + host + key.dropFirst("offline://".count).drop { $0 != "/" }
        }

        func session(_ log: TraceLog = TraceLog()) -> ContentKeySession {
            film.session(engine, log) { $0.source = world.url + "/playlist.m3u8" }
        }
    }

    @Test func `is saved with the end of the order, which every contact refreshes`() async throws {
        let shop = try await Bookshop(until: .seconds(3600))
        let name = ContentKeyName.address(try await shop.address())
        // never when it is played
        guard case .unknown = await shop.session().key(name) else { throw TestFailure("the key was requested for playing") }
        try await shop.session().persist([ContentKeyIdentifier(name)], item: "book")
        let row = try #require(try await shop.engine.savedItems().savedKeys(ofItem: "book").first)
        #expect(row.kind == .order && row.until == shop.order.endsAt)
        let keys = SavedKeys(shop.engine, item: "book")
        let grant = try #require(granted(await keys.key(name)))
        shop.world.wait(.seconds(1801))
        #expect(try await shop.session().renewIfDue(item: "book"))
        shop.world.wait(.seconds(1800))
        try await waitUntil { (try? grant.end.check(at: shop.world.clock.now)) == nil }
        #expect(try await shop.engine.savedKeyState(of: "book").obstacle == .expired)
        #expect(refusal(await SavedKeys(shop.engine, item: "book").key(name)) == "the order has ended")
        shop.world.clock.advance(by: .seconds(-7200))
        #expect(try await shop.engine.savedKeyState(of: "book").obstacle != nil)
    }

    @Test func `is saved again under the ticket of a later playlist`() async throws {
        let shop = try await Bookshop()
        let name = ContentKeyName.address(try await shop.address())
        try await shop.session().persist([ContentKeyIdentifier(name)], item: "book")
        let before = try #require(try await shop.engine.savedItems().savedKeys(ofItem: "book").first)
        #expect(before.until == nil && before.renewAt != nil)
        shop.world.wait(.seconds(40 * 86_400))
        try await shop.session().renew(item: "book")
        let after = try #require(try await shop.engine.savedItems().savedKeys(ofItem: "book").first)
        #expect(after.name == before.name && after.url != before.url && after.key == before.key)
    }

    @Test func `is deleted when the order was revoked, and ends in the middle`() async throws {
        let shop = try await Bookshop()
        let name = ContentKeyName.address(try await shop.address())
        try await shop.session().persist([ContentKeyIdentifier(name)], item: "book")
        let keys = SavedKeys(shop.engine, item: "book")
        #expect(granted(await keys.key(name)) != nil)
        _ = try await shop.world.service.orders.revoke(shop.order.id)
        let log = TraceLog()
        let session = shop.session(log)
        let events = EventLog(session)
        let error = await #expect(throws: ContentKeyError.self) { try await session.renew(item: "book") }
        #expect(error?.code == .ended)
        #expect(try await shop.engine.savedItems().savedKeys(ofItem: "book").isEmpty)
        #expect(log.messages.last == "persistable key deleted: the order was revoked")
        _ = try await events.events(until: "invalidated book")
        guard case .unknown = await SavedKeys(shop.engine, item: "book").key(name) else {
            throw TestFailure("the key is still here")
        }
    }

    @Test func `comes from the license of the order, if there is one`() async throws {
        let shop = try await Bookshop()
        let name = ContentKeyName.address(try await shop.address())
        let id = OrderKeys.id(ofOrder: shop.order.id)
        _ = try await shop.engine.process(
            try await shop.world.action { $0.contents = [.init(contentID: id.contentID, keyID: id, key: PlayerWorld.key)] }
        )
        try await shop.session().persist([ContentKeyIdentifier(name)], item: "book")
        let row = try #require(try await shop.engine.savedItems().savedKeys(ofItem: "book").first)
        #expect(row.kind == .license && row.key == nil)
        #expect(granted(await SavedKeys(shop.engine, item: "book").key(name))?.key == PlayerWorld.key)
    }
}
