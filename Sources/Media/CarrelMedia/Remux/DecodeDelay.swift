// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelMP4
import CarrelTS
import CarrelVideo

/// The time by which pictures of fragments are decoded before their samples' time, so that no picture is presented before
/// decoding.
///
/// All segments of a rendition have the same delay, so that decoding times and clock references never run backwards between segments:
/// packagers write signed composition offsets in the fragments with reordered pictures alone. No picture is presented at another time.
package enum DecodeDelay {
    /// The delay if the parameter sets do not say how far pictures are reordered: a quarter of a second.
    private static let unknown: Int64 = 22_500

    /// The ticks by which the pictures of a segment are decoded before their samples' time.
    ///
    /// Offsets are counted from decoding times or are signed, in all fragments of a rendition alike. In the first form a sync
    /// picture is presented after it is decoded, and no offset is negative: there is no delay. In the second form it is as far as
    /// the parameter sets allow pictures to be reordered, whether a fragment has such pictures or not.
    ///
    /// - Parameters:
    ///   - track: a track of pictures.
    ///   - firstComposition: the composition offset of the first sample of the segment, in units of the track.
    ///   - leastComposition: the least composition offset of the first fragment; a fragment that is reordered further than the parameter
    ///     sets say delays its segment.
    /// - Returns: ticks of 90 kHz.
    package static func ticks(of track: MP4Track, firstComposition: Int64, leastComposition: Int64) -> Int64 {
        guard firstComposition <= 0 || leastComposition < 0 else { return 0 }
        let least = MediaTime.ticks(-min(0, leastComposition), timescale: Int64(track.timescale))
        let ticks = max(least, reordering(of: track) ?? unknown)
        // a tick more, as times are rounded
        return ticks > 0 ? ticks &+ 1 : 0
    }

    /// The ticks by which the parameter sets of a track allow pictures to be reordered; nil if not declared.
    private static func reordering(of track: MP4Track) -> Int64? {
        var result: Int64?
        for entry in track.entries {
            for set in sets(of: entry) {
                guard let ticks = set?.ticks else { return nil }
                result = max(result ?? 0, ticks)
            }
        }
        return result
    }

    private static func sets(of entry: SampleEntry) -> [PictureReordering?] {
        do throws(Malformed) {
            switch entry.format {
            case "avc1", "avc3":
                let record = try AVCDecoderConfigurationRecord(entry.configuration.rawSpan)
                return record.sequenceParameterSets.map { PictureReordering($0.rawSpan, .h264) }
            case "hvc1", "hev1":
                let record = try HEVCDecoderConfigurationRecord(entry.configuration.rawSpan)
                return record.arrays.filter { $0.type == 33 }.flatMap(\.units).map { PictureReordering($0.rawSpan, .h265) }
            default: return []
            }
        } catch {
            return []
        }
    }
}
