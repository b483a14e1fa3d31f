// SPDX-License-Identifier: Apache-2.0

/// The bytes of an archive, wherever they are.
package protocol ArchiveSource {
    /// Bytes.
    var length: Int64 { get }

    /// The bytes of a range, all of them.
    ///
    /// - Parameter range: of positions in the archive.
    /// - Returns: as many bytes as the range has.
    /// - Throws: `archive.damaged` if the archive ends before, `archive.unreadable`.
    func read(_ range: Range<Int64>) throws(ArchiveError) -> [UInt8]
}
