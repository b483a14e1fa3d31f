// SPDX-License-Identifier: Apache-2.0

import CarrelStore
import CarrelThreads
import Testing

struct `A database` {
    struct Refused: Error {}

    @Test(arguments: TestEngine.allCases)
    func `keeps every type of value`(engine: TestEngine) async throws {
        try await engine.withDatabase { database in
            let cover: [UInt8] = Array(0...255)
            try await database.write { transaction in
                try transaction.run(Shelf.add, ["a", .integer(.max), .real(0.1), .blob(cover)])
                try transaction.run(Shelf.add, ["Ærø’s 📚", 1, nil, .blob([])])
                try transaction.run(Shelf.addBackwards, ["", 7])
            }
            let rows = try await database.read { transaction in
                try ["a", "Ærø’s 📚", ""].map { try transaction.row(Shelf.book, [.text($0)]) }
            }
            #expect(rows[0]?.values == ["a", .integer(.max), .real(0.1), .blob(cover)])
            #expect(rows[1]?.values == ["Ærø’s 📚", 1, .null, .blob([])])
            #expect(rows[2]?.values == ["", 7, .null, .null], "parameters are bound by their number, not their place")
            #expect(try rows[1]?.realIfPresent(2) == nil)
            #expect(throws: StoreError(.type, "")) { try rows[1]?.text(1) }
        }
    }

    @Test(arguments: TestEngine.allCases)
    func `keeps large values and many rows`(engine: TestEngine) async throws {
        try await engine.withDatabase { database in
            let cover = [UInt8](repeating: 0xab, count: 300_000)
            try await database.write { transaction in
                for i in 1...500 { try transaction.run(Shelf.add, [.text("\(i)"), 1, nil, i == 77 ? .blob(cover) : nil]) }
            }
            let (count, stored) = try await database.read { transaction in
                var count = 0
                try transaction.each(Shelf.ids, []) { row in
                    let inner = try transaction.row(Shelf.book, [row[0]])
                    #expect(inner != nil, "statements nest")
                    count += 1
                }
                return (count, try transaction.row(Shelf.book, ["77"])?.blob(3))
            }
            #expect(count == 500)
            #expect(stored == cover)
        }
    }

    @Test(arguments: TestEngine.allCases)
    func `continues a transaction in which reading rows stopped early`(engine: TestEngine) async throws {
        try await engine.withDatabase { database in
            try await database.write { transaction in
                for i in 1...3 { try transaction.run(Shelf.add, [.text("\(i)"), 1, nil, nil]) }
            }
            let count = try await database.read { transaction in
                for _ in 0..<2 {
                    #expect(throws: Refused.self) { try transaction.each(Shelf.ids, []) { _ in throw Refused() } }
                }
                var count = 0
                try transaction.each(Shelf.ids, []) { _ in count += 1 }
                return count
            }
            #expect(count == 3)
        }
    }

    @Test(arguments: TestEngine.allCases)
    func `counts changed rows and returns them`(engine: TestEngine) async throws {
        try await engine.withDatabase { database in
            let answers = try await database.write { transaction in
                [
                    try transaction.rows(Shelf.upsert, ["a", 5]).count,
                    try transaction.rows(Shelf.upsert, ["a", 4]).count,
                    Int(try transaction.row(Shelf.upsert, ["a", 6])?.integer(0) ?? 0),
                    try transaction.run(Shelf.add, ["b", 1, nil, nil]),
                    try transaction.run(Shelf.remove, ["nobody"]),
                    try transaction.run(Shelf.removeAll),
                ]
            }
            #expect(answers == [1, 0, 6, 1, 0, 2])
        }
    }

    @Test(arguments: TestEngine.allCases)
    func `takes a transaction without a statement, and one whose first statement fails`(engine: TestEngine) async throws {
        try await engine.withDatabase { database in
            for _ in 0..<3 {
                let one = try await database.readBriefly { _ in 1 }
                #expect(one == 1)
                let two = try await database.write { _ in 2 }
                #expect(two == 2)
                await #expect(throws: Refused.self) { try await database.write { _ in throw Refused() } }
                await #expect(throws: StoreError(.check, "")) {
                    try await database.write { try $0.run(Shelf.add, ["a", 0, nil, nil]) }
                }
            }
            try await database.write { try Shelf.add("a", to: $0) }
            let count = try await Shelf.count(database)
            #expect(count == 1)
        }
    }

    @Test(arguments: TestEngine.allCases)
    func `undoes exactly the write that throws`(engine: TestEngine) async throws {
        try await engine.withDatabase { database in
            let outcomes = await withTaskGroup(of: (Int, Bool).self) { group in
                for i in 0..<60 {
                    group.addTask {
                        do {
                            try await database.write { transaction in
                                try Shelf.add("\(i)", to: transaction)
                                if i % 3 == 0 { throw Refused() }
                            }
                            return (i, true)
                        } catch {
                            #expect(error is Refused)
                            return (i, false)
                        }
                    }
                }
                return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
            }
            #expect(outcomes.filter { !$0.value }.keys.allSatisfy { $0 % 3 == 0 })
            let ids = try await database.read { try $0.rows(Shelf.ids).map { try $0.text(0) } }
            #expect(ids == (0..<60).filter { $0 % 3 != 0 }.map(String.init).sorted())
        }
    }

    @Test(arguments: TestEngine.allCases)
    func `names the constraint that refused a row`(engine: TestEngine) async throws {
        try await engine.withDatabase { database in
            try await database.write { try Shelf.add("a", to: $0) }
            await #expect(throws: StoreError(.unique, "")) { try await database.write { try Shelf.add("a", to: $0) } }
            await #expect(throws: StoreError(.check, "")) {
                try await database.write { try $0.run(Shelf.add, ["b", 0, nil, nil]) }
            }
            await #expect(throws: StoreError(.check, "")) {
                try await database.write { try $0.run(Shelf.add, ["b", nil, nil, nil]) }
            }
            await #expect(throws: StoreError(.foreignKey, "")) {
                try await database.write { try $0.run(Shelf.addNote, [1, "nobody", nil]) }
            }
            try await database.write { transaction in
                try transaction.run(Shelf.addNote, [1, "a", "good"])
                try transaction.run(Shelf.remove, ["a"])
            }
            #expect(try await database.read { try $0.row(Shelf.notes)?.integer(0) } == 0, "the deletion reached the note")
        }
    }

    @Test(arguments: TestEngine.allCases)
    func `keeps nothing of a write that caught a statement's error`(engine: TestEngine) async throws {
        try await engine.withDatabase { database in
            await #expect(throws: StoreError(.unique, "")) {
                try await database.write { transaction in
                    try Shelf.add("a", to: transaction)
                    try? Shelf.add("a", to: transaction)
                    #expect(throws: StoreError(.unique, "")) { try Shelf.add("b", to: transaction) }
                }
            }
            let count = try await Shelf.count(database)
            #expect(count == 0)
        }
    }

    @Test(arguments: TestEngine.allCases)
    func `never shows bound values in an error`(engine: TestEngine) async throws {
        try await engine.withDatabase { database in
            let secret = "hunter2"
            try await database.write { try Shelf.add(secret, to: $0) }
            let failing: [@Sendable (any Transaction) throws -> Void] = [
                { try Shelf.add(secret, to: $0) },
                { try $0.run(Shelf.add, [.text(secret), -1, nil, nil]) },
                { try $0.run(Shelf.addNote, [1, .text(secret + "!"), nil]) },
                { try $0.run(Shelf.add, [.text(secret)]) },
                { try $0.run(Shelf.add, [.text(secret + "\0"), 1, nil, nil]) },
            ]
            for statement in failing {
                do {
                    try await database.write(statement)
                    Issue.record("the statement was accepted")
                } catch {
                    #expect(error is StoreError)
                    #expect(!"\(error)".contains(secret), "\(error)")
                }
            }
        }
    }

    @Test(arguments: TestEngine.allCases)
    func `refuses to write in a read`(engine: TestEngine) async throws {
        try await engine.withDatabase { database in
            await #expect(throws: StoreError(.readOnly, "")) { try await database.read { try Shelf.add("a", to: $0) } }
            await #expect(throws: StoreError(.readOnly, "")) { try await database.readBriefly { try Shelf.add("a", to: $0) } }
            let count = try await Shelf.count(database)
            #expect(count == 0)
        }
    }

    @Test(arguments: TestEngine.allCases)
    func `reads earlier writes immediately`(engine: TestEngine) async throws {
        try await engine.withDatabase { database in
            for i in 1...50 {
                try await database.write { try Shelf.add("\(i)", to: $0) }
                #expect(try await database.readBriefly { try $0.row(Shelf.count)?.integer(0) } == Int64(i))
                #expect(try await Shelf.count(database) == Int64(i))
            }
        }
    }

    @Test(arguments: TestEngine.allCases)
    func `gives each read one snapshot`(engine: TestEngine) async throws {
        try await engine.withDatabase { database in
            let (ready, go) = (Locked(false), Locked(false))
            async let counts = database.read { transaction in
                let before = try transaction.row(Shelf.count)?.integer(0)
                ready.withLock { $0 = true }
                while !go.withLock({ $0 }) {}
                return [before, try transaction.row(Shelf.count)?.integer(0)]
            }
            while !ready.withLock({ $0 }) { await Task.yield() }
            try await database.write { try Shelf.add("a", to: $0) }
            go.withLock { $0 = true }
            #expect(try await counts == [0, 0])
            #expect(try await Shelf.count(database) == 1)
        }
    }

    @Test(arguments: TestEngine.allCases)
    func `checks statements without running them`(engine: TestEngine) async throws {
        try await engine.withDatabase { database in
            for sql in [Shelf.add, Shelf.book, Shelf.upsert, Shelf.removeAll] { try await database.prepareCheck(sql) }
            for sql in [
                SQL("SELECT nothing FROM book"), SQL("SELEC 1"), SQL("SELECT id FROM book; DELETE FROM book"), SQL(""),
                SQL("SELECT \"missing\" FROM book"), SQL("SELECT id FROM book WHERE id = $2"),
            ] {
                await #expect(throws: StoreError(.statement, ""), "\(sql)") { try await database.prepareCheck(sql) }
            }
        }
    }

    @Test(arguments: TestEngine.allCases)
    func `completes pending work and then refuses when it is closed`(engine: TestEngine) async throws {
        try await engine.withDatabase { database in
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for i in 0..<20 {
                    group.addTask {
                        do {
                            try await database.write { try Shelf.add("\(i)", to: $0) }
                            return true
                        } catch let error as StoreError {
                            #expect(error.code == .closed)
                            return false
                        }
                    }
                }
                await database.close()
                for try await _ in group {}
            }
            await #expect(throws: StoreError(.closed, "")) { try await database.write { try Shelf.add("z", to: $0) } }
            await #expect(throws: StoreError(.closed, "")) { try await Shelf.count(database) }
            await database.close()
        }
    }
}
