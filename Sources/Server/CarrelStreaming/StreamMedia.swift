// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCatalog
package import CarrelPackager
import CarrelStore

/// The media of a title, ready to be cut into segments.
package final class StreamMedia: SegmentInput {
    let titleID: String
    package let index: SegmentIndex
    let blob: OpenBlob
    private let id: BlobID
    let openedAt: Instant

    /// Opens the media of a title.
    ///
    /// - Throws: `store.damaged` when the file is shorter than the index says: no playlist may name what is not there.
    init(
        titleID: String,
        index: SegmentIndex,
        _ id: BlobID,
        in blobs: any BlobStore,
        at now: Instant
    ) throws(StoreError) {
        self.titleID = titleID
        self.index = index
        self.id = id
        blob = try blobs.open(id)
        openedAt = now
        guard blob.byteCount >= index.byteCount else {
            throw StoreError(.damaged, "the blob \(id) of the title \(titleID) ends before byte \(index.byteCount)")
        }
    }

    /// The same media, opened again.
    func again(in blobs: any BlobStore, at now: Instant) throws(StoreError) -> StreamMedia {
        try StreamMedia(titleID: titleID, index: index, id, in: blobs, at: now)
    }

    package func read(at offset: Int64, into out: inout OutputRawSpan) throws {
        try blob.read(at: offset, into: &out)
    }

    /// Whether the range is in memory, as far as its last byte tells: reading it will not wait for a disk.
    func isWarm(_ range: Range<Int64>) -> Bool {
        var isThere = false
        _ = [UInt8](rawCapacity: 1) { isThere = blob.readNow(at: range.upperBound - 1, into: &$0) }
        return isThere
    }

    /// Brings the range into memory. Blocks.
    func warm(_ range: Range<Int64>) throws {
        var at = range.lowerBound
        while at < range.upperBound {
            let count = Int(min(1 << 20, range.upperBound - at))
            _ = try blob.bytes(at: at, count: count)
            at += Int64(count)
        }
    }
}
