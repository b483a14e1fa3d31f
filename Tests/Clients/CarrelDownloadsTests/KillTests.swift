// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelDownloads
import CarrelPlayer
import CarrelTesting
import Glibc
import Testing

struct `A transferring process that is killed` {
    private let environment = ["CARREL_VAULT_PASSPHRASE": DownloadWorld.passphrase, "PATH": "/usr/bin:/bin"]

    /// Kills at random moments of keys, media, renames, the journal and deletion, of each test.
    private static let kills = unsafe getenv("CARREL_LONG") == nil ? 20 : 250

    private func program(_ words: [String]) throws -> BackgroundProcess {
        try BackgroundProcess([programFolder + "/DownloadProgram"] + words, environment: environment)
    }

    /// The ids of items with keys or a package key.
    private func itemsWithKeys(_ world: DownloadWorld) async throws -> Set<String> {
        let engine = try await world.engine()
        let ids = try await engine.savedItems().savedItems()
        await engine.shutdown()
        return Set(ids)
    }

    /// The numbers of segments under their final names.
    private func durable(_ world: DownloadWorld, _ id: String) -> Set<Int> {
        Set((0..<60).filter { unsafe access(world.directory.file("reader/downloads/\(id)/0-1/\(Self.name($0))"), F_OK) == 0 })
    }

    private static func name(_ number: Int) -> String {
        String(repeating: "0", count: 5 - String(number).count) + String(number) + ".frag"
    }

    @Test func `loses nothing that was durable, and completes no item with a wrong byte`() async throws {
        let world = DownloadWorld(count: 60, size: 16_000)
        world.server.fail { call in
            if call.path.hasPrefix("segment") { usleep(UInt32.random(in: 0...30_000)) }
            return false
        }
        let queue = try world.queue()
        var (item, _) = try await queue.add(DownloadSource(world.server.url))
        var fetched: Set<Int> = []
        var (killedInTransfers, completed) = (0, 0)
        for _ in 0..<Self.kills {
            let before = world.server.segments.count
            let process = try program([world.reader, "run"])
            // some right after the first segments, whenever the vault has opened
            let isEarly = Bool.random()
            try await waitUntil { !isEarly || world.server.segments.count > before || process.status != nil }
            try await Task.sleep(for: .milliseconds(Int.random(in: 0...(isEarly ? 150 : 900))))
            _ = await process.kill()
            let requested = world.server.segments.dropFirst(before).compactMap { Int($0.dropFirst(8).dropLast(3)) }
            #expect(fetched.isDisjoint(with: requested), "a durable segment was fetched again")
            #expect(Set(requested).count == requested.count)
            item = try await queue.item(item.id)
            #expect(item.state == .queued || item.state == .completed)
            fetched = durable(world, item.id)
            if !requested.isEmpty, fetched.count < 60 { killedInTransfers += 1 }
            guard item.state == .completed else { continue }
            completed += 1
            #expect(world.isWhole(item.id, count: 60))
            try await queue.delete(item.id)
            item = try await queue.add(DownloadSource(world.server.url)).item
            fetched = []
        }
        try await queue.run()
        #expect(try await queue.item(item.id).state == .completed)
        #expect(world.isWhole(item.id, count: 60))
        #expect(
            killedInTransfers >= Self.kills / 5,
            "\(killedInTransfers) of \(Self.kills) kills hit transfers, \(completed) items completed"
        )
        await queue.close()
    }

    @Test func `keeps no key without its item, wherever a deletion ends`() async throws {
        let world = DownloadWorld(count: 30, size: 4_000)
        let queue = try world.queue()
        for kill in 0..<Self.kills {
            let (item, _) = try await queue.add(DownloadSource("\(world.server.url)?\(kill)"))
            // also one whose transfers were killed
            if kill % 2 == 0 {
                try await queue.run()
            } else {
                let process = try program([world.reader, "run"])
                try await Task.sleep(for: .milliseconds(Int.random(in: 20...300)))
                _ = await process.kill()
            }
            let deletion = try program([world.reader, "delete", item.id])
            try await Task.sleep(for: .milliseconds(Int.random(in: 0...120)))
            _ = await deletion.kill()
            try await queue.run()
            let ids = Set(try await queue.items().map(\.id))
            #expect(try await itemsWithKeys(world).isSubset(of: ids))
            if ids.contains(item.id) {
                // the deletion had not begun
                #expect(try await queue.item(item.id).state == .completed)
                #expect(world.isWhole(item.id, count: 30))
                try await queue.delete(item.id)
            }
            #expect(unsafe access(world.directory.file("reader/downloads/\(item.id)"), F_OK) != 0)
        }
        #expect(try await itemsWithKeys(world).isEmpty)
        await queue.close()
    }
}

/// The folder of the programs under test, which are built next to the tests.
let programFolder: String = {
    let path = unsafe realpath("/proc/self/exe", nil)
    defer { unsafe free(path) }
    let here = unsafe path.map { unsafe String(cString: $0) } ?? ""
    return here.split(separator: "/").dropLast().reduce(into: "") { $0 += "/\($1)" }
}()
