// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelFileSegments
import CarrelMP4
import CarrelMedia
import CarrelThreads

/// A media segment of one stream at the origin, and what is needed to read it.
struct SegmentSource: Sendable {
    /// The initialization segment of its stream, as the origin has it.
    var initialization: [UInt8]
    var url: String
    var range: Range<Int64>?
    /// The media time at the beginning of the period, in units of the stream, and when the period begins.
    var presentationTimeOffset: Int64 = 0
    var timescale: Int64 = 1
    var periodStart: Duration = .zero
    /// The time of the presentation at which fragments for the player have the time 0; nil if they keep the times of their media.
    var fragmentOrigin: Duration?
    /// Whether its event messages may have ID3 tags.
    var hasTags = false

    /// The change of the times of fragments for the player.
    var fragmentShift: FragmentShift? {
        fragmentOrigin.map { FragmentShift(start: periodStart - $0, offset: presentationTimeOffset, timescale: timescale) }
    }

    /// The ticks of 90 kHz at which fragments for the player have the beginning of the presentation.
    var fragmentStart: Int64 { fragmentShift.map { $0.units(90_000) } ?? 0 }

    /// The ticks of 90 kHz that are added to media times: those of a period count from its beginning in the presentation.
    var shift: Int64 {
        let start = periodStart.components
        let ticks = start.seconds &* 90_000 &+ start.attoseconds / 11_111_111_111_111
        let scale = max(1, timescale)
        let (whole, rest) = presentationTimeOffset.quotientAndRemainder(dividingBy: scale)
        return ticks &- (whole &* 90_000 &+ rest &* 90_000 / scale)
    }
}

/// A segment on its way: the origin's segments are opened, decrypted and made into one for the player, as its bytes are taken.
struct SegmentRequest: Sendable {
    var sources: [SegmentSource]
    var opening: SegmentOpening
    var settings: SessionSettings
    /// Of the segment.
    var number: Int
    /// Whether other segments of the list have pictures, and this one has none.
    var lacksPictures = false

    /// One transport stream of all sources.
    func transportStream() async throws -> ServedMedia {
        let (streams, described) = try await opened()
        return ServedMedia(
            contentType: "video/mp2t",
            bytes: RemuxedBytes(
                streams,
                described,
                number: number,
                hasTags: sources.contains(where: \.hasTags),
                reserved: lacksPictures ? 1 : 0,
                keys: settings.keys
            )
        )
    }

    /// Opens all sources side by side.
    private func opened() async throws -> ([FirstBytes], [SegmentRemux.Stream]) {
        var described: [SegmentRemux.Stream] = []
        for source in sources {
            do {
                described.append(
                    try await SegmentRemux.Stream(initialization: source.initialization, shift: source.shift, keys: settings.keys)
                )
            } catch {
                throw ProxyError(error, in: MediaOrigin.shown(source.url))
            }
        }
        let streams = try await withThrowingTaskGroup(of: (Int, FirstBytes).self) { group in
            for (place, source) in sources.enumerated() {
                group.addTask { (place, try await opening.open(source.url, range: source.range)) }
            }
            var opened: [Int: FirstBytes] = [:]
            for try await (place, stream) in group { opened[place] = stream }
            return sources.indices.compactMap { opened[$0] }
        }
        return (streams, described)
    }

    /// The first sync picture of the first source.
    ///
    /// - Parameter duration: how long it is shown.
    /// - Returns: the picture as a segment of its own.
    /// - Throws: ``ProxyError``: `proxy.missing` when the segment has none.
    func picture(_ duration: Duration) async throws -> ServedMedia {
        guard let source = sources.first else { throw SegmentName.unknown }
        let stream = try await opening.open(source.url, range: source.range)
        do {
            var decrypter = try await MediaSegmentDecrypter(initialization: source.initialization, keys: settings.keys)
            if settings.output == .fragments { decrypter.shift = source.fragmentShift }
            let request = PictureRequest(
                stream: stream,
                form: settings.output == .fragments ? .fragment : .transportStream,
                duration: duration,
                shift: source.shift,
                number: number
            )
            return try await request.media(decrypter)
        } catch {
            throw ProxyError(error, in: stream.name)
        }
    }

    /// The clear fragments of the first source.
    func fragments() async throws -> ServedMedia {
        guard let source = sources.first else { throw SegmentName.unknown }
        let stream = try await opening.open(source.url, range: source.range)
        do {
            var decrypter = try await MediaSegmentDecrypter(initialization: source.initialization, keys: settings.keys)
            decrypter.shift = source.fragmentShift
            return ServedMedia(contentType: "video/mp4", bytes: DecryptedBytes(stream, decrypter))
        } catch {
            throw ProxyError(error, in: stream.name)
        }
    }
}

/// A stream whose first bytes have come.
struct FirstBytes: Sendable {
    private let stream: OriginStream
    private let first: Once

    /// A piece that is taken once.
    private final class Once: Sendable {
        private let piece: Locked<[UInt8]?>

        init(_ piece: [UInt8]?) {
            self.piece = Locked(piece)
        }

        /// The piece while it is still to be taken.
        var held: [UInt8]? { piece.withLock { $0 } }

        func take() -> [UInt8]? { piece.withLock { $0.take() } }
    }

    init(_ stream: OriginStream) async throws(ProxyError) {
        self.stream = stream
        let piece = try await stream.next()
        first = Once(piece)
    }

    private init(_ stream: OriginStream, _ piece: [UInt8]) {
        self.stream = stream
        first = Once(piece)
    }

    /// The stream behind other bytes, which takes its place.
    func behind(_ bytes: [UInt8]) -> FirstBytes { FirstBytes(stream, bytes + (first.take() ?? [])) }

    var name: String { stream.name }

    /// Ends the transfer.
    func cancel() { stream.cancel() }

    /// The first bytes, while they are still to be taken.
    var head: [UInt8] { first.held ?? [] }

    func next() async throws(ProxyError) -> [UInt8]? {
        if let piece = first.take() { return piece }
        return try await stream.next()
    }
}
