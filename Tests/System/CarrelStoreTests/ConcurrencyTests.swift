// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelStore
import CarrelThreads
import Testing

struct `Concurrent work` {
    static let addIfFew = SQL("INSERT INTO book (id, pages) SELECT $1, 1 WHERE (SELECT COUNT(*) FROM book) < 10")
    static let increase = SQL("UPDATE book SET pages = pages + 1 WHERE id = $1")

    @Test(arguments: TestEngine.allCases)
    func `never pass a limit that each of them checks`(engine: TestEngine) async throws {
        try await engine.withPlace { open in
            let nodes = try (0..<2).map { _ in try open(Shelf.migrations, SystemClock()) }
            let granted = try await withThrowingTaskGroup(of: Int.self) { group in
                for i in 0..<60 {
                    group.addTask { try await nodes[i % 2].write { try $0.run(Self.addIfFew, [.text("\(i)")]) } }
                }
                return try await group.reduce(0, +)
            }
            #expect(granted == 10)
            let count = try await Shelf.count(nodes[0])
            #expect(count == 10)
            for node in nodes { await node.close() }
        }
    }

    @Test(arguments: TestEngine.allCases)
    func `lose no update of one row`(engine: TestEngine) async throws {
        try await engine.withDatabase { database in
            try await database.write { try Shelf.add("a", to: $0) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        for _ in 0..<10 {
                            try await database.write { transaction in
                                // Read and write apart, so that a lost update would show.
                                let pages = try transaction.row(Shelf.book, ["a"])?.integer(1) ?? 0
                                try transaction.run(Shelf.upsert, ["a", .integer(pages + 1)])
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            let pages = try await database.readBriefly { try $0.row(Shelf.book, ["a"])?.integer(1) }
            #expect(pages == 81)
        }
    }

    @Test(arguments: TestEngine.allCases)
    func `see either all or nothing of a write`(engine: TestEngine) async throws {
        try await engine.withDatabase { database in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for _ in 0..<30 {
                        try await database.write { transaction in
                            for i in 0..<5 { try Shelf.add("\(i)", to: transaction) }
                        }
                        try await database.write { try $0.run(Shelf.removeAll) }
                    }
                }
                for _ in 0..<2 {
                    group.addTask {
                        for _ in 0..<100 {
                            let count = try await Shelf.count(database)
                            #expect(count == 0 || count == 5)
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }
}
