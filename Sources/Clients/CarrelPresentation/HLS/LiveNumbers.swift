// SPDX-License-Identifier: Apache-2.0

/// The numbers of a playlist's segments: those of its source, until the source begins to count again (RFC 8216 §6.2.2).
struct LiveNumbers: Sendable, Equatable {
    /// Restarts of the source so far, in all its playlists.
    var epoch = 0
    /// Added to the media sequence numbers of the source.
    var media: Int64 = 0
    /// Added to the discontinuity sequence numbers of the source.
    var discontinuities: Int64 = 0
    /// The first segment behind the last restart, where the source has no discontinuity in front of it.
    var begin: Int64?
}
