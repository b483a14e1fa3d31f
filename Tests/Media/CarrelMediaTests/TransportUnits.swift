// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMP4
import CarrelMedia
import CarrelTS
import Testing

/// The access units of a stream without faults.
enum TransportUnits {
    /// The transport stream of a file.
    static func stream(of bytes: [UInt8], _ keys: GivenKeys = GivenKeys()) async throws -> [UInt8] {
        var sink = BytesSink()
        try await MediaDecryption(of: BytesReader(bytes), as: .transportStream, keys: keys).write(to: &sink)
        return sink.bytes
    }

    static func list(_ bytes: [UInt8]) throws -> [AccessUnit] {
        var demuxer = TransportStreamDemuxer()
        try demuxer.consume(bytes.rawSpan)
        try demuxer.finish()
        var units: [AccessUnit] = []
        while let event = demuxer.next() {
            if case .unit(let unit) = event { units.append(unit) }
            if case .fault(let fault) = event { Issue.record("\(fault)") }
        }
        return units
    }
}
