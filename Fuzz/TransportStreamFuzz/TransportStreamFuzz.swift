// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelTS

/// No stream makes the demuxer, the sample cipher or the descrambler trap, and pieces of any size give the same events.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    guard let first = bytes.first else { return 0 }
    let stream = Array(bytes.dropFirst())
    let whole = events(stream, piece: .max)
    guard events(stream, piece: Int(first) * 3 + 1) == whole else { fatalError("pieces change the events") }

    let key = Secret([UInt8](repeating: first, count: 16))
    var streams: [ElementaryStream] = []
    var cipher = try? SampleAES(.decrypt, key: key, iv: AESBlock(high: 1, low: 2))
    for event in whole {
        switch event {
        case .program(let map):
            streams = map.streams
            for stream in streams { _ = stream.audioSetup }
            guard let section = try? map.section() else { continue }
            guard (try? TableSection(section.bytes.rawSpan)) == section else { fatalError("a map is not read as it was written") }
        case .unit(var unit):
            if let stream = streams.first(where: { $0.pid == unit.pid }) {
                try? cipher?.apply(to: &unit.data, coding: stream.coding)
            }
        case .section(_, let bytes):
            if let section = try? TableSection(bytes.rawSpan), let message = try? KeyMessage(section) {
                guard (try? KeyMessage(message.section())) == message else {
                    fatalError("a key message is not read as it was written")
                }
            }
        case .clock, .fault: break
        }
    }

    var descrambler = TransportStreamDescrambler()
    var packets = stream
    var rest = 0..<packets.count / 188 * 188
    var span = packets.mutableSpan
    var raw = unsafe span.mutableBytes
    while true {
        let outcome = try? descrambler.descramble(&raw, in: rest)
        guard case .needsKey(let parity, _, let offset) = outcome else { break }
        try? descrambler.setKey(key, for: parity)
        guard offset >= rest.lowerBound else { fatalError("the descrambler goes back") }
        rest = offset..<rest.upperBound
    }
    return 0
}

private func events(_ bytes: [UInt8], piece: Int) -> [TransportStreamEvent] {
    var demuxer = TransportStreamDemuxer()
    var events: [TransportStreamEvent] = []
    var at = 0
    do {
        while at < bytes.count {
            let count = min(piece, bytes.count - at)
            try demuxer.consume(bytes.rawSpan.extracting(at..<at + count))
            while let event = demuxer.next() { events.append(event) }
            at += count
        }
        try demuxer.finish()
    } catch {}
    while let event = demuxer.next() { events.append(event) }
    return events
}
