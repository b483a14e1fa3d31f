// SPDX-License-Identifier: Apache-2.0

/// The rules by which playlists are written.
package enum PlaylistRules: String, Sendable, Hashable, CaseIterable {
    /// The rules of RFC 8216, which the strict reader checks.
    case rfc
    /// Compatibility mode for older players: `EXT-X-ENDLIST` in an ended multivariant playlist too, `PROGRAM-ID=1` on its variants, durations rounded
    /// up to whole seconds, and the longest of them as the target duration. The strict reader refuses such a multivariant playlist.
    case compatible
}
