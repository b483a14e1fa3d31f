// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// The domain of ``PackagerError``.
package enum PackagerErrorDomain: ErrorDomain {
    package static let describesCode = false
}

/// Why a segment or playlist could not be made.
package typealias PackagerError = CodedFailure<PackagerErrorDomain>

extension ErrorCode where Failure == PackagerError {
    /// The title has no segment of that number.
    package static var noSegment: Self { Self("packager.no-segment") }
    /// The stored media ends before the segment does.
    package static var mediaTruncated: Self { Self("packager.media-truncated") }
    /// The stored media is not what the index says: frames are damaged, or the index belongs to other media.
    package static var mediaDamaged: Self { Self("packager.media-damaged") }
    /// A segment is read on after it failed.
    package static var failedBefore: Self { Self("packager.failed-before") }
    /// A content key does not have 16 bytes.
    package static var key: Self { Self("packager.key") }
    /// The URI of a key holds characters that a playlist has no place for.
    package static var keyURI: Self { Self("packager.key-uri") }
    /// A ticket does not have the 28 characters that playlists have room for.
    package static var ticket: Self { Self("packager.ticket") }
}
