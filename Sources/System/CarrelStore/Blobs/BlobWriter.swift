// SPDX-License-Identifier: Apache-2.0

/// A blob that is being written. Unless it is finished, nothing of it stays.
package protocol BlobWriter: AnyObject {
    /// Bytes appended so far.
    var byteCount: Int64 { get }

    /// Adds bytes at the end; throws `store.full` when there is no room, and the blob is given up.
    func append(_ bytes: RawSpan) throws(StoreError)

    /// Makes the blob durable and returns its name. Nothing can be appended afterwards.
    func finish() throws(StoreError) -> BlobID
}
