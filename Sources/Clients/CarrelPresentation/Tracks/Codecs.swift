// SPDX-License-Identifier: Apache-2.0

/// The names of codecs (RFC 6381).
enum Codecs {
    /// The single names of a list.
    static func list(_ codecs: String) -> [String] {
        codecs.split(separator: ",").map { String($0.drop { $0 == " " }.prefix { $0 != " " }) }.filter { !$0.isEmpty }
    }

    /// Whether a codec is one of pictures.
    static func isPicture(_ codec: String) -> Bool { pictures.contains { codec.lowercased().hasPrefix($0) } }

    /// Whether a codec is one of subtitles.
    static func isText(_ codec: String) -> Bool { ["wvtt", "stpp"].contains { codec.lowercased().hasPrefix($0) } }

    /// Whether a player's codec matches a track's codec: equal, or its first part only, such as `avc1`.
    static func isSame(_ player: String, _ track: String) -> Bool {
        let (player, track) = (player.lowercased(), track.lowercased())
        return player == track || !player.contains(".") && track.hasPrefix(player + ".")
    }

    /// The first codec that transport streams made of fragments cannot carry; nil if all are supported, or unknown.
    static func uncarried(_ codecs: String?) -> String? {
        codecs.flatMap { list($0).first { isForeign($0) || lacksForm($0) } }
    }

    /// The first codec that no transport stream of a provider has.
    static func foreign(_ codecs: String?) -> String? { codecs.flatMap { list($0).first { isForeign($0) } } }

    private static let pictures = [
        "avc", "hvc", "hev", "dvh", "dva", "vp0", "vp8", "vp9", "av01", "dav1", "mp4v", "vvc", "vvi", "evc",
    ]
    private static let foreignNames = ["av01", "dav1", "vp0", "vp8", "vp9", "opus", "flac", "vorbis", "alac"]
    private static let namesWithoutForm = ["dvh", "dva", "mp4v", "vvc", "vvi", "evc", "ac-4", "mha", "mhm", "dts", "iamf"]
    /// Object types of MPEG-4 audio that ADTS supports, and MP3, whose frames have their own headers.
    private static let framedTypes = [1, 2, 3, 4, 5, 29, 34]

    private static func isForeign(_ codec: String) -> Bool { foreignNames.contains { codec.lowercased().hasPrefix($0) } }

    private static func lacksForm(_ codec: String) -> Bool {
        let parts = codec.lowercased().split(separator: ".")
        if parts.count == 3, parts[0] == "mp4a", parts[1] == "40" {
            return Int(parts[2]).map { !framedTypes.contains($0) } ?? false
        }
        return namesWithoutForm.contains { codec.lowercased().hasPrefix($0) }
    }
}
