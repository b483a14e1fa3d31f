// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelHLS

/// An initialization section of a list, with a name that is stable across reloads of a live list (RFC 8216 §6.2.1).
///
/// It has only what loading the section needs: the list itself may have megabytes.
struct InitializationPlace: Sendable {
    let initialization: MediaSegment.Initialization
    /// The keys of a segment that has the section.
    let keys: [EncryptionKey]
    /// The address of the list.
    let base: String
    /// The media sequence number of the list.
    let mediaSequence: UInt64
    private let epoch: Int

    /// - Returns: nil for a segment that needs none.
    init?(_ segment: MediaSegment, _ held: HeldPlaylist) {
        guard let initialization = segment.initialization else { return nil }
        self.initialization = initialization
        keys = segment.keys
        base = held.url
        mediaSequence = held.playlist.mediaSequence
        epoch = held.numbers.epoch
    }

    /// - Returns: nil if the list has no such section.
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

    /// Bytes that it takes in memory, about.
    var cost: Int {
        let keys = (keys + initialization.keys).reduce(0) { $0 + 256 + $1.uri.utf8.count }
        return 256 + initialization.uri.utf8.count + base.utf8.count + keys
    }

    /// The name: a digest in place of a time.
    func name(_ rendition: RenditionName) -> SegmentName { SegmentName(rendition, time: digest) }

    /// A source that restarts its numbering may have another section at the same address.
    private var digest: Int64 {
        let range = initialization.byteRange.map { "\($0.length)@\($0.offset)" } ?? ""
        let text = Array("\(epoch) \(range) \(initialization.uri)".utf8)
        // names have less than 62 bits; 0 is the time of all segments
        return SHA256.hash(text.rawSpan).prefix(7).reduce(Int64(0)) { $0 << 8 | Int64($1) } | 1
    }
}
