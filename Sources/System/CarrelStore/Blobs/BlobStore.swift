// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// Keeps files of any size under the digest of their content, so that equal files are kept once and never change.
///
/// All calls block: make them on a thread for that, except `OpenBlob.readNow`.
package protocol BlobStore: Sendable {
    /// Begins a new blob, whose name is known once all of it is there.
    func writer() throws(StoreError) -> any BlobWriter

    /// Opens a blob; throws `store.notFound` when there is none of this name.
    func open(_ id: BlobID) throws(StoreError) -> OpenBlob

    /// Whether there is a blob of this name.
    func contains(_ id: BlobID) throws(StoreError) -> Bool

    /// Removes a blob and returns whether it existed. An open blob can be read to the end.
    @discardableResult
    func delete(_ id: BlobID) throws(StoreError) -> Bool

    /// Counts all blobs, and those that ``sweep(before:at:keeping:)`` would move.
    ///
    /// - Parameters:
    ///   - before: blobs that were finished then or later do not count as unused.
    ///   - isUsed: whether a blob is in use.
    /// - Returns: both numbers.
    /// - Throws: `store.unavailable` if the folder cannot be read; what `isUsed` throws.
    func census(before: Instant, keeping isUsed: (BlobID) throws -> Bool) throws -> BlobCensus

    /// Moves the blobs that were finished before an instant and are not in use to the trash, and deletes what has been there for
    /// ``BlobTrash/life``. Blobs in the trash that are in use again move back.
    ///
    /// - Parameters:
    ///   - before: blobs that were finished then or later stay. Finishing the same content again counts.
    ///   - now: the time, noted with each blob in the trash.
    ///   - isUsed: whether a blob is in use.
    /// - Returns: the number of blobs that were moved to the trash.
    /// - Throws: `store.unavailable` if the folder cannot be read; what `isUsed` throws.
    @discardableResult
    func sweep(before: Instant, at now: Instant, keeping isUsed: (BlobID) throws -> Bool) throws -> Int

    /// Moves blobs that are in use, and missing in their place, back from the trash. Nothing is deleted.
    ///
    /// - Parameter isUsed: whether a blob is in use.
    /// - Throws: `store.unavailable` if the folder cannot be read; what `isUsed` throws.
    func recover(keeping isUsed: (BlobID) throws -> Bool) throws

    /// Calls `body` with the name of every blob, in no order.
    func each(_ body: (BlobID) throws -> Void) throws
}

/// The size of a store, and how much of it is unused.
package struct BlobCensus: Sendable, Equatable {
    /// All blobs, without those in the trash.
    package var all = 0
    /// Blobs that a sweep would move to the trash.
    package var unused = 0

    package init() {}
}
