// SPDX-License-Identifier: Apache-2.0

import CarrelTesting
import CarrelThreads
import Glibc
import Testing

@testable import CarrelStore

struct `A look into a database` {
    private let folder = TemporaryDirectory()
    /// A path whose name has URI characters.
    private var path: String { folder.file("a b?c%41#.db") }

    /// The files and their contents; without the index of the log if this process also writes to the database: both have the same
    /// then.
    private func contents(isShared: Bool = false) -> [String: [UInt8]] {
        Dictionary(
            uniqueKeysWithValues: names(in: folder.path).map {
                ($0, isShared && $0.hasSuffix("-shm") ? [] : folder.read($0) ?? [])
            }
        )
    }

    private func ids(_ database: some Database) async throws -> [String] {
        try await database.read { try $0.rows(Shelf.ids).map { try $0.text(0) } }
    }

    @Test func `sees what is in it, open elsewhere or not, and leaves no trace`() async throws {
        let database = try SQLiteDatabase(path: path, migrations: Shelf.migrations)
        try await database.write { try Shelf.add("a", to: $0) }
        let look = ReadOnlySQLiteDatabase(path: path)
        let open = contents(isShared: true)
        #expect(open.count == 3, "the log is in use")
        #expect(try await ids(look) == ["a"])
        #expect(contents(isShared: true) == open)
        // what comes later is seen, too
        try await database.write { try Shelf.add("b", to: $0) }
        #expect(try await ids(look) == ["a", "b"])
        await database.close()
        let closed = contents()
        #expect(closed.count == 1)
        #expect(try await ids(look) == ["a", "b"])
        #expect(contents() == closed)
    }

    @Test func `sees data of a killed process, and leaves it in place`() async throws {
        let database = try SQLiteDatabase(path: path, migrations: Shelf.migrations)
        try await database.write { try Shelf.add("a", to: $0) }
        // as they lie while they are in use
        let copy = folder.file("copy.db")
        for end in ["", "-wal", "-shm"] { try await checkProcess(["cp", path + end, copy + end]) }
        await database.close()
        let before = contents()
        #expect(before.count == 4)
        #expect(try await ids(ReadOnlySQLiteDatabase(path: copy)) == ["a"])
        #expect(contents() == before)
    }

    /// As another process would, beneath a look: without this program's knowledge, and with the log gone afterwards.
    private static func change(_ path: String, _ id: String) throws {
        let other = try SQLiteConnection(path: path, mode: .write, patience: 1000)
        try Shelf.add(id, to: other)
    }

    @Test func `counts for nothing where the file was changed meanwhile, and is taken again`() async throws {
        let database = try SQLiteDatabase(path: path, migrations: Shelf.migrations)
        try await database.write { try Shelf.add("a", to: $0) }
        await database.close()
        #expect(contents().count == 1)
        let (path, looks) = (path, Locked(0))
        let look = ReadOnlySQLiteDatabase(path: path)
        let seen = try await look.read { reader in
            let ids = try reader.rows(Shelf.ids).map { try $0.text(0) }
            if looks.withLock({
                $0 += 1; return $0 < 3
            }) {
                try Self.change(path, String(repeating: "b", count: ids.count))
            }
            return ids
        }
        #expect(seen == ["a", "b", "bb"] && looks.withLock { $0 } == 3)
        // what fails on what may be half another file does not count either
        looks.withLock { $0 = 0 }
        let count = try await look.read { reader in
            guard
                looks.withLock({
                    $0 += 1; return $0 > 1
                })
            else {
                try Self.change(path, "c")
                throw StoreError(.corrupt, "torn")
            }
            return try reader.rows(Shelf.ids).count
        }
        #expect(count == 4 && looks.withLock { $0 } == 2)
        // a look that fails by itself fails immediately
        looks.withLock { $0 = 0 }
        await #expect(throws: StoreError(.corrupt, "")) {
            try await look.read { _ in
                looks.withLock { $0 += 1 }
                throw StoreError(.corrupt, "broken")
            }
        }
        #expect(looks.withLock { $0 } == 1)
        let change: @Sendable (any Transaction) throws -> Void = { _ in
            try Self.change(path, "d\(looks.withLock { $0 += 1; return $0 })")
            throw StoreError(.corrupt, "torn, each time")
        }
        await #expect(throws: StoreError(.busy, "")) { try await look.read(change) }
    }

    @Test func `of one with a rollback journal waits for its changes, and takes none that was left half done`() async throws {
        let sqlite = try requirePeer("sqlite3")
        try await checkProcess([sqlite, path, "CREATE TABLE book (id TEXT); INSERT INTO book VALUES ('a');"])
        let look = ReadOnlySQLiteDatabase(path: path)
        #expect(try await ids(look) == ["a"])
        let magic: [UInt8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]
        let journal = folder.write("a b?c%41#.db-journal", magic + [UInt8](repeating: 0, count: 504))
        await #expect(throws: StoreError(.busy, "")) { try await ids(look) }
        // one that is waited for
        let ending = Task {
            try await Task.sleep(for: .milliseconds(300))
            _ = unsafe unlink(journal)
        }
        let start = ContinuousClock.now
        #expect(try await ids(look) == ["a"])
        #expect(ContinuousClock.now - start >= .milliseconds(200))
        try await ending.value
        // as left by a journal mode that does not delete it
        folder.write("a b?c%41#.db-journal", [UInt8](repeating: 0, count: 512))
        #expect(try await ids(look) == ["a"])
    }

    /// Times of files move in steps, within which a second change is not seen.
    @Test func `waits until a change would be seen`() async throws {
        try await checkProcess([try requirePeer("sqlite3"), path, "CREATE TABLE book (id TEXT);"])
        let look = ReadOnlySQLiteDatabase(path: path)
        func seconds(after change: Duration) async throws -> Duration {
            var now = timespec()
            unsafe clock_gettime(CLOCK_REALTIME, &now)
            let moment = Int(change / .nanoseconds(1)) + now.tv_nsec
            var times = [timespec(tv_sec: now.tv_sec + moment / 1_000_000_000, tv_nsec: moment % 1_000_000_000 | 1)]
            times.append(times[0])
            #expect(unsafe utimensat(AT_FDCWD, path, times, 0) == 0)
            let start = ContinuousClock.now
            #expect(try await ids(look) == [])
            return ContinuousClock.now - start
        }
        #expect(try await seconds(after: .milliseconds(400)) >= .milliseconds(400), "a server's clock is a little ahead")
        #expect(try await seconds(after: .seconds(100)) < .milliseconds(50), "it is wrong altogether")
    }

    @Test func `never sees half of what another program writes`() async throws {
        let sqlite = try requirePeer("sqlite3")
        try await SQLiteDatabase(path: path, migrations: Shelf.migrations).close()
        // opens the database, writes and goes again, so that its log comes and goes, too
        let script = """
            for round in $(seq 150); do
              "$0" "$1" "BEGIN; INSERT INTO book (id, pages) VALUES ('a$round', 1); INSERT INTO book (id, pages) VALUES ('b$round', 1); COMMIT;"
            done
            """
        let (path, isOver) = (path, Locked(false))
        let writing = Task {
            defer { isOver.withLock { $0 = true } }
            try await checkProcess(["sh", "-c", script, sqlite, path])
        }
        let look = ReadOnlySQLiteDatabase(path: path)
        var (last, looks) = (0, 0)
        while !isOver.withLock({ $0 }) {
            do {
                let seen = try await ids(look).count
                #expect(seen % 2 == 0 && seen >= last)
                (last, looks) = (seen, looks + 1)
            } catch let error as StoreError where error.code == .busy {}
        }
        try await writing.value
        #expect(looks > 0)
        #expect(try await ids(look).count == 300)
    }

    @Test func `writes nothing, and migrates nothing`() async throws {
        try await SQLiteDatabase(path: path, migrations: []).close()
        let other = folder.file("other.db")
        try await SQLiteDatabase(path: other, migrations: Shelf.migrations).close()
        let before = contents()
        let look = ReadOnlySQLiteDatabase(path: path)
        await #expect(throws: StoreError(.statement, "")) { try await look.read { try $0.rows(Shelf.ids) } }
        await #expect(throws: StoreError(.readOnly, "")) { try await look.write { try Shelf.add("a", to: $0) } }
        await #expect(throws: StoreError(.readOnly, "")) {
            try await ReadOnlySQLiteDatabase(path: other).read { try Shelf.add("a", to: $0) }
        }
        #expect(contents() == before)
        await #expect(throws: StoreError(.unavailable, "")) {
            try await ids(ReadOnlySQLiteDatabase(path: folder.file("none.db")))
        }
        #expect(contents() == before)
        await look.close()
        await #expect(throws: StoreError(.closed, "")) { try await ids(look) }
    }
}
