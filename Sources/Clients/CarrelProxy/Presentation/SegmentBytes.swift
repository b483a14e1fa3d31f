// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMP4
import CarrelMedia

/// The bytes of one segment, produced on demand, with back-pressure: the origin waits for the player.
protocol SegmentBytes: Sendable {
    /// The next bytes, some 256 KiB, or one sample in the form of the source; nil at the end. One caller at a time.
    func next() async throws -> [UInt8]?
}

/// A segment for the player.
struct ServedMedia: Sendable {
    /// The media type.
    var contentType: String
    var bytes: any SegmentBytes
    /// The keys that were requested before the response, when the source was probed or the segment was prefetched.
    var uses: [KeyUse] = []
}

/// Bytes in memory.
actor HeldBytes: SegmentBytes {
    private var bytes: [UInt8]?

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    func next() -> [UInt8]? { bytes.take() }
}

extension SegmentRemux {
    /// Bytes of a piece for the player.
    fileprivate static let pieceLength = 256 << 10

    /// Refuses video and audio that a transport stream cannot carry, instead of dropping them silently.
    fileprivate func refuseOmitted() throws(ProxyError) {
        guard let lost = omitted.first(where: { $0.hasSuffix("no form in transport streams") }) else { return }
        throw ProxyError(.unsupported, lost, recommendation: "Choose fragmented MP4 as the form of segments.")
    }
}

/// Segments of several streams as one transport stream.
actor RemuxedBytes: SegmentBytes {
    private var remux: SegmentRemux?
    private let streams: [FirstBytes]
    private let keys: any ContentKeySource

    /// - Parameters:
    ///   - streams: the segments at the origin.
    ///   - described: their tracks, in the same order.
    ///   - number: of the segment.
    ///   - hasTags: whether every segment has a stream of timed ID3 tags.
    ///   - reserved: packet identifiers that are left to streams that other segments have.
    ///   - keys: has the keys.
    init(
        _ streams: [FirstBytes],
        _ described: [SegmentRemux.Stream],
        number: Int,
        hasTags: Bool = false,
        reserved: UInt16 = 0,
        keys: any ContentKeySource
    ) {
        self.streams = streams
        self.keys = keys
        remux = SegmentRemux(described, number: number, hasTimedID3: hasTags, reserved: reserved)
    }

    func next() async throws -> [UInt8]? {
        // nothing follows after a failure
        guard var remux = remux.take() else { return nil }
        do {
            while true {
                let packets = remux.takePackets(SegmentRemux.pieceLength)
                guard packets.isEmpty else {
                    try remux.refuseOmitted()
                    self.remux = consume remux
                    return packets
                }
                switch try await remux.advance(keys: keys) {
                case .packets: break
                case .finished: return nil
                case .stream(let wanted):
                    if let piece = try await streams[wanted].next() {
                        remux.append(piece.rawSpan, to: wanted)
                    } else {
                        remux.end(wanted)
                    }
                }
            }
        } catch {
            throw ProxyError(error, in: streams.map(\.name).joined(separator: ", "))
        }
    }
}

/// A segment decrypted in the form that it has.
actor DecryptedBytes: SegmentBytes {
    private var decrypter: MediaSegmentDecrypter?
    private let stream: FirstBytes

    /// Whether the first bytes are still to be checked.
    private var isChecked: Bool

    /// - Parameters:
    ///   - stream: the segment at the origin.
    ///   - decrypter: decrypts it.
    ///   - isChecked: whether what does not begin as media do is an error: the key is another.
    init(_ stream: FirstBytes, _ decrypter: consuming sending MediaSegmentDecrypter, isChecked: Bool = false) {
        self.stream = stream
        self.isChecked = isChecked
        self.decrypter = consume decrypter
    }

    func next() async throws -> [UInt8]? {
        guard var decrypter = decrypter.take() else { return nil }
        var sink = BytesSink()
        do {
            while let piece = try await stream.next() {
                try await decrypter.decrypt(piece.rawSpan, to: &sink)
                guard sink.bytes.isEmpty else {
                    try check(sink.bytes)
                    self.decrypter = consume decrypter
                    return sink.bytes
                }
            }
            try await decrypter.finish(to: &sink)
            if !sink.bytes.isEmpty { try check(sink.bytes) }
        } catch {
            throw ProxyError(error, in: stream.name)
        }
        return sink.bytes.isEmpty ? nil : sink.bytes
    }

    private func check(_ head: [UInt8]) throws(MediaError) {
        guard isChecked else { return }
        isChecked = false
        guard MediaBeginning.matches(head) else {
            throw MediaError(.wrongKey, "no media begin behind the decryption: the key is another, or the segment is damaged")
        }
    }
}

/// A segment of fragments, encrypted as a whole or by samples, as a transport stream.
actor DecryptedRemuxedBytes: SegmentBytes {
    private let decrypted: DecryptedBytes
    private var remux: SegmentRemux?
    private let keys: any ContentKeySource
    private let name: String

    init(
        _ stream: FirstBytes,
        _ decrypter: consuming sending MediaSegmentDecrypter,
        tracks: [MP4Track],
        number: Int,
        keys: any ContentKeySource
    ) {
        decrypted = DecryptedBytes(stream, decrypter)
        remux = SegmentRemux([SegmentRemux.Stream(tracks: tracks)], number: number)
        self.keys = keys
        name = stream.name
    }

    func next() async throws -> [UInt8]? {
        guard var remux = remux.take() else { return nil }
        do {
            while true {
                let packets = remux.takePackets(SegmentRemux.pieceLength)
                guard packets.isEmpty else {
                    try remux.refuseOmitted()
                    self.remux = consume remux
                    return packets
                }
                switch try await remux.advance(keys: keys) {
                case .packets: break
                case .finished: return nil
                case .stream:
                    if let piece = try await decrypted.next() { remux.append(piece.rawSpan, to: 0) } else { remux.end(0) }
                }
            }
        } catch {
            throw ProxyError(error, in: name)
        }
    }
}

/// A scrambled transport stream in the clear.
actor DescrambledBytes: SegmentBytes {
    private var descrambler: PacketDescrambler? = PacketDescrambler()
    private let stream: FirstBytes
    private let keys: any ContentKeySource

    init(_ stream: FirstBytes, keys: any ContentKeySource) {
        self.stream = stream
        self.keys = keys
    }

    func next() async throws -> [UInt8]? {
        guard var descrambler = descrambler.take() else { return nil }
        var sink = BytesSink()
        do {
            while let piece = try await stream.next() {
                try await descrambler.write(piece.rawSpan, to: &sink, keys: keys)
                guard sink.bytes.isEmpty else {
                    self.descrambler = consume descrambler
                    return sink.bytes
                }
            }
            try await descrambler.finish(to: &sink, keys: keys)
        } catch {
            throw ProxyError(error, in: stream.name)
        }
        return sink.bytes.isEmpty ? nil : sink.bytes
    }
}
