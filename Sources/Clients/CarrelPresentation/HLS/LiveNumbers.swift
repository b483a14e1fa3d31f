// SPDX-License-Identifier: Apache-2.0

/// The offsets of a playlist's segment numbers: 0 until the source restarts its numbering (RFC 8216 §6.2.2).
struct LiveNumbers: Sendable, Equatable {
    /// Restarts of the source so far, in all its playlists.
    var epoch = 0
    /// Added to the media sequence numbers of the source.
    var media: Int64 = 0
    /// Added to the discontinuity sequence numbers of the source.
    var discontinuities: Int64 = 0
    /// The first segment after the last restart, if the source does not mark it with a discontinuity.
    var begin: Int64?
}
