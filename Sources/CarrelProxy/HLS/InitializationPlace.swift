import CarrelBytes
import CarrelCrypto
import CarrelHLS

/// An initialization section of a list, with a name that stays the same while a live list goes on (RFC 8216 §6.2.1).
struct InitializationPlace: Sendable {
    /// One that has the section.
    let segment: MediaSegment
    let held: HeldPlaylist
    private let digest: Int64

    /// - Returns: nil of a segment that needs none.
    init?(_ segment: MediaSegment, _ held: HeldPlaylist) {
        guard let initialization = segment.initialization else { return nil }
        self.segment = segment
        self.held = held
        digest = Self.digest(of: initialization, held)
    }

    /// - Returns: nil where the list has no such section.
    init?(_ name: SegmentName, in held: HeldPlaylist) {
        var last: MediaSegment.Initialization?
        for segment in held.playlist.segments where segment.initialization != last {
            last = segment.initialization
            guard let place = Self(segment, held), place.digest == name.time else { continue }
            self = place
            return
        }
        return nil
    }

    /// The name: a digest in place of a time.
    func name(_ rendition: RenditionName) -> SegmentName { SegmentName(rendition, time: digest) }

    /// A source that begins to count again may have another section at the same address.
    private static func digest(of initialization: MediaSegment.Initialization, _ held: HeldPlaylist) -> Int64 {
        let range = initialization.byteRange.map { "\($0.length)@\($0.offset)" } ?? ""
        let text = Array("\(held.numbers.epoch) \(range) \(initialization.uri)".utf8)
        // names have less than 62 bits; 0 is the time of all segments
        return SHA256.hash(text.rawSpan).prefix(7).reduce(Int64(0)) { $0 << 8 | Int64($1) } | 1
    }
}
