import CarrelBytes
import CarrelCrypto
import CarrelMedia

/// How one session presents its source.
struct SessionSettings: Sendable {
    var parameters: MediaSourceParameters
    var output: PlaylistProxy.Output
    var policy: PlaylistProxy.Policy
    var rules: PlaylistProxy.Rules
    var demuxesAudio: Bool
    /// Has the keys of the source.
    var keys: any ContentKeySource
    /// Tells the time at which keys end.
    var clock: any WallClock
    /// For calls that block.
    var threads: SessionThreads
    /// Of subtitles beside the source.
    var subtitles: MediaOrigin
    /// The rights of an MS3 address; nil for a source of another kind.
    var rights: SessionRights?

    /// Whether content that is not protected is taken: inside an MS3 address the rights speak for it.
    var takesClearContent: Bool { policy == .open || rights != nil }

    /// Whether there are playlists of sync pictures: the compatible system has none.
    var hasPictureLists: Bool { rules == .rfc && policy != .seed }

    /// Whether the player has the codecs of a track; all of them where the caller names none.
    func canPlay(_ codecs: String?) -> Bool {
        guard let codecs else { return true }
        return codecs.split(separator: ",").allSatisfy { codec in
            let name = codec.drop { $0 == " " }.lowercased()
            let known = Self.isPicture(name) ? parameters.videoCodecs : parameters.audioCodecs
            let isText = name.hasPrefix("wvtt") || name.hasPrefix("stpp")
            return isText || known.isEmpty || known.contains { Self.isSame($0.lowercased(), name) }
        }
    }

    /// The place of the first language that is the one that the caller prefers; nil where none is.
    func speaks(_ languages: [String?]) -> Int? {
        guard let wanted = parameters.language?.lowercased() else { return nil }
        let known = languages.map { $0?.lowercased() }
        return known.firstIndex(of: wanted)
            ?? known.firstIndex { $0.map { $0.hasPrefix("\(wanted)-") || wanted.hasPrefix("\($0)-") } ?? false }
    }

    private static func isPicture(_ codec: String) -> Bool {
        ["avc", "hvc", "hev", "dvh", "vp0", "vp8", "vp9", "av01", "mp4v"].contains { codec.hasPrefix($0) }
    }

    /// Whether a codec of the player is that of a track: the same, or its first part alone, such as `avc1`.
    private static func isSame(_ player: String, _ track: String) -> Bool {
        player == track || !player.contains(".") && track.hasPrefix(player + ".")
    }
}
