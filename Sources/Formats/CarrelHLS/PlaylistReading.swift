// SPDX-License-Identifier: Apache-2.0

/// A playlist with the warnings of its reading.
package struct PlaylistReading: Sendable {
    package let playlist: Playlist
    /// In the order of the playlist, one of each kind.
    package let warnings: [PlaylistWarning]
}
