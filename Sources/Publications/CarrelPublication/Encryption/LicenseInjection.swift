// SPDX-License-Identifier: Apache-2.0

import CarrelArchive
import CarrelBytes
import CarrelThreads
import CarrelZlib

/// Puts a license into a package (Readium LCP §2.5), or replaces it with a renewed license.
///
/// The package is not copied: the license and a new directory are appended, so that an audiobook of a gigabyte takes as long as a
/// short text. If writing is interrupted, the package still opens, with its old license or the new one. An open publication stays
/// readable; `InvalidatingFetcher.invalidate()` lets it see the new license.
public enum LicenseInjection {
    private static let threads = BlockingThreadPool(name: "carrel-license", count: 1)
    /// Writes a license into a package.
    ///
    /// - Parameters:
    ///   - license: a license document, exactly as signed.
    ///   - path: the path of an EPUB or a Readium package. Its mode and its owner do not change.
    /// - Throws: `resource.malformed` unless it is an archive; `resource.unavailable` if it cannot be written: for a read-only
    ///   package use `PublicationAsset.license`.
    public static func inject(_ license: [UInt8], into path: String) async throws(ResourceError) {
        var checksum = CRC32()
        checksum.update(license.rawSpan)
        let value = checksum.value
        do {
            try await threads.run {
                // names are normalized like in readers: `./META-INF//license.lcpl` is the license, too
                try ArchiveFile.insert(
                    into: path,
                    limit: ArchiveFetcher.entryLimit,
                    isReplaced: { ArchiveFetcher.path($0)?.string == $1 },
                    { names in (LicenseLocation(in: names.compactMap { ArchiveFetcher.path($0) }).path.string, license, value) }
                )
            }
        } catch {
            guard let error = error as? ArchiveError else { throw ResourceError(.unavailable, "the package cannot be written") }
            throw ResourceError(error.code == .unreadable ? .unavailable : .malformed, error.message)
        }
    }
}
