// SPDX-License-Identifier: Apache-2.0

import CarrelTesting
import CarrelThreads
import Glibc
import Testing

@testable import CarrelStore

struct `A SQLite database` {
    @Test func `is private to its user`() async throws {
        let folder = TemporaryDirectory()
        let database = try SQLiteDatabase(path: folder.file("a.db"), migrations: Shelf.migrations)
        try await database.write { try Shelf.add("a", to: $0) }
        #expect(names(in: folder.path) == ["a.db", "a.db-shm", "a.db-wal"])
        for name in names(in: folder.path) {
            var status = stat()
            #expect(unsafe stat(folder.file(name), &status) == 0)
            #expect(status.st_mode & 0o777 == 0o600, "\(name)")
        }
        await database.close()
        #expect(names(in: folder.path) == ["a.db"])
    }

    @Test func `of a version that did not overwrite what it deleted loses it with the first expunging, once`() async throws {
        let folder = TemporaryDirectory()
        let path = folder.file("a.db")
        func content() -> String {
            ["a.db", "a.db-wal"].map { String(decoding: folder.read($0) ?? [], as: UTF8.self) }.joined()
        }
        let database = try SQLiteDatabase(path: path, migrations: Shelf.migrations)
        try await database.write { transaction in
            for number in 0..<500 { try Shelf.add("secret \(number) of a reader", to: transaction) }
        }
        await database.close()
        let former = try SQLiteConnection(path: path, mode: .write, patience: 1000)
        try former.execute("PRAGMA secure_delete = OFF")
        try former.execute("PRAGMA user_version = 0")
        try former.execute("DELETE FROM book")
        #expect(former.truncateLog())
        #expect(content().contains("of a reader"), "a search would find what is there")
        withExtendedLifetime(former) {}

        let later = try SQLiteDatabase(path: path, migrations: Shelf.migrations)
        let told = Locked(0)
        _ = try await later.watch(
            RowChangeObserver(triggers: [
                "CREATE TEMP TRIGGER IF NOT EXISTS heard AFTER INSERT ON book BEGIN SELECT note_change('book'); END"
            ]) { _ in told.withLock { $0 += 1 } }
        )
        try await later.write { try Shelf.add("kept", to: $0) }
        #expect(try await later.expunge())
        let before = told.withLock(\.self)
        try await later.write { try Shelf.add("later", to: $0) }
        #expect(told.withLock(\.self) == before + 1, "what watches the database still hears of changes")
        #expect(!content().contains("of a reader") && content().contains("kept"))
        #expect(try await Shelf.count(later) == 2)
        let version = try await later.read { try $0.row(SQL("PRAGMA user_version"))?.integer(0) }
        #expect(version == 1, "the next time nothing is written again")
        await later.close()
    }

    @Test func `that is new never needs to be written again`() async throws {
        let folder = TemporaryDirectory()
        let database = try SQLiteDatabase(path: folder.file("a.db"), migrations: Shelf.migrations)
        let version = try await database.read { try $0.row(SQL("PRAGMA user_version"))?.integer(0) }
        #expect(version == 1)
        await database.close()
    }

    @Test func `commits waiting writes together`() async throws {
        let folder = TemporaryDirectory()
        let database = try SQLiteDatabase(path: folder.file("a.db"), migrations: Shelf.migrations)
        let (held, gate) = (Locked(false), Locked(false))
        // The first write holds the thread until the others wait; then they need few commits.
        async let first: Void = database.write { transaction in
            try Shelf.add("first", to: transaction)
            held.withLock { $0 = true }
            while !gate.withLock({ $0 }) {}
        }
        while !held.withLock({ $0 }) { await Task.yield() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for i in 0..<100 {
                group.addTask { try await database.write { try Shelf.add("\(i)", to: $0) } }
            }
            group.addTask {
                while database.waitingWrites < 100 { await Task.yield() }
                gate.withLock { $0 = true }
            }
            for try await _ in group {}
        }
        try await first
        #expect(database.counters == SQLiteCounters(writes: 101, commits: 1))
        #expect(try await Shelf.count(database) == 101)
        await database.close()
    }

    @Test func `undoes the changes of those alone that throw among waiting writes`() async throws {
        struct Refusal: Error {}
        let folder = TemporaryDirectory()
        let database = try SQLiteDatabase(path: folder.file("a.db"), migrations: Shelf.migrations)
        let (held, gate) = (Locked(false), Locked(false))
        async let first: Void = database.write { transaction in
            try Shelf.add("first", to: transaction)
            held.withLock { $0 = true }
            while !gate.withLock({ $0 }) {}
        }
        while !held.withLock({ $0 }) { await Task.yield() }
        let refused = try await withThrowingTaskGroup(of: Int.self) { group in
            for i in 0..<90 {
                group.addTask {
                    do {
                        try await database.write { transaction in
                            if i % 3 == 0 { throw Refusal() }
                            try Shelf.add("\(i)", to: transaction)
                            if i % 3 == 1 { throw Refusal() }
                        }
                        return 0
                    } catch is Refusal {
                        return 1
                    }
                }
            }
            while database.waitingWrites < 90 { await Task.yield() }
            gate.withLock { $0 = true }
            return try await group.reduce(0, +)
        }
        try await first
        #expect(refused == 60)
        #expect(try await Shelf.count(database) == 31)
        // a write that waits for no other
        await #expect(throws: Refusal.self) {
            try await database.write { transaction in
                try Shelf.add("alone", to: transaction)
                throw Refusal()
            }
        }
        try await database.write { try Shelf.add("last", to: $0) }
        #expect(try await Shelf.count(database) == 32)
        await database.close()
    }

    @Test func `lets two databases on one file write by turns`() async throws {
        let folder = TemporaryDirectory()
        let databases = try (0..<2).map { _ in try SQLiteDatabase(path: folder.file("a.db"), migrations: Shelf.migrations) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, database) in databases.enumerated() {
                for writer in 0..<8 {
                    group.addTask {
                        for i in 0..<20 { try await database.write { try Shelf.add("\(number)-\(writer)-\(i)", to: $0) } }
                    }
                }
            }
            for try await _ in group {}
        }
        for database in databases { #expect(try await Shelf.count(database) == 320) }
        for database in databases { await database.close() }
    }

    @Test func `gives up with busy when another holds the lock, and works again after`() async throws {
        let folder = TemporaryDirectory()
        let patient = try SQLiteDatabase(path: folder.file("a.db"), migrations: Shelf.migrations)
        let hasty = try SQLiteDatabase(path: folder.file("a.db"), migrations: Shelf.migrations, patience: 1)
        let (held, gate) = (Locked(false), Locked(false))
        async let holding: Void = patient.write { _ in
            held.withLock { $0 = true }
            while !gate.withLock({ $0 }) {}
        }
        while !held.withLock({ $0 }) { await Task.yield() }
        await #expect(throws: StoreError(.busy, "")) { try await hasty.write { try Shelf.add("a", to: $0) } }
        gate.withLock { $0 = true }
        try await holding
        try await hasty.write { try Shelf.add("a", to: $0) }
        await patient.close()
        await hasty.close()
    }

    @Test func `keeps its log short during writes`() async throws {
        let folder = TemporaryDirectory()
        let database = try SQLiteDatabase(path: folder.file("a.db"), migrations: Shelf.migrations)
        let cover = [UInt8](repeating: 1, count: 1 << 20)
        for i in 0..<100 { try await database.write { try $0.run(Shelf.add, [.text("\(i)"), 1, nil, .blob(cover)]) } }
        var status = stat()
        #expect(unsafe stat(folder.file("a.db-wal"), &status) == 0)
        #expect(status.st_size < 16 << 20, "\(status.st_size) bytes of log after 100 MiB of writes")
        await database.close()
    }

    @Test(arguments: [
        [UInt8]("this is no database, but long enough to be taken for one: ".utf8) + [UInt8](repeating: 65, count: 200)
    ])
    func `refuses a file that is something else`(content: [UInt8]) throws {
        let folder = TemporaryDirectory()
        let descriptor = unsafe open(folder.file("a.db"), O_CREAT | O_WRONLY, 0o600)
        #expect(unsafe write(descriptor, content, content.count) == content.count)
        close(descriptor)
        #expect(throws: StoreError(.corrupt, "")) { try SQLiteDatabase(path: folder.file("a.db"), migrations: Shelf.migrations) }
    }

    @Test func `says when its folder does not exist`() {
        #expect(throws: StoreError(.notFound, "")) { try SQLiteDatabase(path: "/nonexistent/a.db", migrations: Shelf.migrations) }
    }
}
