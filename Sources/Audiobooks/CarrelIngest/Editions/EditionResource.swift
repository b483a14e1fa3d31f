// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// One file of an edition: a range of the edition's blob.
package struct EditionResource: Sendable, Equatable {
    /// Below the edition's address, with `/` between its parts.
    package let path: String
    package let mediaType: String
    /// Its offset in the blob, in bytes.
    package let offset: Int64
    /// Bytes.
    package let byteCount: Int64
    /// The first 32 digits of the SHA-256 of its bytes, in hexadecimal.
    package let digest: String
    /// When these bytes came to be at this path.
    package let changedAt: Instant
    /// Whether it is open to everyone.
    package var isSample: Bool

    package init(
        path: String,
        mediaType: String,
        offset: Int64,
        byteCount: Int64,
        digest: String,
        changedAt: Instant,
        isSample: Bool
    ) {
        self.path = path
        self.mediaType = mediaType
        self.offset = offset
        self.byteCount = byteCount
        self.digest = digest
        self.changedAt = changedAt
        self.isSample = isSample
    }

    /// Why a path cannot name a resource; nil if it can.
    package static func fault(inPath path: String) -> String? { ResourceName.fault(path) }
}
