// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelMP4

/// Writes a clear copy of a file with Common Encryption or PIFF.
///
/// The copy has the length of the file, and all its contents keep their offsets (`ProtectionRemoval`): samples are decrypted in
/// place, and protection boxes become free space. Memory is one block, or one sample if that is longer.
package struct ClearCopy: ~Copyable {
    /// Bytes of a block.
    private static let blockLength = 1 << 20
    /// Bytes of a sample, at most.
    package static let sampleLimit = FragmentReader.sampleLimit

    private let file: MP4File
    private var walks: [TrackWalk] = []
    private var patches = PatchWalk()
    private var decryptedRanges = DecryptedRanges()

    /// - Parameters:
    ///   - file: the file.
    ///   - keys: the keys of its protected tracks.
    /// - Throws: `unsupported` if no track is protected, or one by another protection.
    package init(_ file: MP4File, keys: ContentKeys) throws {
        self.file = file
        for track in file.tracks where track.entries.contains(where: { $0.protection != nil }) {
            walks.append(TrackWalk(file, try TrackDecrypter(track, keys: keys)))
        }
        guard !walks.isEmpty else { throw MediaError(.unsupported, "no track is protected") }
        patches = PatchWalk(tracks: Set(walks.map(\.decrypter.track.id)))
    }

    /// Writes the copy.
    ///
    /// - Parameters:
    ///   - sink: gets the copy.
    ///   - progress: gets the bytes written so far, block after block; it may throw to end the work.
    /// - Throws: the errors of the reader and the sink; `missingKey`; `Malformed` if the file is damaged.
    package mutating func write(to sink: inout some MediaSink, progress: (Int64) throws -> Void = { _ in }) throws {
        for i in walks.indices { try walks[i].advance() }
        var at: Int64 = 0
        while at < file.reader.length {
            var end = min(file.reader.length, at + Int64(Self.blockLength))
            var block = try file.reader.readAll(at..<end)
            var isExtended = false
            try patches.apply(to: &block, at: at, file)
            while let i = next(before: end) {
                guard let sample = walks[i].sample else { break }
                guard sample.size <= Self.sampleLimit else {
                    throw Malformed("sample of \(sample.size) bytes is longer than \(Self.sampleLimit)", at: Int(sample.offset))
                }
                // decrypting twice would silently corrupt the bytes
                guard decryptedRanges.insert(sample.range) else { throw Malformed("samples overlap", at: Int(sample.offset)) }
                if sample.range.upperBound > end {
                    // no other sample overlaps the end of this one
                    guard !isExtended else { throw Malformed("samples overlap", at: Int(sample.offset)) }
                    isExtended = true
                    let more = try file.reader.readAll(end..<sample.range.upperBound)
                    block += more
                    end = sample.range.upperBound
                }
                if sample.offset < at {
                    // chunks of this file are not in sample order
                    var bytes = try file.reader.readAll(sample.range)
                    try walks[i].decrypt(&bytes, at: 0)
                    let count = Int(min(at - sample.offset, Int64(bytes.count)))
                    try sink.overwrite(bytes.rawSpan.extracting(0..<count), at: sample.offset)
                    block.replaceSubrange(0..<bytes.count - count, with: bytes[count...])
                    try walks[i].advance()
                    continue
                }
                try walks[i].decrypt(&block, at: Int(sample.offset - at))
                try walks[i].advance()
            }
            try sink.write(block.rawSpan)
            at = end
            try progress(at)
        }
    }

    /// The track whose next sample is the first in the file, if that begins before `end`.
    private func next(before end: Int64) -> Int? {
        var first: Int?
        var offset = end
        for i in walks.indices {
            guard let sample = walks[i].sample, sample.offset < offset else { continue }
            first = i
            offset = sample.offset
        }
        return first
    }

    /// One protected track on its way.
    private struct TrackWalk {
        let decrypter: TrackDecrypter
        var samples: MP4Samples
        var sample: MP4Sample?
        var parameters = SampleEncryption()

        init(_ file: MP4File, _ decrypter: TrackDecrypter) {
            self.decrypter = decrypter
            samples = file.samples(of: decrypter.track)
        }

        /// Goes to the next encrypted sample.
        mutating func advance() throws {
            repeat {
                sample = try samples.next()
                guard let sample else { return }
                try samples.readEncryption(decrypter.defaults(of: sample), into: &parameters)
            } while !parameters.isProtected
        }

        mutating func decrypt(_ block: inout [UInt8], at start: Int) throws {
            guard let sample else { return }
            var elements = block.mutableSpan
            var bytes = unsafe elements.mutableBytes
            try decrypter.decrypt(&bytes, in: start..<start + sample.size, sample, parameters)
        }
    }

    /// The patches of the file, box after box.
    private struct PatchWalk {
        private var tracks: Set<UInt32> = []
        private var box: Int64 = 0
        private var waiting: [ProtectionRemoval.Patch] = []

        init() {}

        init(tracks: Set<UInt32>) {
            self.tracks = tracks
        }

        /// Patches a block that begins at an offset of the file.
        mutating func apply(to block: inout [UInt8], at start: Int64, _ file: MP4File) throws {
            let end = start + Int64(block.count)
            var window = FileWindow(file.reader)
            while box < end, file.reader.length - box >= 8 {
                let next = try MP4Box(&window, at: box, in: 0..<file.reader.length)
                waiting += try ProtectionRemoval(of: next, tracks: tracks, &window).patches
                box = next.content.upperBound
            }
            waiting.removeAll { patch in
                for (i, byte) in patch.bytes.enumerated() {
                    let at = patch.offset + Int64(i)
                    if at >= start, at < end { block[Int(at - start)] = byte }
                }
                let zeros = patch.offset + Int64(patch.bytes.count)
                let last = zeros + Int64(patch.zeros)
                let wiped = max(zeros, start)..<max(max(zeros, start), min(last, end))
                for at in wiped { block[Int(at - start)] = 0 }
                return last <= end
            }
        }
    }
}
