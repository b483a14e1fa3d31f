// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelHLS
import CarrelMP4

/// Writes the clear segments of a playlist, concatenated.
///
/// Segments that are encrypted as a whole are decrypted without regard to their contents. Samples of transport streams
/// (`SAMPLE-AES`) are decrypted and multiplexed again; samples of fragmented MP4 (`cbcs`, and `cenc` with `SAMPLE-AES-CTR`) and
/// of packed audio are decrypted in place. For a transport stream, packed audio is multiplexed too.
struct PlaylistDecryption: ~Copyable {
    typealias Container = ClearHead.Content

    private static let pieceLength: Int64 = 256 << 10

    private let playlist: PlaylistSegments
    private let isTransportStream: Bool
    private var stream: ClearTransportStream?
    private var remux: SegmentRemux?
    private var fragments: ClearFragments?
    private var initialization: PlaylistSegments.Part?
    private var sampleKey: EncryptionKey?
    private var omitted: [String] = []
    private var audio: ClearPackedAudio?
    private var audioRemux: PackedAudioRemux?
    /// The digest of the key of a segment's audio samples, until it is verified.
    private var audioKey: [UInt8]?
    /// Bits of evidence for the keys of whole segments, by their digests.
    private var bits: [[UInt8]: Int] = [:]

    /// - Parameters:
    ///   - playlist: the segments and their keys.
    ///   - isTransportStream: whether the output is a transport stream whatever the segments are.
    init(_ playlist: PlaylistSegments, isTransportStream: Bool = false) {
        self.playlist = playlist
        self.isTransportStream = isTransportStream
    }

    /// Writes the output, and returns the tracks that it cannot hold.
    mutating func write(to sink: inout some MediaSink, progress: (Int64) throws -> Void) throws -> [String] {
        var done: Int64 = 0
        for segment in playlist.segments {
            let first = segment.initialization ?? segment.media
            let container = try content(of: first)
            if isTransportStream, try container == .other || container == .unknown && !Self.isEmpty(first) {
                throw MediaError(
                    .unsupported,
                    "\(first.path): text and pictures without a container are not written as a transport stream"
                )
            }
            let samples = Self.sampleKey(segment)
            // the same movie may be named again after another key line
            let isNew =
                segment.initialization?.path != initialization?.path || segment.initialization?.range != initialization?.range
            if isNew { try endFragments(to: &sink) }
            try beginSegment(segment, container, isNewKey: samples != sampleKey)
            if isNew, let part = segment.initialization { try write(part, container, to: &sink) { _ in } }
            initialization = segment.initialization
            sampleKey = samples
            try write(segment.media, container, to: &sink) { count in
                done += count
                try progress(done)
            }
            try stream?.endSegment(to: &sink)
            if container == .audio { try endAudio(to: &sink) }
        }
        try endFragments(to: &sink)
        return omitted
    }

    private mutating func beginSegment(_ segment: PlaylistSegments.Segment, _ container: Container, isNewKey: Bool) throws {
        let samples = Self.sampleKey(segment)
        switch container {
        case .audio:
            if let samples { try beginAudio(segment.media, samples) }
            if isTransportStream, audioRemux == nil { audioRemux = PackedAudioRemux() }
        case .other, .unknown:
            guard samples == nil else {
                throw MediaError(.unsupported, "\(segment.media.path): the container of encrypted samples is not known")
            }
        case .transportStream:
            guard samples != nil || stream != nil else { return }
            if let samples, try playlist.key(segment.media) == nil {
                throw MediaError(.unsupported, "keys of the format \(samples.keyFormat ?? "identity") are not for files")
            }
            if stream == nil { stream = ClearTransportStream(evidence: playlist.evidence) }
            try stream?.beginSegment(key: samples == nil ? nil : playlist.key(segment.media), iv: segment.media.iv)
        case .fragments:
            guard isNewKey || fragments == nil && remux == nil else { return }
            var keys = playlist.fragmentKeys
            if samples != nil, let key = try playlist.key(segment.media) { keys.useForEverything(ContentKeyGrant(key: key)) }
            if remux != nil {
                try remux?.use(keys)
            } else if fragments != nil {
                try fragments?.use(keys)
            } else if isTransportStream {
                remux = SegmentRemux([SegmentRemux.Stream(keys: keys)])
            } else {
                fragments = ClearFragments(keys: keys)
            }
        }
    }

    private static func isEmpty(_ part: PlaylistSegments.Part) throws -> Bool {
        try PlaylistSegments.range(part, of: try LocalFile(part.path)).isEmpty
    }

    /// The key line of a segment with encrypted samples; nil for other segments.
    private static func sampleKey(_ segment: PlaylistSegments.Segment) -> EncryptionKey? {
        guard let key = segment.media.key, key.method == .sampleAES || key.method == .sampleAESCTR else { return nil }
        return key
    }

    private mutating func beginAudio(_ part: PlaylistSegments.Part, _ line: EncryptionKey) throws {
        guard line.method == .sampleAES, let key = try playlist.key(part) else {
            throw MediaError(.unsupported, "keys of the format \(line.keyFormat ?? "identity") are not for files")
        }
        guard key.count == 16 else {
            throw MediaError(.wrongKey, "SAMPLE-AES has keys of 16 bytes, and this one has \(key.count)")
        }
        audio = try ClearPackedAudio(key: key, iv: part.iv)
        audioKey = playlist.evidence.use(key, "the address \(KeyAddress.withoutSecrets(line.uri))")
    }

    private mutating func takeAudio(_ bytes: RawSpan, to sink: inout some MediaSink) throws {
        var clear = BytesSink()
        if audio == nil { clear.write(bytes) } else { try audio?.take(bytes, to: &clear) }
        let piece = clear.bytes
        if audioRemux == nil { try sink.write(piece.rawSpan) } else { try audioRemux?.take(piece.rawSpan, to: &sink) }
    }

    private mutating func endAudio(to sink: inout some MediaSink) throws {
        let isVerified = try audio?.finish() == true
        audio = nil
        if isVerified, let audioKey { playlist.evidence.verify(audioKey) }
        try audioRemux?.endSegment(to: &sink)
    }

    /// Whether the clear segments are a transport stream or audio without a container.
    func isStream() throws -> Bool {
        guard let first = playlist.segments.first else { return false }
        let content = try content(of: first.initialization ?? first.media)
        return content == .transportStream || content == .audio
    }

    /// The content of a part, by its first clear bytes.
    func content(of part: PlaylistSegments.Part) throws -> Container {
        let file = try LocalFile(part.path)
        let range = try PlaylistSegments.range(part, of: file)
        var bytes = try file.readAll(range.lowerBound..<min(range.upperBound, range.lowerBound + Int64(ClearHead.length)))
        var isEncrypted = false
        if var cipher = try cipher(of: part) {
            isEncrypted = true
            let encrypted = bytes
            bytes = []
            try cipher.decrypt(encrypted.rawSpan, into: &bytes)
            // padding may be all that is left
            if Int64(encrypted.count) == range.upperBound - range.lowerBound { try cipher.finish(into: &bytes) }
        }
        let content = ClearHead(bytes.rawSpan).content
        guard content != .unknown || bytes.isEmpty || !isEncrypted else {
            throw MediaError(
                .wrongKey,
                "\(part.path): no content of segments begins after the decryption: the key is another, or the bytes are altered"
            )
        }
        return content
    }

    /// Counts the evidence of a clear segment for its key.
    private mutating func judge(_ part: PlaylistSegments.Part, _ head: [UInt8]) throws {
        guard let line = part.key, let secret = try playlist.key(part) else { return }
        let digest = playlist.evidence.use(secret, "the address \(KeyAddress.withoutSecrets(line.uri))")
        bits[digest, default: 0] += ClearHead(head.rawSpan).bits + (line.method == .aes256CTR ? 0 : 8)
        if bits[digest, default: 0] >= KeyEvidence.certainty { playlist.evidence.verify(digest) }
    }

    private func cipher(of part: PlaylistSegments.Part) throws -> SegmentCipher? {
        guard let key = part.key, key.method != .sampleAES, key.method != .sampleAESCTR, let secret = try playlist.key(part)
        else {
            return nil
        }
        return try SegmentCipher(key.method, key: secret, iv: part.iv)
    }

    /// Writes the clear bytes of a part.
    private mutating func write(
        _ part: PlaylistSegments.Part,
        _ container: Container,
        to sink: inout some MediaSink,
        done: (Int64) throws -> Void
    ) throws {
        let file = try LocalFile(part.path)
        let range = try PlaylistSegments.range(part, of: file)
        var cipher = try cipher(of: part)
        var at = range.lowerBound
        var clear: [UInt8] = []
        var head: [UInt8] = []
        do {
            while at < range.upperBound {
                let end = min(range.upperBound, at + Self.pieceLength)
                let piece = try file.readAll(at..<end)
                if cipher != nil {
                    clear.removeAll(keepingCapacity: true)
                    try cipher?.decrypt(piece.rawSpan, into: &clear)
                    if end == range.upperBound { try cipher?.finish(into: &clear) }
                    if at == range.lowerBound { head = Array(clear.prefix(ClearHead.length)) }
                    try pass(clear.rawSpan, container, to: &sink)
                } else {
                    try pass(piece.rawSpan, container, to: &sink)
                }
                try done(end - at)
                at = end
            }
            if cipher != nil { try judge(part, head) }
        } catch let error as MediaError where error.code == .wrongKey || error.code == .malformed {
            throw MediaError(error.code, "\(part.path): \(error.message)")
        } catch let error as Malformed {
            throw MediaError(.malformed, "\(part.path): \(error.description)")
        }
    }

    private mutating func pass(_ bytes: RawSpan, _ container: Container, to sink: inout some MediaSink) throws {
        switch container {
        case .transportStream where stream != nil: try stream?.take(bytes, to: &sink)
        case .audio: try takeAudio(bytes, to: &sink)
        case .fragments where remux != nil:
            remux?.append(bytes)
            try remux?.write(to: &sink)
        case .fragments:
            fragments?.append(bytes)
            while let event = try fragments?.next() {
                switch event {
                case .movie(let range), .fragment(let range), .box(_, let range), .data(let range), .sample(_, _, let range):
                    if let clear = fragments?.bytes.extracting(range) { try sink.write(clear) }
                }
            }
        default: try sink.write(bytes)
        }
    }

    private mutating func endFragments(to sink: inout some MediaSink) throws {
        remux?.end()
        try remux?.write(to: &sink)
        for track in remux?.omitted ?? [] where !omitted.contains(track) { omitted.append(track) }
        remux = nil
        fragments?.end()
        _ = try fragments?.next()
        fragments = nil
    }
}
