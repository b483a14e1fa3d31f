// SPDX-License-Identifier: Apache-2.0

package import CarrelStore

/// A schema that shows lost, doubled and torn writes: every write adds a row and counts it elsewhere.
package enum Pairs {
    /// In many steps, so that a kill hits some of them.
    package static let migrations: [Migration] =
        [
            Migration(
                version: 1,
                name: "entries",
                statements: [
                    SQL("CREATE TABLE entry (writer BIGINT, number BIGINT, content TEXT NOT NULL, PRIMARY KEY (writer, number))"),
                    SQL("CREATE TABLE total (writer BIGINT PRIMARY KEY, entries BIGINT NOT NULL)"),
                ]
            )
        ] + (2...12).map { Migration(version: $0, name: "step \($0)", statements: [step, step, step]) }

    private static let step = SQL("INSERT INTO total (writer, entries) SELECT -COUNT(*) - 1, 0 FROM total")
    private static let count = SQL(
        """
        INSERT INTO total (writer, entries) VALUES ($1, 1)
        ON CONFLICT (writer) DO UPDATE SET entries = total.entries + 1
        RETURNING entries
        """
    )
    private static let insert = SQL("INSERT INTO entry (writer, number, content) VALUES ($1, $2, $3)")
    private static let totals = SQL(
        """
        SELECT total.writer, total.entries, COUNT(entry.number), COALESCE(MAX(entry.number), 0)
        FROM total LEFT JOIN entry ON entry.writer = total.writer
        GROUP BY total.writer, total.entries
        """
    )
    private static let orphans = SQL(
        "SELECT COUNT(*) FROM entry WHERE NOT EXISTS (SELECT 1 FROM total WHERE total.writer = entry.writer)"
    )

    /// Adds the writer's next entry and returns its number.
    package static func add(writer: Int64, to transaction: any Transaction) throws(StoreError) -> Int64 {
        guard let number = try transaction.row(count, [.integer(writer)])?.integer(0) else {
            throw StoreError(.corrupt, "no total came back")
        }
        try transaction.run(insert, [.integer(writer), .integer(number), .text(String(repeating: "x", count: 100))])
        return number
    }

    /// Adds an unrelated row of this size, to run out of space.
    package static func addLarge(_ number: Int64, bytes: Int, to transaction: any Transaction) throws(StoreError) {
        try transaction.run(insert, [-1, .integer(number), .text(String(repeating: "x", count: bytes))])
    }

    /// How many entries each writer has. Throws `store.corrupt` when rows and totals differ or migrations are torn.
    package static func check(_ transaction: any Transaction) throws(StoreError) -> [Int64: Int64] {
        var counts: [Int64: Int64] = [:]
        var steps = 0
        for row in try transaction.rows(totals) {
            let writer = try row.integer(0)
            guard try row.integer(1) == row.integer(2), try row.integer(2) == row.integer(3) else {
                throw StoreError(.corrupt, "writer \(writer) has a torn or lost write")
            }
            if writer < 0 { steps += 1 } else { counts[writer] = try row.integer(1) }
        }
        guard steps == 33 else { throw StoreError(.corrupt, "\(steps) of 33 steps of the schema were taken") }
        guard try transaction.row(orphans)?.integer(0) == 0 else { throw StoreError(.corrupt, "entries without a total") }
        return counts
    }
}
