// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelMP4
package import CarrelMedia
import CarrelTS

/// Extracts the first I-frame from clear fragments, in pieces of any size as they arrive.
///
/// Memory is one fragment header and one sample. Data after the I-frame is not needed: the stream may end anywhere after it.
package struct FirstPicture {
    private var reader: FragmentReader
    private let trackIndex: Int
    private let form: FileSegments.Form
    private let duration: Duration
    private let shift: Int64
    private let number: Int

    /// - Parameters:
    ///   - tracks: the tracks of the initialization segment; the first video track is used.
    ///   - form: the output form.
    ///   - duration: how long the picture is shown.
    ///   - shift: 90 kHz ticks added to its time in a transport stream.
    ///   - number: the number of the picture, which determines the continuity counters of the transport stream's tables.
    /// - Throws: `unsupported` if there is no video.
    package init(
        of tracks: [MP4Track],
        as form: FileSegments.Form,
        duration: Duration,
        shift: Int64 = 0,
        number: Int = 0
    ) throws(MediaError) {
        guard let trackIndex = tracks.firstIndex(where: { $0.kind == "vide" && $0.timescale > 0 }) else {
            throw MediaError(.unsupported, "there is no track of pictures")
        }
        reader = FragmentReader(tracks: tracks)
        self.trackIndex = trackIndex
        self.form = form
        self.duration = duration
        self.shift = shift
        self.number = number
    }

    /// Adds a piece of the stream.
    package mutating func append(_ piece: RawSpan) { reader.append(piece) }

    /// The I-frame as a separate segment.
    ///
    /// - Returns: nil if more data is needed.
    /// - Throws: `Malformed`, `unsupported`.
    package mutating func next() throws -> [UInt8]? {
        while let event = try reader.next() {
            guard case .sample(let track, let sample, let range) = event, track == trackIndex, sample.isSync else { continue }
            return form == .fragment ? try fragment(sample, range) : try transportStream(sample, range)
        }
        return nil
    }

    private func fragment(_ sample: MP4Sample, _ range: Range<Int>) throws -> [UInt8] {
        let track = reader.tracks[trackIndex]
        guard let time = UInt64(exactly: sample.decodeTime) else {
            throw MediaError(.unsupported, "track \(track.id): a sample is decoded before the media begin")
        }
        var fragment = MediaFragment(
            sequenceNumber: UInt32(truncatingIfNeeded: number &+ 1),
            trackID: track.id,
            decodeTime: time,
            entry: sample.entry
        )
        // a playlist may contain any duration; limit it so that products do not overflow
        let length = max(.zero, min(duration, .seconds(Int32.max)))
        let units = max(1, min((length * Int(track.timescale)).components.seconds, Int64(Int32.max)))
        let fits = fragment.append(
            size: range.count,
            duration: units,
            compositionOffset: sample.compositionOffset,
            isSync: true
        )
        guard fits else { throw Malformed("a sample's numbers do not fit into a fragment", at: Int(clamping: sample.offset)) }
        return SegmentType.bytes + fragment.header + [UInt8](copying: reader.bytes.extracting(range))
    }

    private mutating func transportStream(_ sample: MP4Sample, _ range: Range<Int>) throws -> [UInt8] {
        let track = reader.tracks[trackIndex]
        let delay = DecodeDelay.ticks(
            of: track,
            firstComposition: reader.firstComposition[track.id] ?? 0,
            leastComposition: reader.leastComposition[track.id] ?? 0
        )
        var remuxer = try TransportRemuxer([track], delays: [track.id: delay], shifts: [shift])
        remuxer.repeatsTables = false
        remuxer.beginSegment(after: number)
        try reader.withBytes { bytes throws(Malformed) in try remuxer.write(sample, of: 0, &bytes, in: range) }
        remuxer.endAlignedSegment()
        let packets = remuxer.packets.bytes
        return [UInt8](copying: packets)
    }
}
