// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes
package import CarrelCrypto
package import CarrelDCF
import CarrelThreads
import CarrelThreads

/// The clear bytes of content that is encrypted as a whole, read in order or from any place.
///
/// Memory grows with the bytes of one read alone. A seek reads nothing: the next read begins at the block before the position in
/// CBC, and at the position's counter in CTR. Short reads are decrypted on the caller's executor: a change of threads takes longer than
/// 64 KiB of AES.
///
/// ```swift
/// let stream = try await MediaStream.open(source, as: .dcf(), keys: keys)
/// stream.seek(to: 1_000_000)
/// while true {
///     let bytes = try await stream.read(upTo: 1 << 16)
///     if bytes.isEmpty { break }
/// }
/// await stream.close()
/// ```
public final class MediaStream: Sendable {
    private struct State {
        /// The key; nil after the stream was closed, and for clear content.
        var grant: ContentKeyGrant?
        /// The source of the key, which moves and ends it while it exists; nil after the stream was closed.
        var keys: (any ContentKeySource)?
        var position: Int64 = 0
        var isClosed = false
    }

    /// The format of the encrypted bytes.
    @nonexhaustive
    public enum Kind: Sendable, Hashable {
        /// An OMA DCF, of which one object is read, by its number from 1.
        case dcf(object: Int = 1)
        /// AES-128-CBC with PKCS#7 padding.
        case aes128CBC(RawFormat)
        /// AES-128-CTR.
        case aes128CTR(RawFormat)
    }

    /// The format of bytes that do not describe themselves.
    public struct RawFormat: Sendable, Hashable {
        /// The name of the key.
        public var key: ContentKeyName
        /// The initialization vector or the first counter block; nil if it is the first 16 bytes.
        package var iv: AESBlock?
        /// How far the counter carries.
        package var counterWidth: EncryptedPayload.CounterWidth
        /// Bytes in the clear; nil for as many as there are.
        public var clearLength: Int64?
        /// The media type of the clear bytes.
        public var contentType: String?

        /// - Parameters:
        ///   - key: the name of the key.
        ///   - iv: the initialization vector or the first counter block; nil if it is the first 16 bytes.
        ///   - counterWidth: the width of the counter.
        ///   - clearLength: bytes in the clear; nil for as many as there are.
        ///   - contentType: the media type of the clear bytes.
        package init(
            key: ContentKeyName,
            iv: AESBlock? = nil,
            counterWidth: EncryptedPayload.CounterWidth = .all128,
            clearLength: Int64? = nil,
            contentType: String? = nil
        ) {
            self.key = key
            self.iv = iv
            self.counterWidth = counterWidth
            self.clearLength = clearLength
            self.contentType = contentType
        }

        /// Creates a format with a key in the memory of an app.
        ///
        /// - Parameters:
        ///   - key: the name of the key.
        ///   - initializationVector: 16 bytes, the first counter block in CTR; nil if it is the first 16 bytes of the stream.
        ///   - clearLength: bytes in the clear; nil for as many as there are.
        ///   - contentType: the media type of the clear bytes.
        /// - Throws: `media.malformed` if the initialization vector has another length.
        public init(
            key: ContentKeyName,
            initializationVector: [UInt8]?,
            clearLength: Int64? = nil,
            contentType: String? = nil
        ) throws(MediaError) {
            guard let bytes = initializationVector else {
                self.init(key: key, clearLength: clearLength, contentType: contentType)
                return
            }
            guard bytes.count == 16, let block = AESBlock(bytes.rawSpan) else {
                throw MediaError(.malformed, "an initialization vector of AES has 16 bytes, and this one has \(bytes.count)")
            }
            self.init(key: key, iv: block, clearLength: clearLength, contentType: contentType)
        }
    }

    /// Bytes in the clear.
    public let size: Int64
    /// The media type of the clear bytes, if known.
    public let contentType: String?
    /// The headers of a DCF's object; nil for other kinds.
    package let headers: DCFHeaders?
    /// The end of the key; nil for clear content.
    package let end: ContentKeyEnd?

    /// Whether tags protect the bytes from change. Without them a change is noticed in the padding at most.
    public let detectsChanges: Bool

    private let source: any MediaSource
    /// Checks the tags; nil if there are none.
    private let checked: CheckedPayload?
    private let payload: EncryptedPayload
    private let clock: any WallClock
    private let state: Locked<State>

    /// Bytes of one read, at most.
    public static let readLimit = 16 << 20

    private init(
        _ source: any MediaSource,
        _ payload: EncryptedPayload,
        _ grant: ContentKeyGrant?,
        _ keys: any ContentKeySource,
        _ clock: any WallClock,
        contentType: String?,
        headers: DCFHeaders?,
        checked: CheckedPayload? = nil
    ) {
        self.source = source
        self.payload = payload
        state = Locked(State(grant: grant, keys: keys))
        self.clock = clock
        self.contentType = contentType
        self.headers = headers
        self.checked = checked
        end = grant?.end
        detectsChanges = checked != nil
        size = payload.clearLength ?? 0
    }

    /// Opens a source, reads its headers and requests the key.
    ///
    /// - Parameters:
    ///   - source: the encrypted bytes; closed on failure.
    ///   - kind: their format.
    ///   - keys: the key source, which the stream keeps until it is closed. For a DCF, whose bytes leave as a plain stream, the key
    ///     must relax the output controls.
    ///   - clock: the clock by which the key expires.
    /// - Returns: a stream at its first byte.
    /// - Throws: the errors of the source; `media.missing-key`, `media.refused-key`, `media.wrong-key`, `media.expired-key`;
    ///   `media.output-control`, also if the license limits the size of pictures, unless tags prove that there are none, or the
    ///   format of bytes that do not describe themselves says so; `media.altered` if the license requires tags and there are none;
    ///   `media.unsupported` if the file has no such object; `Malformed` with the fault and its offset.
    public static func open(
        _ source: some MediaSource,
        as kind: Kind,
        keys: some ContentKeySource,
        clock: any WallClock = SystemClock()
    ) async throws -> MediaStream {
        do {
            let information = try await source.open()
            switch kind {
            case .dcf(let number):
                let (objects, end) = try await SourceScan.objects(of: source, length: information.length)
                guard number >= 1, number <= objects.count else {
                    throw MediaError(.unsupported, "the file has \(objects.count) objects, and no object \(number)")
                }
                return try await open(objects[number - 1], of: source, keys: keys, clock: clock, end: end)
            case .aes128CBC(let format): return try await openRaw(source, information, .cbc, format, keys, clock)
            case .aes128CTR(let format): return try await openRaw(source, information, .counter, format, keys, clock)
            }
        } catch {
            await source.close()
            throw error
        }
    }

    /// Reads the headers of a DCF.
    ///
    /// - Parameters:
    ///   - source: the file, which is open.
    ///   - length: its length.
    /// - Returns: its objects, at least one.
    /// - Throws: the errors of the source; `Malformed` with the fault and its offset.
    package static func objects(of source: some MediaSource, length: Int64) async throws -> [DCFObject] {
        try await SourceScan.objects(of: source, length: length).objects
    }

    /// Opens an object of a DCF, and requests its key.
    ///
    /// - Parameters:
    ///   - object: the object.
    ///   - source: the file, which is open; closed with the stream, and not on failure.
    ///   - keys: the key source.
    ///   - clock: the clock by which the key expires.
    ///   - end: bytes that were read last, which may contain the tags.
    /// - Returns: a stream at its first byte.
    /// - Throws: the errors of ``open(_:as:keys:clock:)``.
    package static func open(
        _ object: DCFObject,
        of source: some MediaSource,
        keys: some ContentKeySource,
        clock: any WallClock = SystemClock(),
        end: PlacedPiece? = nil
    ) async throws -> MediaStream {
        var (grant, checked): (ContentKeyGrant?, CheckedPayload?)
        if object.payload.cipher != .none {
            let asked = try await ContentKeyGrant.content(of: object, from: keys)
            try asked.end.check(at: clock.now)
            // only tags protect the content type in the headers from change
            try checkPictures(asked, object.tags == nil ? nil : object.contentType)
            grant = asked
            if let table = object.tags {
                checked = try await CheckedPayload(object.payload, table, key: asked.key, source: source, end)
            }
        }
        return MediaStream(
            source,
            object.payload,
            grant,
            keys,
            clock,
            contentType: object.contentType,
            headers: object.headers,
            checked: checked
        )
    }

    private static func openRaw(
        _ source: some MediaSource,
        _ information: MediaSourceInformation,
        _ cipher: DCFCipher,
        _ format: RawFormat,
        _ keys: some ContentKeySource,
        _ clock: any WallClock
    ) async throws -> MediaStream {
        let grant: ContentKeyGrant
        switch await keys.key(format.key) {
        case .granted(let granted): grant = granted
        case .pending: throw MediaError(.missingKey, "the license is not there yet")
        case .refused(let reason): throw MediaError(.refusedKey, "the key is refused: \(reason)")
        case .unknown: throw MediaError(.missingKey, "no key is given for the stream")
        }
        guard grant.key.count == 16 else { throw MediaError(.wrongKey, "a key of AES-128 has 16 bytes") }
        try grant.end.check(at: clock.now)
        // the type in the file's headers counts only if tags protect them
        try checkPictures(grant, format.contentType)
        var start: Int64 = 0
        var iv = format.iv
        if iv == nil {
            guard information.length >= 16 else {
                throw Malformed("initialization vector is cut off", at: Int(information.length))
            }
            let bytes = try await source.read(0..<16)
            iv = AESBlock(bytes.rawSpan)
            start = 16
        }
        var payload = try EncryptedPayload(
            cipher,
            start: start,
            encryptedLength: information.length - start,
            iv: iv ?? AESBlock(high: 0, low: 0),
            isPadded: cipher == .cbc,
            counterWidth: format.counterWidth,
            clearLength: format.clearLength
        )
        if let tail = payload.tail {
            let bytes = try await source.read(tail)
            try payload.measure(bytes, key: grant.key)
        }
        return MediaStream(
            source,
            payload,
            grant,
            keys,
            clock,
            contentType: format.contentType ?? information.contentType,
            headers: nil
        )
    }

    /// Media types without pictures of a movie.
    private static let typesWithoutPictures = ["audio/", "text/", "application/epub+zip", "application/pdf"]

    /// Refuses a content that may have pictures, if the license limits their size: it is not known here.
    ///
    /// - Parameters:
    ///   - grant: the key with the limit.
    ///   - contentType: the media type, if only the issuer or the app can have written it.
    /// - Throws: `outputControl`.
    private static func checkPictures(_ grant: ContentKeyGrant, _ contentType: String?) throws(MediaError) {
        let type = contentType?.lowercased() ?? ""
        guard !typesWithoutPictures.contains(where: { type.hasPrefix($0) }) else { return }
        try grant.checkPictures(nil, "the stream")
    }

    /// The position of the next read, from 0 to ``size``.
    public func tell() -> Int64 { state.withLock { $0.position } }

    /// Sets the position of the next read.
    ///
    /// - Parameter offset: from 0 to ``size``; a place beyond them becomes the next of these.
    public func seek(to offset: Int64) { state.withLock { $0.position = min(max(0, offset), size) } }

    /// Reads the next bytes and advances the position.
    ///
    /// - Parameter count: maximum number of bytes; values above 16 MiB are reduced to that.
    /// - Returns: the available bytes, up to `count`; empty at the end.
    /// - Throws: as ``read(_:)``; a failed read does not move the position.
    public func read(upTo count: Int) async throws -> [UInt8] {
        // claimed before the wait, so that two tasks never read the same bytes
        let range = state.withLock { state -> Range<Int64> in
            let start = state.position
            state.position += min(size - start, Int64(min(max(0, count), Self.readLimit)))
            return start..<state.position
        }
        do {
            return try await read(range)
        } catch {
            state.withLock { state in
                if state.position > range.lowerBound { state.position = range.lowerBound }
            }
            throw error
        }
    }

    /// Reads a range, independently of the position.
    ///
    /// - Parameter range: a range of the clear bytes; it is limited to the existing ones, and to 16 MiB.
    /// - Returns: the clear bytes.
    /// - Throws: the errors of the source; `media.closed`, `media.expired-key`, `media.refused-key`; `media.altered` if a block of a
    ///   tagged DCF was changed, moved or cut off; `Malformed` if the padding at the end is wrong: another key, or altered bytes.
    public func read(_ range: Range<Int64>) async throws -> [UInt8] {
        let (isClosed, grant) = state.withLock { ($0.isClosed, $0.grant) }
        guard !isClosed else { throw MediaError(.closed, "the stream is closed") }
        try grant?.end.check(at: clock.now)
        let whole = payload.clamped(range)
        let wanted = whole.lowerBound..<whole.lowerBound + min(whole.upperBound - whole.lowerBound, Int64(Self.readLimit))
        guard !wanted.isEmpty else { return [] }
        return try await wanted.count <= Self.shortLength ? read(wanted, grant) : readLong(wanted, grant)
    }

    /// Bytes that are decrypted on the caller's executor, at most.
    private static let shortLength = 1 << 18

    /// Reads bytes on the threads of tasks: the caller may draw an interface.
    @concurrent
    private func readLong(_ wanted: Range<Int64>, _ grant: ContentKeyGrant?) async throws -> [UInt8] {
        try await read(wanted, grant)
    }

    private func read(_ wanted: Range<Int64>, _ grant: ContentKeyGrant?) async throws -> [UInt8] {
        let key = grant?.key
        let bytes: [UInt8]
        if let checked, let key {
            bytes = try await checked.read(wanted, from: source, key: key)
        } else {
            bytes = try await source.read(payload.range(holding: wanted))
        }
        // the license may have ended while the bytes came
        try grant?.end.check(at: clock.now)
        return checked == nil ? try payload.decrypt(bytes, holding: wanted, key: key) : bytes
    }

    /// Closes the stream and its source, and drops the key.
    public func close() async {
        let isFirst = state.withLock { state in
            guard !state.isClosed else { return false }
            state = State(grant: nil, keys: nil, position: state.position, isClosed: true)
            return true
        }
        guard isFirst else { return }
        checked?.close()
        await source.close()
    }
}

/// Reads the headers of a DCF from a source.
private enum SourceScan {
    /// Size of one read in bytes: boxes are small and adjacent.
    private static let window: Int64 = 1 << 14

    /// The objects, and the bytes that were read last.
    static func objects(
        of source: some MediaSource,
        length: Int64
    ) async throws -> (objects: [DCFObject], end: PlacedPiece) {
        var scan = DCFScan(length: length)
        var start: Int64 = 0
        var held: [UInt8] = []
        while let wanted = scan.wanted {
            if wanted.lowerBound < start || wanted.upperBound - start > Int64(held.count) {
                start = wanted.lowerBound
                held = try await source.read(start..<start + min(length - start, max(Int64(wanted.count), window)))
            }
            let from = Int(wanted.lowerBound - start)
            guard held.count >= from + wanted.count else { throw Malformed("file ended early", at: Int(start) + held.count) }
            try scan.take(held.rawSpan.extracting(from..<from + wanted.count))
        }
        return (try scan.finish().objects, PlacedPiece(start: start, bytes: held))
    }
}
