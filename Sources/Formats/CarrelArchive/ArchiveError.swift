// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// The domain of ``ArchiveError``.
package enum ArchiveErrorDomain: ErrorDomain {}

/// Why an archive, or one of its entries, is refused: a stable code, and words for a person.
package typealias ArchiveError = CodedFailure<ArchiveErrorDomain>

extension ErrorCode where Failure == ArchiveError {
    /// The file cannot be opened or read.
    package static var unreadable: Self { Self("archive.unreadable") }
    /// The file is not a ZIP archive.
    package static var notZip: Self { Self("archive.notZip") }
    /// The archive or an entry is cut off, or parts of it contradict each other.
    package static var damaged: Self { Self("archive.damaged") }
    /// Several volumes, or a compression method other than stored and deflated.
    package static var unsupported: Self { Self("archive.unsupported") }
    /// The entry needs a password.
    package static var encrypted: Self { Self("archive.encrypted") }
    /// More entries than the limit.
    package static var tooManyEntries: Self { Self("archive.tooManyEntries") }
    /// A name that leaves the destination folder, or is ambiguous.
    package static var unsafeName: Self { Self("archive.unsafeName") }
    /// Two entries of one name.
    package static var duplicateName: Self { Self("archive.duplicateName") }
    /// Entries that share bytes of the file.
    package static var overlap: Self { Self("archive.overlap") }
    /// The output exceeds the limit, or is far larger than the compressed content.
    package static var bomb: Self { Self("archive.bomb") }
}
