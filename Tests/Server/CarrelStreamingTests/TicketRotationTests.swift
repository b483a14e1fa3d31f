// SPDX-License-Identifier: Apache-2.0

import CarrelAudit
import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelServer
import CarrelServerTesting
import CarrelStore
import CarrelStreaming
import CarrelThreads
import Glibc
import Testing

/// The secret that signs tickets is replaced while people listen.
@Suite(.onBothDatabases)
struct `Ticket secrets` {
    private let operatorPeer = Peer.local(userID: getuid())

    private func rotate(_ test: TestService, _ query: String = "") async throws -> (key: Int?, forgotten: Int?) {
        let answer = try await test.call(.post, "/admin/v1/ticket-key/rotate\(query)", peer: operatorPeer)
        #expect(answer.status == 200)
        return (answer.json["key"]?.int, answer.json["forgotten"]?.int)
    }

    /// The key id in a segment's address.
    private func signer(_ playlist: (key: String, segments: [String], text: String)) -> UInt8? {
        playlist.segments.first.flatMap { Base64URL.decode(String($0.split(separator: "/").dropLast().last ?? "")) }?.first
    }

    @Test func `change without a playlist that changes in its window or a ticket that dies early`() async throws {
        let test = try await TestService(.silence, with: [.streaming, .administration])
        let order = try await test.order()
        let first = try await test.playlist(order)
        #expect(signer(first) == 1)
        let rotated = try await rotate(test)
        #expect(rotated.key == 2 && rotated.forgotten == 0)
        #expect(try await test.playlist(order).text == first.text, "byte for byte the same in the ticket's window")

        // The window of a 24-hour ticket is six hours.
        var next = first
        var hours = 0
        while signer(next) == 1, hours < 20 {
            test.clock.advance(by: .seconds(3600))
            hours += 1
            next = try await test.playlist(order)
        }
        #expect(signer(next) == 2)
        #expect((1...12).contains(hours), "the new secret signs after at most two windows")
        #expect(try await test.send(.get, first.segments[0]).status == 200, "the old ticket lives on")
        #expect(try await test.send(.get, next.segments[0]).status == 200)
        test.clock.advance(by: .seconds(31 * 3600))
        #expect(try await test.send(.get, first.segments[0]).status == 403)
    }

    @Test func `are forgotten when their last ticket has died, and not before`() async throws {
        let test = try await TestService(.silence, with: [.streaming, .administration])
        let order = try await test.order()
        let day = StreamSettings().ticketLife
        _ = try await rotate(test)
        let last = test.clock.now + .milliseconds(120_000 + day / 4 + day)
        var latest = try await test.playlist(order)
        // The last playlist under the first secret: the latest moment at which it still signs.
        while test.clock.now < last {
            let playlist = try await test.playlist(order)
            if signer(playlist) != 1 { break }
            latest = playlist
            test.clock.advance(by: .seconds(600))
        }
        #expect(try await test.service.tickets.forgetDead(life: day) == 0)
        while try await test.send(.get, latest.segments[0]).status == 200 {
            #expect(try await test.service.tickets.forgetDead(life: day) == 0, "a ticket under it lives")
            test.clock.advance(by: .seconds(1800))
        }
        test.clock.set(last + .milliseconds(120_001))
        #expect(try await test.service.tickets.forgetDead(life: day) == 1)
        #expect(try await test.service.tickets.forgetDead(life: day) == 0, "the one that signs is never forgotten")
        #expect(signer(try await test.playlist(order)) == 2)
        #expect(try await rotate(test).key == 3, "an id is not used again soon")
    }

    @Test func `end every ticket immediately after a leak`() async throws {
        let test = try await TestService(.silence, with: [.streaming, .administration])
        let order = try await test.order()
        let before = try await test.playlist(order)
        let rotated = try await rotate(test, "?atOnce=true")
        #expect(rotated.key == 2 && rotated.forgotten == 1)
        let refused = try await test.call(.get, before.segments[0])
        #expect(refused.status == 403 && refused.json["reason"] == "ticket")
        let key = try #require(before.key.split(separator: "/", maxSplits: 2).last)
        #expect(try await test.send(.get, "/\(key)").status == 403)
        let after = try await test.playlist(order)
        #expect(signer(after) == 2)
        #expect(try await test.send(.get, after.segments[0]).status == 200)
    }

    @Test func `that another process made are known within a minute, before they sign`() async throws {
        let test = try await TestService(.silence, with: [.streaming, .administration])
        let order = try await test.order()
        let other = try await test.another()
        _ = try await other.tickets.rotate(atOnce: false, by: .operator)
        _ = try await other.tickets.rotate(atOnce: true, by: .operator)
        let known = try await test.playlist(order)
        #expect(signer(known) == 1, "not asked for yet")
        test.clock.advance(by: .seconds(60))
        #expect(try await test.send(.get, known.segments[0]).status == 403)
        #expect(signer(try await test.playlist(order)) == 3)
    }

    @Test func `that were replaced immediately are not used any longer because a read fails`() async throws {
        let test = try await TestService(.silence, with: [.streaming, .administration])
        let order = try await test.order()
        let failing = FailingDatabase(test.service.database)
        let service = try await CarrelService.open(test.service.home, database: failing, clock: test.clock)
        func status(_ target: String) async throws -> Int {
            let request = HTTPRequest(.get, target, headers: [:], body: [], peer: .network(address: "192.0.2.1", port: 1))
            return await service.router.respond(to: request).status.rawValue
        }
        let old = try await test.playlist(order)
        #expect(try await status(old.segments[0]) == 200)
        _ = try await test.service.tickets.rotate(atOnce: true, by: .operator)
        test.clock.advance(by: .seconds(60))
        failing.fails.withLock { $0 = true }
        for _ in 0..<5 {
            await #expect(throws: StoreError.self) { try await service.tickets.tickets(at: test.clock.now) }
        }
        failing.fails.withLock { $0 = false }
        #expect(try await status(old.segments[0]) == 403)
        #expect(try await status(try await test.playlist(order).segments[0]) == 200)
    }

    // the whole service: a rotation rewraps the keys of each capability
    @Test func `survive a restart and a rotation of the master key`() async throws {
        let test = try await TestService(.silence)
        let order = try await test.order()
        _ = try await rotate(test)
        let before = try await test.playlist(order)
        for _ in 0..<2 {
            try await test.addMasterKey()
            #expect(try await test.call(.post, "/admin/v1/master-key/rotate", peer: operatorPeer).status == 200)
        }
        let restarted = try await CarrelService.open(test.service.home, database: test.service.database, clock: test.clock)
        let request = HTTPRequest(.get, before.segments[0], headers: [:], body: [], peer: .network(address: "192.0.2.1", port: 1))
        #expect(await restarted.router.respond(to: request).status.rawValue == 200)
    }

    @Test func `are an administrator's to change`() async throws {
        let test = try await TestService(.silence, with: [.streaming, .administration])
        #expect(try await test.call(.post, "/admin/v1/ticket-key/rotate").status == 401)
    }

    @Test func `never share an id: when all are in use, that is said`() async throws {
        let test = try await TestService(.silence, with: [.streaming, .administration])
        for id in 2...255 { #expect(try await test.service.tickets.rotate(atOnce: false, by: .operator).id == UInt8(id)) }
        await #expect(throws: ServerError(.conflict, "")) {
            _ = try await test.service.tickets.rotate(atOnce: false, by: .operator)
        }
        #expect(try await test.service.tickets.rotate(atOnce: true, by: .operator).forgotten == 255)
    }
}
