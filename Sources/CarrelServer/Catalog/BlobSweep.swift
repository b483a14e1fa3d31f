import CarrelBytes
import CarrelStore
import CarrelThreads

/// Removes the blobs that nothing in the catalog uses: what replaced titles, other covers and killed processes leave behind.
///
/// Only those of yesterday and before: a younger one may be of an ingest, here or in another process, that has not entered it yet.
package struct BlobSweep: Sendable {
    let database: any Database
    let blobs: any BlobStore
    let clock: any WallClock
    let thread: BlockingThreads

    /// Blobs younger than this stay.
    package static let age = Duration.seconds(24 * 3600)
    /// So often it is done.
    package static let interval = Duration.seconds(6 * 3600)
    private static let page = 1000

    /// - Returns: how many blobs were removed.
    /// - Throws: what the database and the store throw; what was removed by then is removed.
    @discardableResult
    package func run() async throws -> Int {
        let before = clock.now - Self.age
        // Eight bytes of each digest: where two fell together, a blob would stay that nothing needs.
        var used: Set<UInt64> = []
        var last = ""
        while true {
            let after = last
            let rows = try await database.read { try TitleStore.blobs(after: after, limit: Self.page, in: $0) }
            for row in rows { for blob in row.blobs { used.insert(blob.prefix64) } }
            guard rows.count == Self.page, let end = rows.last?.title else { break }
            last = end
        }
        let (blobs, known) = (blobs, used)
        return try await thread.run { try blobs.sweep(before: before) { known.contains($0.prefix64) } }
    }
}

extension BlobID {
    /// The first half of the first half of the digest.
    fileprivate var prefix64: UInt64 { UInt64(text.prefix(16), radix: 16) ?? 0 }
}
