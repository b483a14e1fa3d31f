// SPDX-License-Identifier: Apache-2.0

import CarrelMedia
import CarrelMediaSource
import CarrelProxy

/// A stream as the input of a media command: an address, a DASH manifest, or an HLS playlist.
struct StreamSource {
    /// The name as typed by the user.
    let place: String
    let type: MediaSourceType
    /// Whether it is a local media playlist, whose segments can be read without a session.
    let isLocalPlaylist: Bool

    /// The path or address in messages, without secrets.
    var name: String { KeyAddress.withoutSecrets(place) }

    /// Creates the source of a manifest, or returns nil for any other file.
    ///
    /// - Parameter place: a path or an address.
    /// - Throws: errors of reading the file.
    init?(_ place: String) throws {
        self.place = place
        guard !place.contains("://") else {
            (type, isLocalPlaylist) = (MediaSourceType(named: place), false)
            return
        }
        let file = try LocalFile(place)
        let head = String(decoding: try file.read(0..<min(file.length, 65_536)), as: UTF8.self)
        let text = head.drop { $0 == "\u{feff}" || $0.isWhitespace }
        if text.hasPrefix("<"), text.contains("<MPD") {
            (type, isLocalPlaylist) = (.dash, false)
        } else if text.hasPrefix("#EXTM3U") {
            (type, isLocalPlaylist) = (.hls, !text.contains("#EXT-X-STREAM-INF"))
        } else {
            return nil
        }
    }
}
