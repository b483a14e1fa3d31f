// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMP4
import CarrelMedia
import CarrelTS

/// A segment without samples, for a player that loads a gap.
package enum EmptySegment {
    /// The bytes of the segment.
    ///
    /// - Parameters:
    ///   - initialization: the initialization segment of the stream.
    ///   - form: the form.
    /// - Returns: tables alone, or a fragment without samples.
    /// - Throws: `unsupported` if the stream has no track that fits the form; `Malformed`.
    package static func bytes(of initialization: [UInt8], as form: FileSegments.Form) throws -> [UInt8] {
        let tracks = try MP4File(BytesReader(initialization)).tracks
        switch form {
        case .fragment:
            guard let track = tracks.first else { throw MediaError(.unsupported, "there is no track") }
            return SegmentType.bytes + MediaFragment.empty(trackID: track.id)
        case .transportStream:
            var remuxer = try TransportRemuxer(tracks)
            remuxer.beginSegment(after: 0)
            remuxer.endAlignedSegment()
            let packets = remuxer.packets.bytes
            return [UInt8](copying: packets)
        }
    }
}
