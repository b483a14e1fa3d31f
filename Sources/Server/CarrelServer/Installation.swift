// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCatalog
import CarrelCrypto
import CarrelHome
import CarrelStore
import CarrelThreads

/// The pair of a database and a blob store, which share an id: a row of the database, a file of the store
/// (docs/decisions/0020-one-installation.md).
enum Installation {
    /// Makes sure that a database and a blob store belong together. If one or both have no id yet, they receive the same.
    ///
    /// The row is written first and decides: of two nodes that start at the same time, the later takes the id of the earlier. A
    /// process that dies between row and file leaves a store without an id, which the next start pairs.
    ///
    /// - Parameters:
    ///   - database: the installation's database.
    ///   - blobs: the installation's blobs.
    ///   - now: the time to record in the database.
    /// - Throws: ``ServerError`` `installation` if they belong to two installations, or if the store has blobs and the database
    ///   names none of them; errors of the database and the store.
    static func pair(_ database: any Database, _ blobs: DirectoryBlobStore, at now: Instant) async throws {
        let thread = BlockingThreadPool(name: "pairing", count: 1)
        let inStore = try await thread.run { try blobs.installation() }
        let inDatabase = try await database.read { try InstallationStore.id(in: $0) }
        if let inStore, let inDatabase { return try requireSame(inStore, inDatabase, blobs) }
        let named = try await NamedBlobs(in: database)
        guard try await thread.run({ try blobs.isEmpty || blobs.contains { named.contains($0) } }) else {
            throw ServerError(
                .installation,
                "\(blobs.path) contains media, but the database refers to none of them: if the catalog is complete, move this folder away and start again"
            )
        }
        let wanted = inDatabase ?? inStore ?? Random.uuid()
        let id = try await database.write { try InstallationStore.join(wanted, at: now, in: $0) }
        try requireSame(try await thread.run { try blobs.join(installation: id) }, id, blobs)
    }

    /// Refuses to create a database in a home with media: they belong to a missing database.
    static func requireNoMedia(_ blobs: DirectoryBlobStore, beside home: Home) throws {
        guard try !blobs.isEmpty else { return }
        throw ServerError(
            .installation,
            "\(blobs.path) contains media, but their database \(home.databasePath) is missing or empty"
        )
    }

    private static func requireSame(
        _ inStore: String,
        _ inDatabase: String,
        _ blobs: DirectoryBlobStore
    ) throws(ServerError) {
        guard inStore != inDatabase else { return }
        throw ServerError(
            .installation,
            "the database belongs to the installation \(inDatabase), and the media in \(blobs.path) to \(inStore)"
        )
    }
}
