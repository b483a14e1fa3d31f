// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelHome
package import CarrelStore
package import CarrelWebAPI

/// Removes expired rows of all capabilities. No request waits for it: it runs as a job, in small batches.
package struct Housekeeping: Sendable {
    private let database: any Database
    private let clock: any WallClock
    private let expunging: Expunging?
    private let cleanups: [Cleanup]

    /// The time between two runs.
    package static let interval = Duration.seconds(10)
    /// Rows that one transaction removes.
    private static let batch = 500

    package init(database: any Database, clock: any WallClock, expunging: Expunging? = nil, cleanups: [Cleanup]) {
        self.database = database
        self.clock = clock
        self.expunging = expunging
        self.cleanups = cleanups
    }

    /// Removes all expired rows.
    ///
    /// - Returns: the number of removed rows.
    /// - Throws: the database's error; rows removed before it stay removed.
    @discardableResult
    package func run() async throws -> Int {
        let now = clock.now
        var count = 0
        for cleanup in cleanups where try await database.read(cleanup.isDue) {
            var removed: Int
            repeat {
                removed = try await database.write { try cleanup.remove(now, Self.batch, $0) }
                count += removed
            } while removed >= Self.batch
        }
        await expunging?.finish()
        return count
    }
}
