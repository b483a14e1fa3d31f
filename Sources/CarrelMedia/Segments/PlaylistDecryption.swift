import CarrelBytes
import CarrelCrypto
import CarrelHLS
import CarrelMP4

/// Writes the clear segments of a playlist one behind the other.
///
/// Segments that are encrypted as a whole are decrypted as they are, whatever they hold. Samples of transport streams (`SAMPLE-AES`) are
/// decrypted and multiplexed again; those of fragmented MP4 (`cbcs`, and `cenc` with `SAMPLE-AES-CTR`) where they lie.
struct PlaylistDecryption: ~Copyable {
    private enum Container { case transportStream, fragments, other }

    private static let pieceLength: Int64 = 256 << 10

    private let playlist: PlaylistSegments
    private let output: MediaDecryption.Output
    private var stream: ClearTransportStream?
    private var remux: SegmentRemux?
    private var fragments: ClearFragments?
    private var initialization: PlaylistSegments.Part?
    private var sampleKey: EncryptionKey?
    private var omitted: [String] = []

    init(_ playlist: PlaylistSegments, as output: MediaDecryption.Output) {
        self.playlist = playlist
        self.output = output
    }

    /// Writes the output, and returns the tracks that it cannot hold.
    mutating func write(to sink: inout some MediaSink, progress: (Int64) throws -> Void) throws -> [String] {
        var done: Int64 = 0
        for segment in playlist.segments {
            let first = segment.initialization ?? segment.media
            let container = try container(of: first)
            if output == .transportStream, container == .other {
                throw MediaError(
                    .unsupported,
                    "\(first.path): sound without a container is written as it is, not as a transport stream"
                )
            }
            let samples = Self.sampleKey(segment)
            // the same movie may be named again behind another key line
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
        }
        try endFragments(to: &sink)
        return omitted
    }

    private mutating func beginSegment(_ segment: PlaylistSegments.Segment, _ container: Container, isNewKey: Bool) throws {
        let samples = Self.sampleKey(segment)
        switch container {
        case .other:
            guard samples == nil else {
                throw MediaError(.unsupported, "\(segment.media.path): audio samples without a container are encrypted")
            }
        case .transportStream:
            guard samples != nil || stream != nil else { return }
            if let samples, try playlist.key(segment.media) == nil {
                throw MediaError(.unsupported, "keys of the format \(samples.keyFormat ?? "identity") are not for files")
            }
            if stream == nil { stream = ClearTransportStream() }
            try stream?.beginSegment(key: samples == nil ? nil : playlist.key(segment.media), iv: segment.media.iv)
        case .fragments:
            guard isNewKey || fragments == nil && remux == nil else { return }
            var keys = playlist.fragmentKeys
            if samples != nil, let key = try playlist.key(segment.media) { keys.useForEverything(ContentKeyGrant(key: key)) }
            if remux != nil {
                try remux?.use(keys)
            } else if fragments != nil {
                try fragments?.use(keys)
            } else if output == .transportStream {
                remux = SegmentRemux([SegmentRemux.Stream(keys: keys)])
            } else {
                fragments = ClearFragments(keys: keys)
            }
        }
    }

    /// The key line of a segment whose samples are encrypted; nil of others.
    private static func sampleKey(_ segment: PlaylistSegments.Segment) -> EncryptionKey? {
        guard let key = segment.media.key, key.method == .sampleAES || key.method == .sampleAESCTR else { return nil }
        return key
    }

    /// The kind of a part, by its first clear bytes.
    private func container(of part: PlaylistSegments.Part) throws -> Container {
        let file = try LocalFile(part.path)
        let range = try PlaylistSegments.range(part, of: file)
        var head = try file.readAll(range.lowerBound..<min(range.upperBound, range.lowerBound + 64))
        if var cipher = try cipher(of: part) {
            let encrypted = head
            head = []
            try cipher.decrypt(encrypted.rawSpan, into: &head)
        }
        if head.first == 0x47 { return .transportStream }
        let boxes: [StaticString] = ["ftyp", "styp", "moov", "moof", "sidx", "emsg", "prft", "free", "mdat"]
        return boxes.contains { head.rawSpan.matches($0, at: 4) } ? .fragments : .other
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
        do {
            while at < range.upperBound {
                let end = min(range.upperBound, at + Self.pieceLength)
                let piece = try file.readAll(at..<end)
                if cipher != nil {
                    clear.removeAll(keepingCapacity: true)
                    try cipher?.decrypt(piece.rawSpan, into: &clear)
                    if end == range.upperBound { try cipher?.finish(into: &clear) }
                    try pass(clear.rawSpan, container, to: &sink)
                } else {
                    try pass(piece.rawSpan, container, to: &sink)
                }
                try done(end - at)
                at = end
            }
        } catch let error as MediaError where error.code == .wrongKey || error.code == .malformed {
            throw MediaError(error.code, "\(part.path): \(error.message)")
        } catch let error as Malformed {
            throw MediaError(.malformed, "\(part.path): \(error.description)")
        }
    }

    private mutating func pass(_ bytes: RawSpan, _ container: Container, to sink: inout some MediaSink) throws {
        switch container {
        case .transportStream where stream != nil: try stream?.take(bytes, to: &sink)
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
