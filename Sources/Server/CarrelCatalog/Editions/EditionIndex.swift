// SPDX-License-Identifier: Apache-2.0

package import CarrelStore
import CarrelSubscription

/// The index that searches the catalog: of published editions alone, written in the transaction that writes the edition.
///
/// SQLite keeps it in a table of FTS5, PostgreSQL in a `tsvector` ([decision 21](docs/decisions/0021-the-index-of-the-catalog.md)).
package enum EditionIndex {
    /// Editions that are indexed in one transaction after an upgrade; other writes wait for it.
    private static let batch = 25
    /// Batches in turn that may find the database busy.
    private static let patience = 30

    /// Writes the search index of an edition, or removes it if it is not published.
    static func set(_ edition: Edition, _ search: SearchText, in transaction: any Transaction) throws {
        try set(edition.title.id, edition.state == .published ? search.text : nil, in: transaction)
    }

    private static func set(_ title: String, _ text: String?, in transaction: any Transaction) throws {
        _ = try transaction.run(EditionStore.markIndexed, [.text(title), .integer(SearchGrams.version)])
        if let text {
            _ = try transaction.run(EditionStore.setGrams, [.text(title), .text(SearchGrams.index(text))])
        } else {
            _ = try transaction.run(EditionStore.removeGrams, [.text(title)])
        }
    }

    /// Indexes editions written by another version of the program, before an upgrade or on another node. Housekeeping calls it in
    /// the background; until then a search finds only indexed editions.
    package static func complete(_ database: any Database) async throws {
        let version = SQLValue.integer(SearchGrams.version)
        guard try await database.read({ try $0.row(EditionStore.notIndexed, [version, 1]) }) != nil else { return }
        var (isDone, busyBatches) = (false, 0)
        while !isDone {
            do {
                isDone = try await completeBatch(of: database, version)
                busyBatches = 0
            } catch let error as StoreError where error.code == .busy && busyBatches < patience {
                busyBatches += 1  // another node indexes the same editions
            }
        }
    }

    private static func completeBatch(of database: any Database, _ version: SQLValue) async throws -> Bool {
        try await database.write { transaction in
            let rows = try transaction.rows(EditionStore.notIndexed, [version, .integer(Int64(batch))])
            for row in rows {
                let isPublished = try row.text(1) == Product.State.published.rawValue
                try set(try row.text(0), isPublished ? try row.text(2) : nil, in: transaction)
            }
            return rows.count < batch
        }
    }
}
