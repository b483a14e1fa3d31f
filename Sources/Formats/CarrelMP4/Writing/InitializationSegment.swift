// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The bytes that a player reads before the fragments of one track (`ftyp` and `moov`, ISO/IEC 14496-12 §8.1.2, ISO/IEC 23000-19
/// §7.3.1).
package struct InitializationSegment: Sendable {
    /// Units a second of the movie's times.
    package static let movieTimescale: UInt32 = 1000

    /// The track.
    package var track: MovieTrack
    /// The headers of protection systems; none of a clear track.
    package var systems: [ProtectionSystemHeader]
    /// The duration of all fragments, in units of the track; 0 if unknown.
    package var duration: Int64

    /// - Parameters:
    ///   - track: the track.
    ///   - systems: the headers of protection systems; none of a clear track.
    ///   - duration: the duration of all fragments, in units of the track; 0 if unknown.
    package init(_ track: MovieTrack, systems: [ProtectionSystemHeader] = [], duration: Int64 = 0) {
        self.track = track
        self.systems = systems
        self.duration = duration
    }

    /// Brands; `cmf2` is the brand of fragments whose video needs no edit list, as here.
    private static let brands: [FourCC] = ["iso6", "cmfc", "cmf2", "dash", "mp41"]

    /// The bytes of the segment.
    package var bytes: [UInt8] {
        var writer = BoxWriter()
        writer.box("ftyp") { writer in
            writer.fourCC("iso6")
            writer.u32(0)
            for brand in Self.brands { writer.fourCC(brand) }
        }
        writer.box("moov") { writer in
            writer.writeMovieHeader(timescale: Self.movieTimescale, duration: 0, nextTrackID: track.id &+ 1)
            track.write(to: &writer, movieTimescale: Self.movieTimescale) { writer in
                for table: FourCC in ["stts", "stsc", "stco"] { writer.fullBox(table) { $0.u32(0) } }
                writer.fullBox("stsz") { $0.zeros(8) }
            }
            writer.box("mvex") { writer in
                if duration > 0 {
                    let total = Timescale.convert(duration, times: Int(Self.movieTimescale), over: Int(track.timescale))
                    writer.fullBox("mehd", version: 1) { $0.u64(UInt64(clamping: total)) }
                }
                writer.fullBox("trex") { writer in
                    writer.u32(track.id)
                    writer.u32(1)
                    writer.zeros(12)
                }
            }
            for system in systems { system.write(to: &writer) }
        }
        return writer.bytes
    }
}

/// The kind of a media segment (`styp`, ISO/IEC 14496-12 §8.16.2).
package enum SegmentType {
    /// The bytes of the box, as CMAF requires (ISO/IEC 23000-19 §7.3.2).
    package static var bytes: [UInt8] {
        var writer = BoxWriter()
        writer.box("styp") { writer in
            writer.fourCC("msdh")
            writer.u32(0)
            for brand: FourCC in ["msdh", "cmfs", "cmff"] { writer.fourCC(brand) }
        }
        return writer.bytes
    }
}
