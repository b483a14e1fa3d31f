// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHome
import CarrelStore
import CarrelThreads
import Glibc

/// Moves blobs that the catalog does not use to the trash: remains of replaced titles, replaced covers and killed processes. They
/// are deleted a week later.
///
/// Blobs younger than a day stay: an ingest, here or in another process, may be about to enter them. While the database that a
/// restore replaced is still next to the restored one, all blobs stay: the older database cannot name blobs that came after it.
/// Blobs that it names still move back from the trash.
package struct BlobSweep: Sendable {
    let database: any Database
    let blobs: any BlobStore
    let clock: any WallClock
    let thread: BlockingThreadPool
    let home: Home

    /// Blobs younger than this stay.
    package static let age = Duration.seconds(24 * 3600)
    /// The time between two sweeps.
    package static let interval = Duration.seconds(6 * 3600)
    /// Unused blobs up to this number are moved, whatever their share of the store.
    private static let harmless = 100

    /// Whether all blobs stay, because of the database that a restore replaced.
    package var isHeld: Bool { home.replacedDatabasePath != nil }

    /// Sweeps once.
    ///
    /// - Parameter everything: also sweep more than a tenth of the store.
    /// - Returns: the number of blobs that were moved to the trash.
    /// - Throws: ``ServerError`` `sweepRefused` if more than a tenth of the store, and more than a hundred blobs, are unused;
    ///   nothing is moved or deleted then. What the database and the store throw.
    @discardableResult
    package func run(everything: Bool = false) async throws -> Int {
        let now = clock.now
        let before = now - Self.age
        let named = try await NamedBlobs(in: database)
        let (blobs, isHeld) = (blobs, isHeld)
        return try await thread.run {
            if isHeld {
                try blobs.recover { named.contains($0) }
                return 0
            }
            let census = try blobs.census(before: before) { named.contains($0) }
            guard everything || census.unused <= Self.harmless || census.unused * 10 <= census.all else {
                try blobs.recover { named.contains($0) }
                throw ServerError(
                    .sweepRefused,
                    "the database names none of \(census.unused) of \(census.all) blobs; if it is the right database, "
                        + "'carrel serve --sweep-everything' moves them to the trash"
                )
            }
            return try blobs.sweep(before: before, at: now) { named.contains($0) }
        }
    }
}
