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

    /// The folder of an edition's address that holds what the server makes itself.
    private static let reserved = "-"

    /// Checks the path of a resource: it has to name one place in the edition, in a URL and on any disk.
    ///
    /// - Parameter path: the path below the edition's address.
    /// - Returns: why the path is refused; nil if it is valid.
    package static func fault(inPath path: String) -> String? {
        if path.utf8.count > 1024 { return "is too long" }
        if path.utf8.contains(where: { $0 < 0x20 || $0 == 0x7f }) { return "holds a control character" }
        if path.utf8.contains(UInt8(ascii: "\\")) { return "holds a backslash" }
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        if parts.first.map({ $0 == reserved }) == true { return "is in the folder \"-\", which is the server's own" }
        for part in parts {
            if part.isEmpty || part == "." { return "has an empty part" }
            if part == ".." { return "leaves its folder" }
            if part.utf8.count > 255 { return "has a part that is too long" }
        }
        return nil
    }
}
