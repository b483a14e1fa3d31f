// SPDX-License-Identifier: Apache-2.0

import CarrelStore
import CarrelTesting
import CarrelThreads
import Glibc
import StorePairs
import Testing

struct `A backup` {
    @Test func `taken while many write is whole, sound and current`() async throws {
        let folder = TemporaryDirectory()
        let database = try SQLiteDatabase(path: folder.file("a.db"), migrations: Pairs.migrations)
        let other = try SQLiteDatabase(path: folder.file("a.db"), migrations: Pairs.migrations)
        let finished = Locked(false)
        let answered = Locked([Int64](repeating: 0, count: 8))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<8 {
                group.addTask {
                    // One of the writers stands for another process, whose writes start a copy again.
                    let mine = writer == 0 ? other : database
                    while !finished.withLock({ $0 }) {
                        let number = try await mine.write { try Pairs.add(writer: Int64(writer), to: $0) }
                        answered.withLock { $0[writer] = number }
                    }
                }
            }
            group.addTask {
                while answered.withLock({ $0.contains { $0 < 50 } }) { await Task.yield() }
                for round in 0..<3 {
                    let before = answered.withLock { $0 }
                    try await database.backup(to: folder.file("copy.db"))
                    let after = answered.withLock { $0 }
                    let copy = try SQLiteDatabase(path: folder.file("copy.db"), migrations: Pairs.migrations)
                    let kept = try await copy.read { try Pairs.check($0) }
                    for writer in 0..<8 {
                        let range = before[writer]...after[writer] + 1
                        #expect(range.contains(kept[Int64(writer)] ?? 0), "round \(round), writer \(writer): \(range)")
                    }
                    await copy.close()
                }
                finished.withLock { $0 = true }
            }
            try await group.waitForAll()
        }
        await database.close()
        await other.close()
        #expect(names(in: folder.path) == ["a.db", "copy.db"])
        var status = stat()
        #expect(unsafe stat(folder.file("copy.db"), &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
    }

    @Test func `is one plain file, ready to be put in place`() async throws {
        let folder = TemporaryDirectory()
        let database = try SQLiteDatabase(path: folder.file("a.db"), migrations: Shelf.migrations)
        try await database.write { try Shelf.add("a", to: $0) }
        try await database.backup(to: folder.file("copy.db"))
        #expect(names(in: folder.path) == ["a.db", "a.db-shm", "a.db-wal", "copy.db"])
        #expect(try await SQLiteDatabase.check(folder.file("copy.db")) == DatabaseCheck(problems: [], schemaVersion: 1))
        await database.close()
        #expect(unsafe rename(folder.file("copy.db"), folder.file("a.db")) == 0)
        let restored = try SQLiteDatabase(path: folder.file("a.db"), migrations: Shelf.migrations)
        #expect(try await Shelf.count(restored) == 1)
        await restored.close()
    }

    @Test func `that cannot be written leaves no files`() async throws {
        let folder = TemporaryDirectory()
        let database = try SQLiteDatabase(path: folder.file("a.db"), migrations: Shelf.migrations)
        await #expect(throws: StoreError(.notFound, "")) { try await database.backup(to: folder.file("missing/copy.db")) }
        unsafe mkdir(folder.file("folder"), 0o700)
        await #expect(throws: StoreError(.unavailable, "")) { try await database.backup(to: folder.file("folder")) }
        try await database.write { try Shelf.add("a", to: $0) }
        await database.close()
        #expect(names(in: folder.path) == ["a.db", "folder"])
    }

    @Test func `shows damage when it is checked`() async throws {
        let folder = TemporaryDirectory()
        let database = try SQLiteDatabase(path: folder.file("a.db"), migrations: Pairs.migrations)
        for _ in 0..<200 { try await database.write { try Pairs.add(writer: 1, to: $0) } }
        await database.close()
        var bytes = try #require(folder.read("a.db"))
        #expect(bytes.count > 5 * 4096)
        for i in 0..<400 { bytes[2 * 4096 + i] ^= 0x55 }
        folder.write("a.db", bytes)
        do {
            let check = try await SQLiteDatabase.check(folder.file("a.db"))
            #expect(!check.isSound)
        } catch {
            #expect(error as? StoreError == StoreError(.corrupt, ""))
        }
        await #expect(throws: StoreError(.notFound, "")) { try await SQLiteDatabase.check(folder.file("nothing.db")) }
        await #expect(throws: StoreError(.corrupt, "")) {
            try await SQLiteDatabase.check(folder.write("text.db", [UInt8](repeating: 65, count: 5000)))
        }
    }
}
