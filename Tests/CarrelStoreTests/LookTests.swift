import CarrelStore
import CarrelTesting
import Glibc
import Testing

struct `A look into a database` {
    private let folder = TemporaryDirectory()
    /// Of a name that has characters of addresses in it.
    private var path: String { folder.file("a b?c%41#.db") }

    /// What lies there; without the index of the log where this process writes to the database, too: both have the same then.
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
        let look = SQLiteLook(path: path)
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

    @Test func `sees what a process left behind that was killed, and leaves it there`() async throws {
        let database = try SQLiteDatabase(path: path, migrations: Shelf.migrations)
        try await database.write { try Shelf.add("a", to: $0) }
        // as they lie while they are in use
        let copy = folder.file("copy.db")
        for end in ["", "-wal", "-shm"] { try await checkProcess(["cp", path + end, copy + end]) }
        await database.close()
        let before = contents()
        #expect(before.count == 4)
        #expect(try await ids(SQLiteLook(path: copy)) == ["a"])
        #expect(contents() == before)
    }

    @Test func `writes nothing, and migrates nothing`() async throws {
        try await SQLiteDatabase(path: path, migrations: []).close()
        let other = folder.file("other.db")
        try await SQLiteDatabase(path: other, migrations: Shelf.migrations).close()
        let before = contents()
        let look = SQLiteLook(path: path)
        await #expect(throws: StoreError(.statement, "")) { try await look.read { try $0.rows(Shelf.ids) } }
        await #expect(throws: StoreError(.readOnly, "")) { try await look.write { try Shelf.add("a", to: $0) } }
        await #expect(throws: StoreError(.readOnly, "")) {
            try await SQLiteLook(path: other).read { try Shelf.add("a", to: $0) }
        }
        #expect(contents() == before)
        await #expect(throws: StoreError(.unavailable, "")) { try await ids(SQLiteLook(path: folder.file("none.db"))) }
        #expect(contents() == before)
        await look.close()
        await #expect(throws: StoreError(.closed, "")) { try await ids(look) }
    }
}
