import CarrelMP4

extension [MP4Track] {
    /// Refuses pictures and sound whose edit lists present several parts of the media (ISO/IEC 14496-12 §8.6.6): the samples of a transport
    /// stream have one order and one shift. Empty edits do not count.
    func refuseSeveralParts() throws(MediaError) {
        for track in self where track.kind == "vide" || track.kind == "soun" {
            guard track.editList.edits.count(where: { $0.mediaTime >= 0 }) > 1 else { continue }
            throw MediaError(
                .unsupported,
                "track \(track.id) presents several parts of its media, which a transport stream does not do"
            )
        }
    }
}
