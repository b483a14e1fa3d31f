// SPDX-License-Identifier: Apache-2.0

package import CarrelStore
import CarrelThreads

/// Removes deleted rows permanently from the database's files, including its log. A reader of an older snapshot blocks the log,
/// so it may take several attempts.
package final class Expunging: Sendable {
    private let database: any Database
    /// Numbers of deletions, and of those expunged from the database's files. A crash may have left some, so it starts with one.
    private let progress = Locked((deleted: 1, expunged: 0))

    package init(_ database: any Database) { self.database = database }

    /// Removes what was deleted just now.
    ///
    /// - Returns: whether it is done; if not, it is tried again later.
    @discardableResult
    package func run() async -> Bool {
        await run(
            progress.withLock {
                $0.deleted += 1
                return $0.deleted
            }
        )
    }

    /// Removes what is not removed yet.
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
