// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHome
import CarrelPostgres
import CarrelServer
import CarrelServerTesting
import CarrelStore
import CarrelTesting
import Glibc
import Testing

/// A database and a blob store share one id, so that neither is used with another's.
@Suite(.onBothDatabases)
struct `An installation` {
    private func id(_ database: any Database) async throws -> String? {
        try await database.read { try $0.row(SQL("SELECT id FROM installation"), []).map { try $0.text(0) } }
    }

    private func forget(in test: TestService) async throws {
        try await test.service.database.write { try $0.run(SQL("DELETE FROM installation")) }
    }

    private func file(_ test: TestService) -> String { test.directory.file("blobs/installation") }

    private func fileID(_ test: TestService) -> String? {
        test.directory.read("blobs/installation").map { String(decoding: $0.dropLast(), as: UTF8.self) }
    }

    private func blobCount(_ test: TestService) throws -> Int {
        var count = 0
        try test.service.blobs.each { _ in count += 1 }
        return count
    }

    /// Opens the service again on the same state, as the next start does.
    private func restart(_ test: TestService) async throws {
        try await test.another().database.close()
    }

    private func expectRefusal(_ test: TestService, saying text: String) async throws {
        let before = try blobCount(test)
        let refused = await #expect(throws: ServerError.self) { try await restart(test) }
        #expect(refused?.code == .installation)
        #expect(refused?.message.contains(text) == true, "\(refused?.message ?? "")")
        #expect(try blobCount(test) == before)
    }

    @Test func `has one id in its database and in its blobs from the first start on`() async throws {
        let test = try await TestService(.silence)
        let first = try #require(try await id(test.service.database))
        #expect(fileID(test) == first)
        try await restart(test)
        let second = try await id(test.service.database)
        #expect(second == first && fileID(test) == first)
    }

    @Test func `does not start with the blobs of another`() async throws {
        let test = try await TestService(.silence)
        let mine = try #require(fileID(test))
        let theirs = try #require(fileID(try await TestService(.silence)))
        #expect(mine != theirs)
        test.directory.write("blobs/installation", "\(theirs)\n")
        try await expectRefusal(test, saying: theirs)
        try await expectRefusal(test, saying: mine)
        test.directory.write("blobs/installation", "\(mine)\n")
        try await restart(test)
    }

    @Test func `does not start with a file of its id that is empty`() async throws {
        let test = try await TestService(.silence)
        test.directory.write("blobs/installation", "")
        let refused = await #expect(throws: StoreError.self) { try await restart(test) }
        #expect(refused?.code == .corrupt)
    }

    @Test func `of an older version gets an id, as does one whose start ended between row and file`() async throws {
        let test = try await TestService(.silence)
        try await forget(in: test)
        #expect(unsafe unlink(file(test)) == 0)
        try await restart(test)
        let first = try #require(try await id(test.service.database))
        #expect(fileID(test) == first)
        #expect(unsafe unlink(file(test)) == 0)
        try await restart(test)
        #expect(fileID(test) == first, "the row decides")
    }

    @Test func `takes the id of its blobs where a backup is older than the id`() async throws {
        let test = try await TestService(.silence)
        let first = fileID(test)
        try await forget(in: test)
        try await restart(test)
        let restored = try await id(test.service.database)
        #expect(restored == first && fileID(test) == first)
    }

    @Test func `is not made of blobs and a database that names none of them`() async throws {
        let test = try await TestService(.silence)
        try await forget(in: test)
        try await test.service.database.write { try $0.run(SQL("DELETE FROM titles")) }
        try await expectRefusal(test, saying: "refers to none of them")
        #expect(unsafe unlink(file(test)) == 0)
        try await expectRefusal(test, saying: "refers to none of them")
        let none = try await id(test.service.database)
        #expect(none == nil && fileID(test) == nil, "nothing is paired")
    }

    @Test func `of an older version with media that no title names continues once they are moved away`() async throws {
        let test = try await TestService(.silence)
        try await forget(in: test)
        try await test.service.database.write { try $0.run(SQL("DELETE FROM titles")) }
        #expect(unsafe unlink(file(test)) == 0)
        try await expectRefusal(test, saying: "move this folder away")
        try await checkProcess(["mv", test.directory.file("blobs"), test.directory.file("blobs.old")])
        try await checkProcess(["mkdir", "-m", "700", test.directory.file("blobs")])
        try await restart(test)
        let first = try await id(test.service.database)
        #expect(first != nil && fileID(test) == first)
        #expect(test.directory.read("blobs.old/installation") == nil, "the media that were moved away are as they were")
    }

    @Test func `gets one id from nodes that start at the same time`() async throws {
        let test = try await TestService(.silence)
        try await forget(in: test)
        #expect(unsafe unlink(file(test)) == 0)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 { group.addTask { try await restart(test) } }
            try await group.waitForAll()
        }
        #expect(try await id(test.service.database) == fileID(test))
        let partial = try await checkProcess(["ls", test.directory.file("blobs/partial")])
        #expect(partial.isEmpty)
    }

    @Test func `gives each node with blobs of its own the id of the database`() async throws {
        let test = try await TestService(.silence)
        let node = try Home(at: test.directory.file("node"), missing: .create)
        try node.make()
        try await checkProcess(["cp", test.service.home.masterKeyPath, node.masterKeyPath])
        try await test.another(in: node).database.close()
        #expect(test.directory.read("node/blobs/installation") == test.directory.read("blobs/installation"))
    }
}

/// The embedded database is a file, which can go.
struct `An installation whose database file is gone` {
    @Test(arguments: [true, false])
    func `does not start with an empty one in its place`(isEmptied: Bool) async throws {
        let test = try await TestService(.silence)
        let home = test.service.home
        await test.service.database.close()
        try await checkProcess(["rm", "-f", home.databasePath, "\(home.databasePath)-wal", "\(home.databasePath)-shm"])
        if isEmptied { test.directory.write("carrel.db", []) }
        let refused = await #expect(throws: ServerError.self) {
            try await CarrelService.open(home, missing: .create, clock: test.clock)
        }
        #expect(refused?.code == .installation)
        #expect(refused?.message.contains("is missing or empty") == true)
        #expect(!home.hasDatabase, "no database is left in its place")
        var count = 0
        try test.service.blobs.each { _ in count += 1 }
        #expect(count == 2)
    }
}
