// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes
import CarrelMP4
import CarrelThreads

/// The metadata of an audio file.
struct AudioDescription: Sendable {
    var tags = AudioTags()
    /// The duration in seconds; nil if it is only known by counting frames.
    var duration: Double?
}

/// Reads the metadata of an audio file: the tags and the length of MP3, FLAC, Ogg, Opus, WAVE and MP4 files (M4A, M4B), and
/// the chapters of those that have some.
struct AudioTagsReader {
    private let resource: any Resource
    /// Bytes of a tag with its cover at most.
    private let limit: Int
    /// Whether bytes far from the beginning can be had without unpacking all that is before them.
    private let reachesEnd: Bool

    /// Bytes at the end of a file that may be a tag of the oldest kind.
    private static let tailLength: Int64 = 128
    /// Blocks or chunks of one file.
    private static let blockLimit = 128
    private static let threads = BlockingThreadPool(name: "carrel-tags", count: 2)

    private init(_ resource: any Resource, limit: Int, reachesEnd: Bool) {
        self.resource = BufferingResource(resource, least: 16 << 10)
        self.limit = limit
        self.reachesEnd = reachesEnd
    }

    /// - Parameter resource: the audio file.
    /// - Returns: the metadata, without unsupported parts.
    /// - Throws: errors of reading.
    static func describe(_ resource: any Resource) async throws(ResourceError) -> AudioDescription {
        try await AudioTagsReader(resource, limit: 24 << 20, reachesEnd: true).read()
    }

    /// Reads the metadata of one of many files, in few bytes: without tags that contain large images, and without the end of a
    /// compressed file.
    ///
    /// - Parameter resource: the audio file.
    /// - Returns: the metadata, without unsupported parts.
    /// - Throws: errors of reading.
    static func outline(_ resource: any Resource) async throws(ResourceError) -> AudioDescription {
        let isPacked = try await (resource as? any PackedResource)?.deflated() != nil
        return try await AudioTagsReader(resource, limit: 1 << 20, reachesEnd: !isPacked).read()
    }

    private func read() async throws(ResourceError) -> AudioDescription {
        let head = try await resource.read(0..<12)
        if head.dropFirst(4).starts(with: "ftyp".utf8) { return reachesEnd ? try await movie() : AudioDescription() }
        if head.starts(with: "fLaC".utf8) { return try await flac() }
        if head.starts(with: "OggS".utf8) { return try await ogg() }
        if head.starts(with: "RIFF".utf8), head.dropFirst(8).starts(with: "WAVE".utf8) { return try await wave() }
        return try await mp3(head)
    }

    private func mp3(_ head: [UInt8]) async throws(ResourceError) -> AudioDescription {
        let length = try await resource.length()
        var found = AudioDescription()
        var (start, end): (Int64, Int64) = (0, length)
        if let tag = ID3.headerLength(head.rawSpan) {
            start = Int64(tag)
            if tag <= limit {
                let bytes = try await resource.read(0..<start)
                found.tags = (try? ID3.parse(bytes.rawSpan)) ?? AudioTags()
            }
        } else if reachesEnd {
            let tail = try await resource.read(max(0, length - Self.tailLength)..<length)
            if let tags = try? ID3.parseV1(tail.rawSpan) {
                found.tags = tags
                end -= Self.tailLength
            }
        }
        guard start < length, reachesEnd || start <= Int64(limit) else { return found }
        let frames = try await resource.read(start..<min(length, start + 8 << 10))
        found.duration = MP3Length.duration(frames.rawSpan, byteCount: end - start)
        return found
    }

    private func flac() async throws(ResourceError) -> AudioDescription {
        var found = AudioDescription()
        var (at, left): (Int64, Int) = (4, limit)
        for _ in 0..<Self.blockLimit {
            guard reachesEnd || at <= Int64(limit) else { break }
            let header = try await resource.read(at..<at + Int64(FLACBlock.headerLength))
            guard let block = FLACBlock(header.rawSpan) else { break }
            at += Int64(FLACBlock.headerLength)
            if let kind = block.kind, block.length <= left, kind != .picture || found.tags.cover == nil {
                left -= block.length
                let bytes = try await resource.read(at..<at + Int64(block.length))
                switch kind {
                case .streamInformation: found.duration = FLACBlock.duration(bytes.rawSpan)
                case .comments: found.tags = found.tags.filled(from: VorbisComment.parse(bytes.rawSpan))
                case .picture: found.tags.cover = found.tags.cover ?? VorbisComment.cover(bytes.rawSpan)
                }
            }
            at += Int64(block.length)
            if block.isLast { break }
        }
        return found
    }

    private func ogg() async throws(ResourceError) -> AudioDescription {
        var size = 64 << 10
        var bytes = try await resource.read(0..<Int64(size))
        var beginning = OggBeginning(bytes.rawSpan)
        // a picture makes the comments long
        while let some = beginning, some.tags == nil, bytes.count == size, size < limit {
            size = min(limit, 8 * size)
            bytes = try await resource.read(0..<Int64(size))
            beginning = OggBeginning(bytes.rawSpan)
        }
        guard let beginning else { return AudioDescription() }
        var found = AudioDescription(tags: beginning.tags ?? AudioTags())
        if reachesEnd {
            let length = try await resource.length()
            let end = try await resource.read(max(0, length - Int64(2 * OggBeginning.pageLimit))..<length)
            found.duration = beginning.duration(end.rawSpan)
        }
        return found
    }

    private func wave() async throws(ResourceError) -> AudioDescription {
        var found = AudioDescription()
        let length = try await resource.length()
        var (at, left, byteRate): (Int64, Int, Int?) = (12, limit, nil)
        for _ in 0..<Self.blockLimit {
            guard reachesEnd || at <= Int64(limit) else { break }
            let header = try await resource.read(at..<at + 8)
            guard header.count == 8 else { break }
            at += 8
            // a stream that was written without going back does not know how long it is
            let size = min(Int64(header.rawSpan.u32le(at: 4)), length - at)
            let name = header.prefix(4)
            if name.elementsEqual("data".utf8) {
                // the length of a stream is not declared: its samples follow
                guard size > 0 else { break }
                found.duration = byteRate.map { Double(size) / Double($0) }
            } else if size <= Int64(left), ["fmt ", "LIST", "id3 ", "ID3 "].contains(where: { name.elementsEqual($0.utf8) }) {
                left -= Int(size)
                let bytes = try await resource.read(at..<at + size)
                if name.elementsEqual("fmt ".utf8) {
                    byteRate = RIFFChunk.byteRate(bytes.rawSpan)
                } else if name.elementsEqual("LIST".utf8) {
                    found.tags = found.tags.filled(from: RIFFChunk.tags(bytes.rawSpan))
                } else if let tags = try? ID3.parse(bytes.rawSpan) {
                    found.tags = tags.filled(from: found.tags)
                }
            }
            at += size + size % 2
        }
        return found
    }

    /// The index of an MP4 file is read in small pieces, here and there, by what waits for each of them.
    private func movie() async throws(ResourceError) -> AudioDescription {
        let reader = BlockingReader(resource, length: try await resource.length())
        do {
            return try await Self.threads.run {
                let file = try MP4File(reader)
                var found = AudioDescription(tags: file.tags)
                if let track = file.mainAudioTrack, track.timescale > 0, track.declaredDuration > 0 {
                    found.duration = Double(track.declaredDuration) / Double(track.timescale)
                }
                return found
            }
        } catch let error as ResourceError {
            throw error
        } catch is QueueFull {
            throw ResourceError(.unavailable, "too many files are being read: try again")
        } catch {
            // a damaged index is no reason not to play the file
            return AudioDescription()
        }
    }
}
