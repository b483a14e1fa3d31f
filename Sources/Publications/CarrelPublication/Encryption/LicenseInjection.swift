// SPDX-License-Identifier: Apache-2.0

import CarrelArchive
import CarrelBytes
import CarrelThreads
import CarrelZlib

/// Puts a license into a package (Readium LCP §2.5), or a renewed one in the place of the old.
///
/// The package is not copied: the license and a new directory are written behind its end, so that it takes as long for an audiobook
/// of a gigabyte as for a short text. Whenever the writing stops, the package can be opened, with its old license or the new one.
/// A publication that was opened before goes on reading; `InvalidatingFetcher.invalidate()` lets it see the new license.
public enum LicenseInjection {
    private static let threads = BlockingThreadPool(name: "carrel-license", count: 1)
    /// Writes a license into a package.
    ///
    /// - Parameters:
    ///   - license: a license document, as its signature covers it.
    ///   - path: of an EPUB or a Readium package. Its mode and its owner stay as they are.
    /// - Throws: `resource.malformed` unless it is an archive; `resource.unavailable` when it cannot be written: a package that may not be
    ///   gets its license by `PublicationAsset.license`.
    public static func inject(_ license: [UInt8], into path: String) async throws(ResourceError) {
        var checksum = CRC32()
        checksum.update(license.rawSpan)
        let value = checksum.value
        do {
            try await threads.run {
                // names as readers take them: `./META-INF//license.lcpl` is where the license stands, too
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
