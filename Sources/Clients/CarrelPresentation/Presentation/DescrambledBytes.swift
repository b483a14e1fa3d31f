// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMedia
import CarrelMediaSource

/// A scrambled transport stream in the clear.
actor DescrambledBytes: SegmentBytes {
    private var descrambler: PacketDescrambler?
    private let stream: FirstBytes
    private let keys: any ContentKeySource

    /// - Parameters:
    ///   - stream: the packets.
    ///   - keys: has the keys.
    ///   - pixels: the pixels of its largest picture; 0 for media without pictures, nil if they are not known.
    init(_ stream: FirstBytes, keys: any ContentKeySource, pixels: Int?) {
        descrambler = PacketDescrambler(pixels: pixels)
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
