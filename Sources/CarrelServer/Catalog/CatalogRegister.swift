package import CarrelStore

/// Where what an ingest made becomes part of the catalog: the database of this process, or whoever keeps it.
package protocol CatalogRegister<Made, Entry>: Sendable {
    /// What an ingest makes of a source.
    associatedtype Made: Sendable
    /// What the catalog has of it then.
    associatedtype Entry: Sendable

    /// Finds what was made of the same source before, and writes to it what is said of it now.
    ///
    /// - Parameters:
    ///   - sourceHash: of the source.
    ///   - cover: the picture that takes the place of its cover.
    /// - Returns: nil when the catalog has nothing of the source.
    /// - Throws: when it cannot be written.
    func again(_ sourceHash: [UInt8], cover: (blob: BlobID, mediaType: String)?) async throws -> Entry?

    /// Enters what was made. Doing it twice does no harm.
    ///
    /// - Returns: the entry, and whether it is new.
    /// - Throws: when it cannot be written.
    func enter(_ made: Made) async throws -> (entry: Entry, created: Bool)

    /// Removes what a failed ingest made, where nothing in the catalog uses it. In doubt it stays, and goes with a ``BlobSweep``.
    func takeBack(_ blobs: Set<BlobID>) async
}
