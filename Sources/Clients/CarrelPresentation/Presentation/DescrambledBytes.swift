// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMedia
import CarrelMediaSource

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
