// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelStore
import CarrelThreads

/// A blob store that records new blobs, so that a failed ingest can remove them.
final class TrackingBlobStore: BlobStore {
    private let blobs: any BlobStore
    private let finished = Locked<Set<BlobID>>([])

    init(_ blobs: any BlobStore) {
        self.blobs = blobs
    }

    /// The blobs that were finished through this value.
    var made: Set<BlobID> { finished.withLock { $0 } }

    func writer() throws(StoreError) -> any BlobWriter { Writer(try blobs.writer(), self) }
    func open(_ id: BlobID) throws(StoreError) -> OpenBlob { try blobs.open(id) }
    func contains(_ id: BlobID) throws(StoreError) -> Bool { try blobs.contains(id) }
    @discardableResult
    func delete(_ id: BlobID) throws(StoreError) -> Bool { try blobs.delete(id) }
    func census(before: Instant, keeping isUsed: (BlobID) throws -> Bool) throws -> BlobCensus {
        try blobs.census(before: before, keeping: isUsed)
    }
    @discardableResult
    func sweep(before: Instant, at now: Instant, keeping isUsed: (BlobID) throws -> Bool) throws -> Int {
        try blobs.sweep(before: before, at: now, keeping: isUsed)
    }
    func recover(keeping isUsed: (BlobID) throws -> Bool) throws { try blobs.recover(keeping: isUsed) }
    func each(_ body: (BlobID) throws -> Void) throws { try blobs.each(body) }

    private final class Writer: BlobWriter {
        private let writer: any BlobWriter
        private let trail: TrackingBlobStore

        init(_ writer: any BlobWriter, _ trail: TrackingBlobStore) {
            self.writer = writer
            self.trail = trail
        }

        var byteCount: Int64 { writer.byteCount }
        func append(_ bytes: RawSpan) throws(StoreError) { try writer.append(bytes) }

        func finish() throws(StoreError) -> BlobID {
            let id = try writer.finish()
            trail.finished.withLock { _ = $0.insert(id) }
            return id
        }
    }
}
