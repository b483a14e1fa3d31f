// SPDX-License-Identifier: Apache-2.0

import CarrelTS
import CarrelBytes
package import CarrelMP4

/// Writes an MP4 file of any protection as a clear MPEG-2 transport stream: the parts of its media that edit lists present, in
/// their order.
package struct FileRemux {
    private let tracks: [PresentedTrack]
    private let file: MP4File

    /// - Parameters:
    ///   - file: the file.
    ///   - protection: its protection, with its keys.
    /// - Throws: `missingKey`, `wrongKey`; `unsupported` if a transport stream cannot contain the presented parts of a track;
    ///   `Malformed` if a track is damaged.
    package init(_ file: MP4File, _ protection: FileProtection) throws {
        self.file = file
        tracks = try file.tracks.map { try PresentedTrack($0, of: file, protection) }
    }

    /// Writes the stream.
    ///
    /// - Parameters:
    ///   - sink: gets the stream.
    ///   - progress: gets the bytes of samples read so far; it may throw to end the work.
    /// - Returns: the tracks that a transport stream cannot hold, each with the reason.
    /// - Throws: the errors of the reader and the sink; `unsupported` if no track fits, `wrongKey`, `Malformed`.
    package func write(to sink: inout some MediaSink, progress: (Int64) throws -> Void) throws -> [String] {
        var delays: [UInt32: Int64] = [:]
        for track in tracks { delays[track.id] = track.plan.delay }
        var remuxer = try TransportRemuxer(file.tracks, delays: delays)
        for (i, track) in tracks.enumerated() {
            if let part = track.part { remuxer.begin(part, of: i) }
            if let preroll = track.plan.preroll { remuxer.begin(preroll, of: i, at: track.index) }
        }
        remuxer.beginSegment()
        var byteCount: Int64 = 0
        while let next = earliest(remuxer) {
            let track = tracks[next]
            let part = track.part
            try track.next { sample, bytes, range in
                do throws(Malformed) { try remuxer.write(sample, of: next, &bytes, in: range) } catch {
                    throw track.isProtected
                        ? MediaError(
                            .wrongKey,
                            "track \(track.id): \(error.what) behind the decryption: the key is another, or the file is damaged"
                        )
                        : Malformed(error.what, at: Int(clamping: sample.offset) + error.offset)
                }
                byteCount += Int64(sample.size)
            }
            if let newPart = track.part, newPart != part { remuxer.begin(newPart, of: next) }
            if remuxer.packets.count >= 1 << 19 {
                try sink.write(remuxer.packets.bytes)
                remuxer.packets.removeAll()
                try progress(byteCount)
            }
        }
        remuxer.endSegment()
        try sink.write(remuxer.packets.bytes)
        return remuxer.omitted
    }

    /// The track whose next sample is decoded first.
    private func earliest(_ remuxer: borrowing TransportRemuxer) -> Int? {
        var first: Int?
        var time = Int64.max
        for i in tracks.indices where remuxer.takes(i) {
            guard let sample = tracks[i].sample else { continue }
            let decoded = remuxer.time(of: sample, i)
            if first == nil || decoded < time {
                first = i
                time = decoded
            }
        }
        return first
    }
}
