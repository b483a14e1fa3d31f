// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import CarrelCrypto
package import CarrelDASH
package import CarrelHLS
import CarrelMP4

/// Decrypts one media segment of HLS, DASH or Common Encryption incrementally: it takes pieces of any size and writes clear bytes
/// immediately.
///
/// Segments that are encrypted as a whole (`AES-128`, `AES-256`, `AES-256-CTR`; DASH segment encryption) are restored exactly.
/// Samples of fragmented MP4 and of packed audio are decrypted in place, and the segment keeps its length; samples of a transport
/// stream are extracted, decrypted and multiplexed again.
///
/// ```swift
/// var decrypter = try await MediaSegmentDecrypter(keyLine, segment: 7, keys: keys)
/// while let piece = try await download.next() { try await decrypter.decrypt(piece.rawSpan, to: &output) }
/// try await decrypter.finish(to: &output)
/// ```
public struct MediaSegmentDecrypter: ~Copyable {
    /// State until the first bytes identify the container of samples.
    private struct Undecided {
        var method: EncryptionKey.Method
        var grant: ContentKeyGrant
        var iv: AESBlock
        var number: UInt64
        /// The pixels of its pictures, if they are known.
        var pixels: Int?
        var head: [UInt8] = []
    }

    private let source: any ContentKeySource
    /// The clock by which keys end; nil if the caller enforces the terms of the keys.
    private let clock: (any WallClock)?
    /// The key of the key line.
    private var grant: ContentKeyGrant?
    private var cipher: SegmentCipher?
    private var stream: ClearTransportStream?
    private var fragments: ClearFragments?
    private var audio: ClearPackedAudio?
    private var undecided: Undecided?
    private var clear: [UInt8] = []

    /// The change of the times of fragments; nil keeps them.
    package var shift: FragmentShift?

    /// The clear initialization segment; empty if the decrypter was created without one.
    public private(set) var clearInitialization: [UInt8] = []

    // MARK: - The key line of a playlist

    /// Prepares a segment of an HLS playlist (RFC 8216 §4.3.2.4).
    ///
    /// - Parameters:
    ///   - key: the key line in force; nil if the segment is clear.
    ///   - number: the media sequence number, which is the initialization vector if the key line has none (§5.2).
    ///   - initialization: the clear initialization section, for fragmented MP4 with encrypted samples.
    ///   - keys: the key source, called with the address or the content ID of the key line; a `data:` address is the key itself.
    ///   - clock: the clock by which keys end; nil if the caller enforces the ends of the keys.
    ///   - pixels: the pixels of its largest picture, for segments without an initialization section, which do not state them before
    ///     they are decrypted; 0 for media without pictures, nil if they are not known.
    /// - Throws: `missingKey`, `refusedKey`; `outputControl` if the license allows smaller pictures only; `wrongKey` if the key has
    ///   another length; `unsupported` if the method is unknown; `Malformed` if the initialization section is damaged.
    package init(
        _ key: EncryptionKey?,
        segment number: UInt64,
        initialization: [UInt8] = [],
        keys: some ContentKeySource,
        clock: (any WallClock)? = nil,
        pixels: Int? = nil
    ) async throws {
        source = keys
        self.clock = clock
        clearInitialization = initialization
        guard let key else { return }
        let granted = try await Self.grant(key, keys)
        let secret = granted.key
        grant = granted
        try checkTerms()
        let iv = key.initializationVector.flatMap { AESBlock($0.rawSpan) } ?? AESBlock(high: 0, low: number)
        guard key.method == .sampleAES || key.method == .sampleAESCTR else {
            try Self.checkPictures(granted, initialization, pixels)
            cipher = try SegmentCipher(key.method, key: secret, iv: iv)
            return
        }
        guard secret.count == 16 else {
            throw MediaError(.wrongKey, "\(key.method.rawValue) has keys of 16 bytes, and this one has \(secret.count)")
        }
        guard !initialization.isEmpty else {
            undecided = Undecided(method: key.method, grant: granted, iv: iv, number: number, pixels: pixels)
            return
        }
        var all = ContentKeys()
        all.useForEverything(granted)
        let file = try MP4File(BytesReader(initialization))
        try all.checkPictures(file.tracks)
        fragments = ClearFragments(tracks: file.tracks, keys: all)
        clearInitialization = try Self.clear(initialization, tracks: Self.protected(file.tracks))
    }

    /// Checks the pictures of a segment that is encrypted as a whole: by its clear initialization section, if that is a movie.
    private static func checkPictures(
        _ grant: ContentKeyGrant,
        _ initialization: [UInt8],
        _ pixels: Int?
    ) throws(MediaError) {
        guard grant.maxPixels != nil else { return }
        let tracks = initialization.isEmpty ? [] : (try? MP4File(BytesReader(initialization)))?.tracks ?? []
        guard !tracks.isEmpty else { return try grant.checkPictures(pixels, "the segment") }
        var all = ContentKeys()
        all.useForEverything(grant)
        try all.checkPictures(tracks)
    }

    /// Checks that the keys may still be used.
    private mutating func checkTerms() throws(MediaError) {
        guard let clock else { return }
        try grant?.end.check(at: clock.now)
        if fragments != nil { try fragments?.keyEnd.check(at: clock.now) }
    }

    private static func grant(_ key: EncryptionKey, _ source: some ContentKeySource) async throws(MediaError) -> ContentKeyGrant {
        var names = [ContentKeyName.address(key.uri)]
        if let id = key.contentID { names.insert(.content(id), at: 0) }
        // a `data:` address of another format is not the key
        let isPlain = key.keyFormat == nil || key.keyFormat?.lowercased() == "identity"
        do throws(MediaError) {
            return try await ContentKeys.ask(for: names, "the address \(KeyAddress.withoutSecrets(key.uri))", source)
        } catch {
            guard error.code == .missingKey, isPlain, let bytes = KeyAddress.data(key.uri) else { throw error }
            return ContentKeyGrant(key: Secret(bytes))
        }
    }

    // MARK: - The initialization segment of Common Encryption

    /// Prepares segments of Common Encryption or PIFF from their initialization segment.
    ///
    /// - Parameters:
    ///   - initialization: the initialization segment.
    ///   - track: the track to decrypt; nil for all. Samples of other tracks pass unchanged.
    ///   - keys: the key source, called with key IDs or the track. Keys in fragments are requested when the fragments arrive.
    /// - Throws: `missingKey`, `refusedKey`; `unsupported` if the track does not exist, or has another protection; `Malformed`.
    public init(initialization: [UInt8], track: UInt32? = nil, keys: some ContentKeySource) async throws {
        try await self.init(initialization: initialization, track: track, keys: keys, clock: SystemClock())
    }

    /// Prepares segments of Common Encryption for a caller with another clock.
    ///
    /// - Parameters:
    ///   - initialization: the initialization segment.
    ///   - track: the track to decrypt; nil for all.
    ///   - keys: the key source.
    ///   - clock: the clock by which keys end; nil if the caller enforces the terms of the keys.
    /// - Throws: the errors of the public initializer.
    package init(
        initialization: [UInt8],
        track: UInt32? = nil,
        keys: some ContentKeySource,
        clock: (any WallClock)?
    ) async throws {
        source = keys
        self.clock = clock
        let file = try MP4File(BytesReader(initialization))
        let tracks = file.tracks.filter { track == nil || $0.id == track }
        guard !tracks.isEmpty else {
            throw MediaError(.unsupported, "the initialization segment has no track \(track.map { "\($0)" } ?? "")")
        }
        var all = ContentKeys()
        for track in tracks {
            if track.entries.contains(where: { $0.protection != nil }) { _ = try TrackDecrypter(track, keys: all) }
            for id in try file.keyIDs(of: track) { try await all.resolve(id, track: track.id, from: keys) }
        }
        try all.checkPictures(tracks)
        fragments = ClearFragments(tracks: tracks, keys: all)
        clearInitialization = try Self.clear(initialization, tracks: Self.protected(tracks))
        try checkTerms()
    }

    private static func protected(_ tracks: [MP4Track]) -> Set<UInt32> {
        Set(tracks.filter { $0.entries.contains { $0.protection != nil } }.map(\.id))
    }

    /// An initialization segment that declares these tracks clear.
    private static func clear(_ initialization: [UInt8], tracks: Set<UInt32>) throws -> [UInt8] {
        guard !tracks.isEmpty else { return initialization }
        var bytes = initialization
        var window = FileWindow(BytesReader(initialization))
        try MP4Box.forEach(in: 0..<Int64(initialization.count), &window) { box, window in
            for patch in try ProtectionRemoval(of: box, tracks: tracks, &window).patches {
                let at = Int(patch.offset)
                let zeros = at + patch.bytes.count
                bytes.replaceSubrange(at..<zeros, with: patch.bytes)
                for place in zeros..<zeros + patch.zeros { bytes[place] = 0 }
            }
        }
        return bytes
    }

    // MARK: - The segment encryption of DASH

    private static let dashCipher = "urn:mpeg:dash:sea:aes128-cbc:2013"

    /// Whether Carrel supports the cipher of an MPD's segment encryption.
    package static func isSupported(_ encryption: MPDSegmentEncryption?) -> Bool {
        guard let scheme = encryption?.scheme else { return true }
        return scheme.lowercased() == dashCipher
    }

    /// Prepares a segment that is encrypted as a whole, as declared in an MPD (ISO/IEC 23009-4).
    ///
    /// - Parameters:
    ///   - encryption: the MPD's segment encryption.
    ///   - index: the index of the segment in its representation, from zero; zero for an initialization segment.
    ///   - values: the values of the segment for the template of the key's address; its number is the initialization vector if
    ///     the MPD has none.
    ///   - url: the address of the MPD, against which the key's address is resolved.
    ///   - keys: the key source, called with the address.
    ///   - pixels: the pixels of its largest picture, as the MPD states them; 0 for media without pictures, nil if they are not known.
    /// - Throws: `missingKey`, `refusedKey`, `wrongKey`; `outputControl` if the license allows smaller pictures only; `unsupported`
    ///   if the cipher is not AES-128-CBC.
    package init(
        _ encryption: MPDSegmentEncryption,
        segment index: Int,
        values: URLTemplate.Values,
        url: String? = nil,
        keys: some ContentKeySource,
        pixels: Int? = nil
    ) async throws {
        source = keys
        clock = nil
        guard Self.isSupported(encryption) else {
            throw MediaError(.unsupported, "segments are encrypted by \(encryption.scheme ?? "")")
        }
        // a segment before or between the runs is in the clear
        guard let period = encryption.period(ofSegment: index) else { return }
        let address = try Self.address(period.keyURITemplate, values)
        let key = EncryptionKey(uri: url.map { URIReference.resolve(address, against: $0) } ?? address)
        let iv = period.initializationVector.flatMap { AESBlock($0.rawSpan) }
        let granted = try await Self.grant(key, keys)
        try granted.checkPictures(pixels, "the segment")
        cipher = try SegmentCipher(
            .aes128,
            key: granted.key,
            iv: iv ?? AESBlock(high: 0, low: UInt64(bitPattern: values.number))
        )
    }

    private static func address(_ template: String?, _ values: URLTemplate.Values) throws(MediaError) -> String {
        guard let template else { throw MediaError(.missingKey, "the MPD names no address of the key") }
        guard let parsed = try? URLTemplate(template) else {
            throw MediaError(.malformed, "the template of the key's address is malformed")
        }
        return parsed.expand(values)
    }

    // MARK: - Bytes

    /// Decrypts a piece.
    ///
    /// - Parameters:
    ///   - piece: the next bytes of the segment.
    ///   - sink: gets clear bytes.
    /// - Throws: the errors of the sink; `Malformed`, `unsupported`, `missingKey`; `expiredKey` or `refusedKey` if the license of a key
    ///   has ended.
    public mutating func decrypt(_ piece: RawSpan, to sink: inout some MediaSink) async throws {
        try checkTerms()
        if undecided != nil {
            undecided?.head.append(copying: piece)
            guard let head = undecided?.head, head.count >= 8 else { return }
            try decide()
            let bytes = head.rawSpan
            if try take(bytes, to: &sink) { try await drain(to: &sink) }
            return
        }
        if try take(piece, to: &sink) { try await drain(to: &sink) }
    }

    /// Ends the segment.
    ///
    /// - Parameter sink: gets the last clear bytes.
    /// - Throws: the errors of the sink; `wrongKey` if the padding is wrong; `Malformed` if the segment is truncated; `expiredKey` or
    ///   `refusedKey` if the license of a key has ended.
    public mutating func finish(to sink: inout some MediaSink) async throws {
        try checkTerms()
        if let held = undecided, !held.head.isEmpty {
            throw MediaError(.malformed, "the segment of \(held.head.count) bytes is cut off")
        }
        if cipher != nil {
            clear.removeAll(keepingCapacity: true)
            try cipher?.finish(into: &clear)
            cipher = nil
            try sink.write(clear.rawSpan)
        }
        try stream?.endSegment(to: &sink)
        stream = nil
        try audio?.finish()
        audio = nil
        if fragments != nil {
            fragments?.end()
            try await drain(to: &sink)
            fragments = nil
        }
    }

    /// Finds the container of encrypted samples by its first bytes.
    private mutating func decide() throws {
        guard let held = undecided else { return }
        undecided = nil
        let head = held.head.rawSpan
        if head.u8(at: 0) == 0x47 {
            guard held.method == .sampleAES else {
                throw MediaError(.unsupported, "samples of a transport stream are not encrypted by \(held.method.rawValue)")
            }
            try held.grant.checkPictures(held.pixels, "the segment")
            stream = ClearTransportStream(segment: held.number)
            try stream?.beginSegment(key: held.grant.key, iv: held.iv)
            return
        }
        if held.method == .sampleAES, ClearPackedAudio.begins(head) {
            audio = try ClearPackedAudio(key: held.grant.key, iv: held.iv)
            return
        }
        let boxes: [StaticString] = ["ftyp", "styp", "moov", "moof", "sidx", "emsg", "prft", "free"]
        guard boxes.contains(where: { head.matches($0, at: 4) }) else {
            throw MediaError(.unsupported, "the container of encrypted samples is not known")
        }
        var all = ContentKeys()
        all.useForEverything(held.grant)
        fragments = ClearFragments(keys: all)
    }

    /// Takes bytes; whether events of fragments may follow.
    private mutating func take(_ piece: RawSpan, to sink: inout some MediaSink) throws -> Bool {
        if cipher != nil {
            clear.removeAll(keepingCapacity: true)
            try cipher?.decrypt(piece, into: &clear)
            try sink.write(clear.rawSpan)
        } else if stream != nil {
            try stream?.take(piece, to: &sink)
        } else if audio != nil {
            try audio?.take(piece, to: &sink)
        } else if fragments != nil {
            fragments?.append(piece)
            return true
        } else {
            try sink.write(piece)
        }
        return false
    }

    /// Writes the fragments that are complete.
    private mutating func drain(to sink: inout some MediaSink) async throws {
        while let event = try fragments?.next() {
            switch event {
            case .fragment(let range) where shift != nil:
                try await fragments?.resolveKeys(from: source)
                try writeShifted(range, to: &sink)
            case .box(_, let range) where shift != nil: try writeShifted(range, to: &sink)
            case .movie(let range), .fragment(let range):
                try await fragments?.resolveKeys(from: source)
                if let bytes = fragments?.bytes.extracting(range) { try sink.write(bytes) }
            case .box(_, let range), .data(let range), .sample(_, _, let range):
                if let bytes = fragments?.bytes.extracting(range) { try sink.write(bytes) }
            }
        }
    }

    /// Writes a box with other times.
    private mutating func writeShifted(_ range: Range<Int>, to sink: inout some MediaSink) throws {
        guard let shift, let tracks = fragments?.tracks else { return }
        var box: [UInt8] = []
        if let bytes = fragments?.bytes.extracting(range) { box = [UInt8](copying: bytes) }
        try shift.apply(to: &box, tracks: tracks)
        try sink.write(box.rawSpan)
    }
}
