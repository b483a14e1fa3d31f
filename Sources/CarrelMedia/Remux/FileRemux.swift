import CarrelTS
import CarrelBytes
package import CarrelMP4

/// Writes an MP4 file of any protection as a clear MPEG-2 transport stream.
package struct FileRemux {
    private let readers: [ClearTrackReader]
    private let file: MP4File
    private let leastComposition: [UInt32: Int64]

    /// How many samples are looked at for negative composition offsets: those of the first seconds show how far pictures are reordered.
    private static let lookahead = 1000

    /// - Parameters:
    ///   - file: the file.
    ///   - protection: its protection, with its keys.
    /// - Throws: `missingKey`, `wrongKey`, `unsupported`; `Malformed` when a track is damaged.
    package init(_ file: MP4File, _ protection: FileProtection) throws {
        try file.tracks.refuseSeveralParts()
        self.file = file
        readers = try file.tracks.map { try ClearTrackReader($0, of: file, protection) }
        var least: [UInt32: Int64] = [:]
        for track in file.tracks where track.kind == "vide" {
            var samples = file.samples(of: track)
            for _ in 0..<Self.lookahead {
                guard let sample = try samples.next() else { break }
                least[track.id] = min(least[track.id] ?? 0, sample.compositionOffset)
            }
        }
        leastComposition = least
    }

    /// Writes the stream.
    ///
    /// - Parameters:
    ///   - sink: gets it.
    ///   - progress: gets the bytes of samples read so far; it may throw to end the work.
    /// - Returns: the tracks that a transport stream cannot hold, each with the reason.
    /// - Throws: what the reader and the sink throw; `unsupported` when no track fits, `wrongKey`, `Malformed`.
    package func write(to sink: inout some MediaSink, progress: (Int64) throws -> Void) throws -> [String] {
        var remuxer = try TransportRemuxer(file.tracks, leastComposition: leastComposition)
        remuxer.beginSegment()
        var done: Int64 = 0
        while let next = earliest(remuxer) {
            try readers[next].next { sample, bytes, range in
                do throws(Malformed) { try remuxer.write(sample, of: next, &bytes, in: range) } catch {
                    throw readers[next].isProtected
                        ? MediaError(
                            .wrongKey,
                            "track \(readers[next].track.id): \(error.what) behind the decryption: the key is another, or the file is damaged"
                        )
                        : Malformed(error.what, at: Int(clamping: sample.offset) + error.offset)
                }
                done += Int64(sample.size)
            }
            if remuxer.packets.count >= 1 << 19 {
                try sink.write(remuxer.packets.bytes)
                remuxer.packets.removeAll()
                try progress(done)
            }
        }
        remuxer.endSegment()
        try sink.write(remuxer.packets.bytes)
        return remuxer.omitted
    }

    /// The track whose next sample is decoded first.
    private func earliest(_ remuxer: borrowing TransportRemuxer) -> Int? {
        var first: Int?
        var time = Double.infinity
        for i in readers.indices where remuxer.takes(i) {
            guard let sample = readers[i].sample else { continue }
            let decoded = Double(sample.decodeTime) / Double(max(1, readers[i].track.timescale))
            if decoded < time {
                first = i
                time = decoded
            }
        }
        return first
    }
}
