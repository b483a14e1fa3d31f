import CarrelCommandLine
import CarrelMedia

/// A manifest, a playlist or an address where a command reads the media of one file.
struct ManifestRefusal: ReportableError {
    let message: String
    let hint: String?
    var exitStatus: ExitStatus { .badInput }

    /// Refuses addresses, DASH manifests and top playlists, which name media elsewhere.
    ///
    /// - Parameters:
    ///   - source: as the user names it.
    ///   - command: the command that reads it, such as `decrypt`.
    ///   - takesPlaylist: whether the command reads media playlists.
    /// - Throws: the refusal; what reading the file throws.
    static func check(_ source: String, for command: String, takesPlaylist: Bool) throws {
        if source.contains("://") {
            throw ManifestRefusal(
                message: "\(KeyAddress.withoutSecrets(source)) is an address: 'carrel \(command)' reads files of this machine",
                hint: "save the media first, or play the address: carrel proxy ADDRESS --play"
            )
        }
        let file = try LocalFile(source)
        let head = String(decoding: try file.read(0..<min(file.length, 65_536)), as: UTF8.self)
        let text = head.drop { $0 == "\u{feff}" || $0.isWhitespace }
        if text.hasPrefix("<"), text.contains("<MPD") {
            throw ManifestRefusal(
                message: "\(source) is a DASH manifest: 'carrel \(command)' reads the media that it names",
                hint: takesPlaylist ? "name a media file or a media playlist, or play it: carrel proxy FILE --play" : nil
            )
        }
        guard text.hasPrefix("#EXTM3U"), !takesPlaylist || text.contains("#EXT-X-STREAM-INF") else { return }
        throw ManifestRefusal(
            message: takesPlaylist
                ? "\(source) is a top playlist, which names other playlists: name one of those"
                : "\(source) is a playlist: 'carrel \(command)' reads the media that it names",
            hint: takesPlaylist ? "or play all of it: carrel proxy FILE --play" : nil
        )
    }
}
