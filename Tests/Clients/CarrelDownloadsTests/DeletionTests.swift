// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelDownloads
import CarrelPlayer
import CarrelTesting
import Glibc
import Testing

struct `Deleting a download` {
    @Test func `removes its files and keys, offline and with a locked vault`() async throws {
        let world = DownloadWorld()
        let queue = try world.queue()
        let item = try await queue.save(world.server.url)
        #expect(try await keyCount(world, item.id) == 1)
        await queue.close()
        world.server.stop()
        let locked = try world.queue(isLocked: true)
        await #expect(throws: DownloadError(.state, "")) { try await locked.cancel(item.id) }
        try await locked.delete(item.id)
        #expect(try await locked.items().isEmpty)
        #expect(unsafe access(world.directory.file("reader/downloads/\(item.id)"), F_OK) != 0)
        await #expect(throws: DownloadError(.unknown, "")) { try await locked.delete(item.id) }
        await locked.close()
        #expect(try await keyCount(world, item.id) == 0)
    }

    /// Keys of an item in the player's store.
    private func keyCount(_ world: DownloadWorld, _ id: String) async throws -> Int {
        let engine = try await world.engine()
        let store = try await engine.savedItems()
        let keys = try await store.savedKeys(ofItem: id).count
        if keys == 0 { #expect(try await store.packageKey(ofItem: id) == nil) }
        await engine.shutdown()
        return keys
    }

    @Test func `stops its transfers first, in another process too`() async throws {
        let world = DownloadWorld(count: 40)
        world.server.fail { call in
            if call.path.hasPrefix("segment") { usleep(20_000) }
            return false
        }
        let (queue, other) = (try world.queue(), try world.queue())
        let (item, _) = try await queue.add(DownloadSource(world.server.url))
        let (second, _) = try await queue.add(DownloadSource(world.server.url + "?2"))
        let run = Task { try await queue.run() }
        try await waitUntil { try await queue.item(item.id).done > 0 }
        try await other.cancel(item.id)
        #expect(try await other.items().map(\.id) == [second.id])
        // the rest of the queue continues
        try await run.value
        #expect(try await other.item(second.id).state == .completed)
        #expect(unsafe access(world.directory.file("reader/downloads/\(item.id)"), F_OK) != 0)
        await queue.close()
        await other.close()
        #expect(try await keyCount(world, item.id) == 0)
    }

    @Test func `continues after an interruption`() async throws {
        let world = DownloadWorld()
        let queue = try world.queue()
        let item = try await queue.save(world.server.url)
        let folder = world.directory.file("reader/downloads")
        // killed after the first step on a full disk: the row could not be marked
        try #require(unsafe rename("\(folder)/\(item.id)", "\(folder)/.removed-\(item.id)") == 0)
        try await queue.run()
        #expect(try await queue.items().isEmpty)
        #expect(unsafe access("\(folder)/.removed-\(item.id)", F_OK) != 0)
        await queue.close()
    }

    @Test func `is not what an interrupted restart becomes`() async throws {
        let world = DownloadWorld()
        let queue = try world.queue()
        let item = try await queue.save(world.server.url)
        try await queue.restart(item.id)
        let folder = world.directory.file("reader/downloads")
        try #require(unsafe rename("\(folder)/\(item.id)", "\(folder)/.restarted-\(item.id)") == 0)
        try await queue.run()
        #expect(try await queue.item(item.id).state == .completed)
        #expect(world.isWhole(item.id, count: 8))
        #expect(unsafe access("\(folder)/.restarted-\(item.id)", F_OK) != 0)
        await queue.close()
    }

    @Test func `does not touch a package that no row names for a week, and takes it back`() async throws {
        let world = DownloadWorld()
        let queue = try world.queue()
        let item = try await queue.save(world.server.url)
        await queue.close()
        let folder = world.directory.file("reader/downloads")
        func move(_ from: String, _ to: String) throws {
            for suffix in ["", "-wal", "-shm"] { _ = unsafe rename("\(folder)/\(from)\(suffix)", "\(folder)/\(to)\(suffix)") }
        }
        // the journal is lost
        try move("downloads.sqlite", "old.sqlite")
        let empty = try world.queue()
        try await empty.run()
        #expect(unsafe access("\(folder)/.orphans/\(item.id)/boot.xml", F_OK) == 0)
        world.clock.advance(by: .seconds(6 * 86_400))
        try await empty.run()
        #expect(unsafe access("\(folder)/.orphans/\(item.id)/boot.xml", F_OK) == 0)
        await empty.close()
        // and comes back
        try move("downloads.sqlite", "new.sqlite")
        try move("old.sqlite", "downloads.sqlite")
        let back = try world.queue()
        try await back.run()
        #expect(world.isWhole(item.id, count: 8))
        await back.close()
        try move("downloads.sqlite", "old.sqlite")
        let late = try world.queue()
        try await late.run()
        world.clock.advance(by: .seconds(8 * 86_400))
        try await late.run()
        #expect(unsafe access("\(folder)/.orphans/\(item.id)", F_OK) != 0)
        await late.close()
    }
}
