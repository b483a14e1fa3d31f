import CarrelBytes
import CarrelTS
import Testing

/// The access units of a stream without faults.
enum TransportUnits {
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
