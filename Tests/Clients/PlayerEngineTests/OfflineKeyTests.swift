// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCatalog
import CarrelCrypto
import CarrelHTTP
import CarrelHTTPClient
import CarrelHTTPServer
import CarrelIngest
@testable import CarrelLicenseKeys
import CarrelMedia
import CarrelOrders
import CarrelPlayer
import CarrelPlayerTesting
import CarrelRights
import CarrelServer
import CarrelServerTesting
import CarrelStreaming
import CarrelTesting
import CarrelTokens
import Testing

@Suite(.serialized) struct `The keys of an order's audiobook, saved with its license` {
    /// A server with an order of an audiobook of 60 segments, and a player with the license.
    private struct Order {
        let world: PlayerWorld
        let engine: PlayerEngine
        let license: String
        let playlist: String

        init(rotation: Int) async throws {
            world = try await PlayerWorld()
            let path = world.directory.write("silence.mp3", SilentMP3.frames(600 * 44_100 / 1152))
            let title = try await world.service.ingesting.ingest(path, IngestOptions()).title.id
            try await world.rotate(rotation)
            engine = try await world.player()
            license = try await engine.process(
                try await world.action { rules in
                    rules.contents = []
                    rules.title = title
                }
            ).license
            let orders = try await world.service.orders.list(.init())
            playlist = "\(world.url)/v1/stream/hls/\(try #require(orders.first).order.id)/playlist.m3u8?offline=true"
        }

        /// The addresses of the keys in the playlist that the server sends now.
        func addresses() async throws -> [String] {
            let text = String(decoding: try await HTTPClient().send(ClientRequest(playlist)).body, as: UTF8.self)
            return text.split(separator: "\n").filter { $0.hasPrefix("#EXT-X-KEY") }
                .compactMap { $0.split(separator: "\"").dropFirst().first.map(String.init) }
        }

        /// The key that the server sends for an address of the playlist, and what it says about rotation.
        func served(_ address: String) async throws -> (key: Secret, rotation: String?) {
            let response = try await HTTPClient().send(ClientRequest(address.replacing("offline://", with: "http://")))
            #expect(response.status == .ok)
            return (Secret(response.body), response.headers["X-Carrel-Key-Rotation"])
        }

        func plays() async throws -> Int? { try await engine.licenses().license(license)?.plays }
        func sequence() async throws -> Int? { try await engine.contactTerms(of: license)?.sequence }
    }

    private static func key(_ answer: ContentKeyAnswer) throws -> Secret {
        guard case .granted(let grant) = answer else { throw TestFailure("no key: \(answer)") }
        return grant.key
    }

    @Test(arguments: [(0, 7), (7, 0), (7, 3)])
    func `are derived as the server derives them, after a renewal if the playlist says otherwise`(
        before: Int,
        after: Int
    ) async throws {
        let order = try await Order(rotation: before)
        for (rotation, count) in [(before, 1), (after, 2)] {
            if count == 2 { try await order.world.rotate(after) }
            let sequence = try #require(try await order.sequence())
            let addresses = try await order.addresses()
            #expect(addresses.count == (rotation == 0 ? 1 : (60 + rotation - 1) / rotation))
            #expect(addresses.allSatisfy { $0.contains("rotation=1") == (rotation > 0) })
            let keys = LicenseKeys(order.engine)
            for address in [addresses[0]] + addresses.suffix(2) {
                let served = try await order.served(address)
                #expect(try await Self.key(keys.key(.address(address))) == served.key)
                #expect(served.rotation == (rotation > 0 ? "1" : "0"))
            }
            // one renewal for all keys, and none if playlist and license agree
            let renewals = count == 2 && (before > 0) != (after > 0) ? 1 : 0
            #expect(try await order.sequence() == sequence + renewals)
            #expect(try await order.plays() == count)
            await keys.end()
        }
    }

    @Test func `are refused without a play while the license cannot be renewed, or if a renewal changes nothing`() async throws {
        let order = try await Order(rotation: 7)
        let former = try await order.addresses()[0]
        try await order.world.rotate(0)
        let address = try await order.addresses()[0]
        await order.world.server.shutdown(grace: .seconds(1))
        guard case .refused = await LicenseKeys(order.engine).key(.address(address)) else {
            throw TestFailure("a key of another playlist, without a network")
        }
        #expect(try await order.plays() == 0)
        try order.world.answer()
        let keys = LicenseKeys(order.engine)
        let served = try await order.served(address)
        #expect(try await Self.key(keys.key(.address(address))) == served.key)
        guard case .refused(let reason) = await LicenseKeys(order.engine).key(.address(former)) else {
            throw TestFailure("a key of a playlist of former times")
        }
        #expect(reason.contains("load the playlist again"), "\(reason)")
        #expect(try await order.plays() == 1)
        await keys.end()
    }

    @Test(arguments: [
        ("offline://h/v1/stream/hls/o/t/0.key?offline=true", true), ("OFFLINE://h/x/hls/o/t/12.key?rotation=1", true),
        ("http://h/v1/stream/hls/o/t/0.key", false), ("offline://h/hls/o/t/0.ts", false),
        ("offline://h/hls/o/t/-1.key", false), ("offline://h/hls/o/t/1234567890.key", false), ("offline://h/o/t/0.key", false),
        ("offline://h/hls/o/t/\u{663}.key", false), ("offline://", false),
    ])
    func `are named by addresses of one form`(address: String, isOne: Bool) {
        let parsed = OfflineKeyAddress(address)
        #expect((parsed != nil) == isOne)
        if let parsed {
            #expect(parsed.keyID == OrderKeys.id(ofOrder: "o"))
            #expect(parsed.number == (address.contains("12") ? 12 : 0) && parsed.rotates == address.contains("rotation=1"))
        }
    }
}

extension PlayerWorld {
    /// Puts a service with another setting for the rotation of keys in place of the running one.
    fileprivate func rotate(_ segments: Int) async throws {
        await server.shutdown(grace: .seconds(1))
        var settings = CarrelService.Settings()
        settings.stream.keyRotation = segments
        try replace(
            by: try await CarrelService.open(service.home, database: service.database, settings: settings, clock: clock)
        )
    }
}
