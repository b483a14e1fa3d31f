// SPDX-License-Identifier: Apache-2.0

package import CarrelStore

/// A table whose rows a restore carries over from the database that a backup replaced.
///
/// Both databases have the schema of this version, so their columns have the same order. The columns of the primary key come first.
package struct CarriedTable: Sendable {
    /// The table's name.
    package let table: String
    /// All columns of the rows after a key, in the order of the key; the parameters are the key's columns and a limit.
    let page: SQL
    /// All columns of the row with a key.
    let own: SQL
    /// Inserts a row, or updates the one with its key. Its parameters are all columns.
    let merge: SQL
    /// A key before every other.
    let start: [SQLValue]
    /// The number of columns.
    let columns: Int
    /// Lists and deletes keys. If set, rows that the replaced database deleted do not come back with the backup.
    let removal: (keys: SQL, remove: SQL)?
    /// The names that a changed row is counted by.
    let names: @Sendable (Row, _ own: Row?) -> [String]
    /// Adapts a row of the replaced database to the restored one; nil leaves the restored database unchanged.
    let adapt: @Sendable (Row, _ own: Row?, any Transaction) throws -> Row?

    /// Rows read and written in one transaction.
    private static let batch = 500

    /// - Parameters:
    ///   - table: the table's name.
    ///   - page: all columns of the rows after a key, in the order of the key.
    ///   - own: all columns of the row with a key.
    ///   - merge: inserts a row, or updates the one with its key.
    ///   - start: a key before every other.
    ///   - columns: the number of columns.
    ///   - removal: lists and deletes the keys of rows that end if the replaced database lacks them.
    ///   - names: the names under which a changed row is counted.
    ///   - adapt: adapts a row to the restored database; by default rows are copied unchanged.
    package init(
        _ table: String,
        page: SQL,
        own: SQL,
        merge: SQL,
        start: [SQLValue],
        columns: Int,
        removal: (keys: SQL, remove: SQL)? = nil,
        names: @escaping @Sendable (Row, _ own: Row?) -> [String],
        adapt: @escaping @Sendable (Row, _ own: Row?, any Transaction) throws -> Row? = { row, _, _ in row }
    ) {
        self.table = table
        self.page = page
        self.own = own
        self.merge = merge
        self.start = start
        self.columns = columns
        self.removal = removal
        self.names = names
        self.adapt = adapt
    }

    /// The number of rows that were added, changed or removed, by name.
    package struct Outcome: Sendable {
        package var carried: [String: Int] = [:]
        package var removed = 0
        /// Whether the replaced database had the table to its end. If not, the rows before the damage are carried over, and none is removed.
        package var isComplete = true
    }

    /// Carries the rows over. It can be repeated after a failure.
    ///
    /// - Parameters:
    ///   - replaced: the replaced database, which is only read.
    ///   - restored: the restored database.
    /// - Returns: the numbers of rows that changed in the restored database.
    /// - Throws: the restored database's error.
    package func carry(from replaced: any Database, to restored: any Database) async throws -> Outcome {
        var outcome = Outcome()
        var key = start
        var seen: [[SQLValue]] = []
        while true {
            let after = key
            let read = try? await replaced.read { try $0.rows(page, after + [.integer(Int64(Self.batch))]) }
            guard let rows = read, rows.allSatisfy({ $0.values.count == columns }) else {
                outcome.isComplete = false
                return outcome
            }
            if removal != nil { seen += rows.map { Array($0.values.prefix(start.count)) } }
            let names = try await restored.write { transaction in
                try rows.flatMap { try merge($0, in: transaction) }
            }
            for name in names { outcome.carried[name, default: 0] += 1 }
            guard rows.count == Self.batch, let last = rows.last else { break }
            key = Array(last.values.prefix(start.count))
        }
        if let removal {
            let kept = seen
            outcome.removed = try await restored.write { transaction in
                let gone = try transaction.rows(removal.keys, []).map(\.values).filter { !kept.contains($0) }
                for key in gone { try transaction.run(removal.remove, key) }
                return gone.count
            }
        }
        return outcome
    }

    /// The names that the row is counted by; none if it changed nothing.
    private func merge(_ row: Row, in transaction: any Transaction) throws -> [String] {
        let own = try transaction.row(own, Array(row.values.prefix(start.count)))
        guard let adapted = try adapt(row, own, transaction), adapted != own else { return [] }
        try transaction.run(merge, adapted.values)
        return names(adapted, own)
    }
}
