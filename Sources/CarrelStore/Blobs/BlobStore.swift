public import CarrelBytes

/// Keeps files of any size under the digest of their content, so that equal files are kept once and never change.
///
/// All calls block: make them on a thread for that, except `OpenBlob.readNow`.
public protocol BlobStore: Sendable {
    /// Begins a new blob, whose name is known once all of it is there.
    func writer() throws(StoreError) -> any BlobWriter

    /// Opens a blob; throws `store.notFound` when there is none of this name.
    func open(_ id: BlobID) throws(StoreError) -> OpenBlob

    /// Whether there is a blob of this name.
    func contains(_ id: BlobID) throws(StoreError) -> Bool

    /// Removes a blob and says whether it was there. Whoever has it open can read it to the end.
    @discardableResult
    func delete(_ id: BlobID) throws(StoreError) -> Bool

    /// Removes the blobs that were finished before an instant and that are not in use.
    ///
    /// - Parameters:
    ///   - before: what was finished then or later stays. Finishing the same content again counts.
    ///   - isUsed: asked of each that is older.
    /// - Returns: how many were removed.
    /// - Throws: `store.unavailable` when the folder cannot be read; what `isUsed` throws.
    @discardableResult
    func sweep(before: Instant, keeping isUsed: (BlobID) throws -> Bool) throws -> Int

    /// Calls `body` with the name of every blob, in no order.
    func each(_ body: (BlobID) throws -> Void) throws
}
