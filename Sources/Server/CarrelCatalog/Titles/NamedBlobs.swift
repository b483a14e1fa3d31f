// SPDX-License-Identifier: Apache-2.0

package import CarrelStore

/// The blobs that the catalog names, by eight bytes of each digest. Where two share these bytes, a blob counts as named that is not.
package struct NamedBlobs: Sendable {

    private static let page = 1000

    private var prefixes: Set<UInt64> = []

    /// Reads them from a database, a page of titles at a time.
    package init(in database: any Database) async throws {
        var last = ""
        while true {
            let after = last
            let rows = try await database.read { try TitleStore.blobs(after: after, limit: Self.page, in: $0) }
            for row in rows { for blob in row.blobs { prefixes.insert(blob.prefix64) } }
            guard rows.count == Self.page, let end = rows.last?.title else { break }
            last = end
        }
    }

    package func contains(_ blob: BlobID) -> Bool { prefixes.contains(blob.prefix64) }
}

extension BlobID {
    fileprivate var prefix64: UInt64 { UInt64(text.prefix(16), radix: 16) ?? 0 }
}
