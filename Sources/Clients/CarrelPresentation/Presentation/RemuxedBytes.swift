// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMedia
import CarrelMediaSource

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
    private let streams: [any SegmentBytes]
    private let name: String
    private let keys: any ContentKeySource

    /// - Parameters:
    ///   - streams: the segments of fragments.
    ///   - described: their tracks, in the same order.
    ///   - name: the resources, as errors show them.
    ///   - number: of the segment.
    ///   - hasTags: whether every segment has a stream of timed ID3 tags.
    ///   - reserved: packet identifiers that are left to streams that other segments have.
    ///   - keys: has the keys.
    init(
        _ streams: [any SegmentBytes],
        _ described: [SegmentRemux.Stream],
        name: String,
        number: Int,
        hasTags: Bool = false,
        reserved: UInt16 = 0,
        keys: any ContentKeySource
    ) {
        self.streams = streams
        self.name = name
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
            throw ProxyError(error, in: name)
        }
    }
}
