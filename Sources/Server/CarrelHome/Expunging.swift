// SPDX-License-Identifier: Apache-2.0

package import CarrelStore
import CarrelThreads

/// Removes deleted rows permanently from the database's files, including its log. A reader of an older snapshot blocks the log,
/// so it may take several attempts.
package final class Expunging: Sendable {
    private let database: any Database
    /// The numbers of deletions and of expunged deletions. A crash may have left some, so it starts with one.
    private let progress = Locked((deleted: 1, expunged: 0))

    package init(_ database: any Database) { self.database = database }

    /// Expunges recently deleted rows.
    ///
    /// - Returns: whether it succeeded; if not, it is retried later.
    @discardableResult
    package func run() async -> Bool {
        await run(
            progress.withLock {
                $0.deleted += 1
                return $0.deleted
            }
        )
    }

    /// Expunges remaining deleted rows.
    package func finish() async {
        let (deleted, expunged) = progress.withLock { $0 }
        if expunged < deleted { await run(deleted) }
    }

    @discardableResult
    private func run(_ deleted: Int) async -> Bool {
        guard (try? await database.expunge()) == true else { return false }
        progress.withLock { $0.expunged = max($0.expunged, deleted) }
        return true
    }
}
