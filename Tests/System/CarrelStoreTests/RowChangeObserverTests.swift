// SPDX-License-Identifier: Apache-2.0

import CarrelPostgres
import CarrelStore
import CarrelTesting
import CarrelThreads
import Testing

struct `Who watches a database for changes` {
    private static let triggers: [StaticString] = [
        "CREATE TEMP TRIGGER IF NOT EXISTS book_made AFTER INSERT ON main.book BEGIN SELECT note_change(NEW.id); END",
        "CREATE TEMP TRIGGER IF NOT EXISTS book_gone AFTER DELETE ON main.book BEGIN SELECT note_change(NULL); END",
    ]

    private final class Heard: Sendable {
        private let heard = Locked<[RowChangeObserver.Changes]>([])

        func add(_ changes: RowChangeObserver.Changes) { heard.withLock { $0.append(changes) } }

        /// The changes received since the last call.
        func take() -> [RowChangeObserver.Changes] {
            heard.withLock { heard in
                defer { heard = [] }
                return heard
            }
        }
    }

    private func open(_ folder: TemporaryDirectory) throws -> SQLiteDatabase {
        try SQLiteDatabase(path: folder.file("a.db"), migrations: Shelf.migrations)
    }

    @Test func `hears whose rows are changed by the time that the change is acknowledged`() async throws {
        let folder = TemporaryDirectory()
        let (database, heard, second) = (try open(folder), Heard(), Heard())
        try await database.write { try Shelf.add("before", to: $0) }
        #expect(try await database.watch(RowChangeObserver(triggers: Self.triggers) { heard.add($0) }))
        #expect(try await database.watch(RowChangeObserver(triggers: Self.triggers) { second.add($0) }))
        try await database.write { try Shelf.add("a", to: $0) }
        #expect(heard.take() == [.of(["a"])])
        try await database.write { transaction in _ = try transaction.row(Shelf.count) }
        #expect(heard.take() == [])
        try await database.write { try transaction($0) }
        #expect(heard.take() == [.any])
        #expect(second.take() == [.of(["a"]), .any])
        await database.close()

        @Sendable func transaction(_ transaction: any Transaction) throws {
            try Shelf.add("b", to: transaction)
            try transaction.run(Shelf.remove, [.text("a")])
        }
    }

    @Test func `hears of others' changes when it asks, and of its own only once`() async throws {
        let folder = TemporaryDirectory()
        let (database, other, heard) = (try open(folder), try open(folder), Heard())
        _ = try await database.watch(RowChangeObserver(triggers: Self.triggers) { heard.add($0) })
        try await database.detectExternalChanges()
        #expect(heard.take() == [])
        try await database.write { try Shelf.add("a", to: $0) }
        try await database.detectExternalChanges()
        #expect(heard.take() == [.of(["a"])])
        try await other.write { try Shelf.add("b", to: $0) }
        #expect(heard.take() == [])
        try await database.detectExternalChanges()
        #expect(heard.take() == [.any])
        try await database.write { try Shelf.add("c", to: $0) }
        try await database.detectExternalChanges()
        #expect(heard.take() == [.of(["c"])])
        try await other.write { try Shelf.add("d", to: $0) }
        // A write of its own in between does not hide the other's.
        try await database.write { try Shelf.add("e", to: $0) }
        try await database.detectExternalChanges()
        #expect(heard.take() == [.of(["e"]), .any])
        await database.close()
        await other.close()
    }

    @Test func `is told by PostgreSQL that it cannot be`() async throws {
        let address = try await PrivatePostgres.shared().newDatabase()
        let database = try PostgresDatabase(address, migrations: Shelf.migrations)
        #expect(try await !database.watch(RowChangeObserver(triggers: []) { _ in }))
        try await database.detectExternalChanges()
        await database.close()
    }
}
