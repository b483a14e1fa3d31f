// SPDX-License-Identifier: Apache-2.0

/// Limits on the resources that an archive may need.
package struct ArchiveLimits: Sendable, Hashable {
    /// Entries, folders counted.
    package var entries: Int
    /// Maximum number of bytes read from one archive, whatever sizes it declares.
    package var totalBytes: Int64
    /// Maximum ratio of an entry's uncompressed to its compressed size, checked after 1 MiB.
    package var ratio: Int64

    /// - Parameters:
    ///   - totalBytes: maximum number of bytes read.
    ///   - entries: maximum number of entries, folders included.
    ///   - ratio: maximum compression ratio of an entry. Deflate reaches at most 1,030; audio, pictures and text stay below 100.
    package init(totalBytes: Int64, entries: Int = 20_000, ratio: Int64 = 200) {
        self.totalBytes = totalBytes
        self.entries = entries
        self.ratio = max(1, ratio)
    }
}
