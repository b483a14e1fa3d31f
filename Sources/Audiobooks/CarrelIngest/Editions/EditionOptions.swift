// SPDX-License-Identifier: Apache-2.0

package import CarrelWorks

/// An operator's options for one ingest of an edition.
package struct EditionOptions: Sendable {
    /// The product id in the apps; see ``fault(inProductID:)``.
    package var productID: String
    /// Values set here override the source's own metadata.
    package var overrides = MetadataOverrides()
    /// The treatment of a source without a title.
    package var untitled = MissingTitlePolicy.fileName
    /// The resources that are open to everyone.
    package var samples: [String] = []
    /// Whether a PDF whose end is missing is taken all the same.
    package var allowTruncated = false
    /// Bytes that an archive may unpack to.
    package var archiveLimit: Int64 = PackageWriter.byteLimit

    package init(productID: String) {
        self.productID = productID
    }

    /// The reason for refusing a product id; nil if it is valid. It is part of addresses, header fields and feeds, and all
    /// programs must interpret it in the same way: 1 to 128 visible ASCII characters without slashes, neither `.` nor `..`.
    package static func fault(inProductID id: String) -> String? {
        guard (1...128).contains(id.utf8.count),
            id.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "\\") }),
            id != ".", id != ".."
        else { return "a product id has 1 to 128 visible ASCII characters without slashes" }
        return nil
    }
}
