// SPDX-License-Identifier: Apache-2.0

/// Limits on the resources that an archive may need.
package struct ArchiveLimits: Sendable, Hashable {
    /// Entries, folders counted.
    package var entries: Int
    /// Bytes that all reading of one archive may give, whatever sizes the archive declares.
    package var totalBytes: Int64
    /// How many times larger than its packed bytes an entry may come out, once it has given 1 MiB.
    package var ratio: Int64

    /// - Parameters:
    ///   - totalBytes: that all reading may give.
    ///   - entries: folders counted.
    ///   - ratio: of an entry's bytes to its packed bytes. Deflate reaches 1,030 at most; sound, pictures and text stay below 100.
    package init(totalBytes: Int64, entries: Int = 20_000, ratio: Int64 = 200) {
        self.totalBytes = totalBytes
        self.entries = entries
        self.ratio = max(1, ratio)
    }
}
