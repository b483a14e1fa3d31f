// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelDownloads
import CarrelTesting
import CarrelThreads
import Testing

struct `The keys of a complete download` {
    /// A world whose key is of an order with an end.
    private func world(until end: Locked<Instant>) -> DownloadWorld {
        let world = DownloadWorld(count: 3)
        world.server.fail { call in
            guard call.path == "key" else { return false }
            let fields = ["X-Carrel-Key-Rotation: 0", "X-Carrel-Order-End: \(end.withLock { $0 })"]
            return call.connection.respond(200, fields, body: [UInt8](repeating: 7, count: 16))
        }
        return world
    }

    @Test func `end with their order; the media stay, and a renewal makes them playable again`() async throws {
        let end = Locked(Instant.now() + .seconds(60))
        let world = world(until: end)
        let queue = try world.queue()
        let item = try await queue.save(world.server.url)
        #expect(item.state == .completed, "\(item.message ?? "")")
        let until = try #require(item.until)
        world.clock.set(until + .seconds(1))
        #expect(try await queue.item(item.id).state == .expired)
        #expect(world.isWhole(item.id, count: 3))
        // the server still has the old end
        #expect(try await queue.renew(item.id).state == .expired)
        end.withLock { $0 = until + .seconds(3600) }
        let requests = world.server.segments.count
        let renewed = try await queue.renew(item.id)
        #expect(renewed.state == .completed && renewed.until == until + .seconds(3600))
        #expect(world.server.segments.count == requests)
        #expect(world.isWhole(item.id, count: 3))
        await queue.close()
    }

    @Test func `are renewed in the background when that is due`() async throws {
        let end = Locked(Instant.now() + .seconds(3600))
        let world = world(until: end)
        let queue = try world.queue()
        let item = try await queue.save(world.server.url)
        let until = try #require(item.until)
        try await queue.run()
        #expect(world.server.log.filter { $0 == "key" }.count == 1)
        end.withLock { $0 = until + .seconds(86_400) }
        world.clock.set(until - .seconds(1))
        try await queue.run()
        #expect(world.server.log.filter { $0 == "key" }.count == 2)
        #expect(try await queue.item(item.id).until == until + .seconds(86_400))
        await queue.close()
    }

    @Test func `are only renewed if the item is complete`() async throws {
        let world = DownloadWorld()
        let queue = try world.queue()
        let (item, _) = try await queue.add(DownloadSource(world.server.url))
        await #expect(throws: DownloadError(.state, "")) { try await queue.renew(item.id) }
        await #expect(throws: DownloadError(.unknown, "")) { try await queue.renew("none") }
        await queue.close()
    }
}
