// SPDX-License-Identifier: Apache-2.0

// Durable batches of ten rows from 64 clients against a C loop that makes the same inserts with 64 batches to a commit, and
// rows by key against a C loop of the same selects, alternating in one run. Prints the median of the ratios with the least and
// the greatest: 0.50 is half as fast as the loop, which has no clients to answer.

import CStoreLoops
import CarrelStore
import Glibc

/// The log of listening intervals, as the product keeps it.
enum Log {
    static let schema: StaticString = """
        CREATE TABLE IF NOT EXISTS interval (
            order_id TEXT NOT NULL, device TEXT NOT NULL, started BIGINT NOT NULL, ended BIGINT NOT NULL,
            start_position DOUBLE PRECISION NOT NULL, end_position DOUBLE PRECISION NOT NULL,
            PRIMARY KEY (order_id, device, started)
        )
        """
    static let titles: StaticString = "CREATE TABLE IF NOT EXISTS title (id BIGINT PRIMARY KEY, name TEXT NOT NULL)"
    static let insertText: StaticString = """
        INSERT INTO interval (order_id, device, started, ended, start_position, end_position)
        VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING
        """
    static let selectText: StaticString = "SELECT id, name FROM title WHERE id = $1"
    static let insert = SQL(insertText)
    static let select = SQL(selectText)
    static let addTitle = SQL("INSERT INTO title (id, name) VALUES ($1, $2)")
    static let migrations = [Migration(version: 1, name: "log", statements: [SQL(schema), SQL(titles)])]
}

let rounds = 7
let batches = 16384
let clients = 64
let titleCount: Int64 = 10_000

func seconds(_ body: () async throws -> Void) async rethrows -> Double {
    func now() -> Double {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
    let start = now()
    try await body()
    return now() - start
}

func rounded(_ value: Double) -> Double { (value * 100).rounded() / 100 }

func report(_ name: String, unit: String, ratios: [Double], best: Double, peer: Double) {
    let sorted = ratios.sorted()
    print(
        "\(name): \(rounded(sorted[rounds / 2])) of the C loop [\(rounded(sorted[0])), \(rounded(sorted[rounds - 1]))];",
        "at best \(Int(best)) \(unit), the loop \(Int(peer))"
    )
}

@concurrent
func ours(_ database: SQLiteDatabase, first: Int) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
        for client in 0..<clients {
            group.addTask {
                for number in stride(from: first + client, to: first + batches, by: clients) {
                    let digits = String(number % 1000)
                    let order = "4e5f6a7b-0c1d-4e2f-8a3b-" + String(repeating: "0", count: 12 - digits.utf8.count) + digits
                    try await database.write { transaction in
                        for row in 0..<10 {
                            let started = Int64(number) * 100 + Int64(row)
                            let position = Double(row) * 10.25
                            try transaction.run(
                                Log.insert,
                                [
                                    .text(order), "1c6f0a52-8e7b-4d5e-9b1a-2f3c4d5e6f70", .integer(started),
                                    .integer(started + 1),
                                    .real(position), .real(position + 10),
                                ]
                            )
                        }
                    }
                }
            }
        }
        try await group.waitForAll()
    }
}

var template = Array("/var/tmp/store-bench-XXXXXX".utf8CString)
guard unsafe mkdtemp(&template) != nil else { fatalError("no temporary folder") }
let folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
let database = try SQLiteDatabase(path: folder + "/ours.db", migrations: Log.migrations)
guard let loop = unsafe store_loop_open(folder + "/loop.db", Log.schema.description + ";" + Log.titles.description) else {
    fatalError("the C loop cannot open its database")
}
try await database.write { transaction in
    for id in 0..<titleCount { try transaction.run(Log.addTitle, [.integer(id), .text("The title of number \(id)")]) }
}

var ratios: [Double] = []
var best = (ours: 0.0, loop: 0.0)
for round in 0..<rounds {
    let mine = try await seconds { try await ours(database, first: round * batches) }
    let theirs = await seconds {
        let failed = unsafe store_loop_insert(
            loop,
            Log.insertText.description,
            round * batches,
            Int32(batches),
            10,
            Int32(clients)
        )
        precondition(failed == 0)
    }
    ratios.append(theirs / mine)
    best = (max(best.ours, Double(batches) / mine), max(best.loop, Double(batches) / theirs))
}
report("durable batches of 10 rows, \(clients) clients", unit: "batches/s", ratios: ratios, best: best.ours, peer: best.loop)
let counters = database.counters
print("  \(rounded(Double(counters.writes) / Double(counters.commits))) batches to a commit")

let times = 100_000
ratios = []
best = (0, 0)
guard let reader = unsafe store_loop_open(folder + "/ours.db", "") else { fatalError("the C loop cannot open our database") }
for _ in 0..<rounds {
    var found = 0
    let mine = try await seconds {
        for time in 0..<times {
            let key = Int64(time) * 7919 % titleCount
            found += try await database.readBriefly { try $0.row(Log.select, [.integer(key)]) == nil ? 0 : 1 }
        }
    }
    let theirs = await seconds {
        found -= unsafe Int(store_loop_select(reader, Log.selectText.description, Int(titleCount), Int32(times)))
    }
    precondition(found == 0)
    ratios.append(theirs / mine)
    best = (max(best.ours, Double(times) / mine), max(best.loop, Double(times) / theirs))
}
report("rows by key, on the calling thread", unit: "rows/s", ratios: ratios, best: best.ours, peer: best.loop)

unsafe store_loop_close(reader)
unsafe store_loop_close(loop)
await database.close()
for name in ["ours.db", "loop.db", "loop.db-wal", "loop.db-shm"] { _ = unsafe unlink(folder + "/" + name) }
_ = unsafe rmdir(folder)
