// SPDX-License-Identifier: Apache-2.0

import CarrelPostgres
import CarrelStore
import CarrelTesting
import Glibc
import StorePairs
import Testing

struct `A killed process` {
    static let isLong = unsafe getenv("CARREL_LONG") != nil

    @Test(arguments: TestEngine.allCases)
    func `loses no acknowledged write and tears none`(engine: TestEngine) async throws {
        try await killAgainAndAgain(engine, times: 10)
    }

    @Test(.enabled(if: isLong, "only with CARREL_LONG=1"), .timeLimit(.minutes(10)), arguments: TestEngine.allCases)
    func `loses nothing in two hundred kills`(engine: TestEngine) async throws {
        try await killAgainAndAgain(engine, times: 200)
    }

    private func killAgainAndAgain(_ engine: TestEngine, times: Int) async throws {
        let folder = TemporaryDirectory()
        let file = folder.file("a.db")
        let place = engine == .sqlite ? file : try await PrivatePostgres.shared().newDatabase()
        var acknowledged: [Int64: Int64] = [:]
        var total = 0
        for time in 0..<times {
            // The first kills come while the schema is made, later ones while many write.
            let isEarly = time < times / 3
            let patience = isEarly ? ["\(Int.random(in: 1000...20_000))"] : ["\(Int.random(in: 1...100_000))", "answered"]
            let result = try await runProcess(try crashWriter() + ["write", place, "8"] + patience)
            #expect(result.status == .signaled(SIGKILL), "\(result.errorText)")
            for line in result.text.split(separator: "\n") {
                let numbers = line.split(separator: " ").compactMap { Int64($0) }
                guard numbers.count == 2 else { continue }
                #expect(numbers[1] == acknowledged[numbers[0], default: 0] + 1 || isFirst(numbers, acknowledged))
                acknowledged[numbers[0]] = numbers[1]
                total += 1
            }
            let database: any Database =
                engine == .sqlite
                ? try SQLiteDatabase(path: file, migrations: Pairs.migrations)
                : try PostgresDatabase(place, migrations: Pairs.migrations)
            let kept = try await database.read { try Pairs.check($0) }
            for (writer, number) in acknowledged {
                // At most the one write that was under way may be there without its answer.
                #expect((number...number + 1).contains(kept[writer] ?? 0), "writer \(writer): \(number) answered")
                acknowledged[writer] = kept[writer]
            }
            await database.close()
            if engine == .sqlite {
                #expect(try await SQLiteDatabase.check(file) == DatabaseCheck(problems: [], schemaVersion: 12))
            }
        }
        #expect(total >= times - times / 3, "only \(total) writes were answered")
    }

    private func isFirst(_ numbers: [Int64], _ acknowledged: [Int64: Int64]) -> Bool { acknowledged[numbers[0]] == nil }
}

struct `A full disk` {
    @Test func `fails the write, keeps the rest readable, and works again once there is room`() async throws {
        let folder = TemporaryDirectory()
        let result = try await runProcess(try crashWriter() + ["full", folder.file("a.db"), "400000"])
        let lines = result.text.split(separator: "\n").map(String.init)
        #expect(result.status == .exited(0), "\(result.errorText)")
        try #require(lines.count == 2, "\(result.text)")
        let numbers = lines[0].split(whereSeparator: { !$0.isNumber }).compactMap { Int($0) }
        #expect(lines[0].hasPrefix("store.full after"))
        #expect(lines[0].hasSuffix("; probe 1×store.full"), "\(lines[0])")
        #expect(numbers.count == 3 && numbers[0] > 10 && numbers[0] == numbers[1], "\(lines[0])")
        #expect(lines[1] == "works again")
        #expect(try await SQLiteDatabase.check(folder.file("a.db")).isSound)
    }

    @Test func `fails the one write that fills it, not the others of its group`() async throws {
        let folder = TemporaryDirectory()
        let result = try await runProcess(try crashWriter() + ["fullgroup", folder.file("a.db"), "40000000"])
        let lines = result.text.split(separator: "\n")
        try #require(lines.count == 2, "\(result.text) \(result.errorText)")
        #expect(lines[0] == "10×done 1×store.full 10×done")
        #expect(lines[1].hasPrefix("kept 10 10 in "))
        #expect(try await SQLiteDatabase.check(folder.file("a.db")).isSound)
    }
}

struct `Two processes` {
    @Test func `write to one SQLite file by turns, and neither starves`() async throws {
        let folder = TemporaryDirectory()
        let place = folder.file("a.db")
        let writer = try crashWriter()
        let answers = try await withThrowingTaskGroup(of: [Int64: Int64].self) { group in
            for _ in 0..<2 {
                group.addTask {
                    let result = try await runProcess(writer + ["write", place, "8", "500000", "answered"])
                    #expect(result.status == .signaled(SIGKILL), "\(result.errorText)")
                    let lines = result.text.split(separator: "\n").map { $0.split(separator: " ").compactMap { Int64($0) } }
                    #expect(lines.count >= 16, "\(lines.count) answers while the other wrote")
                    return lines.reduce(into: [:]) { $0[$1[0]] = max($0[$1[0]] ?? 0, $1[1]) }
                }
            }
            return try await group.reduce(into: [:]) { $0.merge($1) { max($0, $1) } }
        }
        let database = try SQLiteDatabase(path: place, migrations: Pairs.migrations)
        let kept = try await database.read { try Pairs.check($0) }
        for (writer, number) in answers { #expect((number...number + 2).contains(kept[writer] ?? 0), "writer \(writer)") }
        await database.close()
    }
}
