import CarrelHLS

enum PlaylistRules { case seed, rfc }
extension MultivariantPlaylist {
    func write(rules: PlaylistRules, isEnded: Bool) throws(PlaylistError) -> [UInt8] {
        try write() + (rules == .seed && isEnded ? Array("#EXT-X-ENDLIST\n".utf8) : [])
    }
}
extension MediaPlaylist {
    func write(rules: PlaylistRules) throws(PlaylistError) -> [UInt8] { try write() }
}
