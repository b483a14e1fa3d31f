// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes
import CarrelVideo

/// No record, parameter set or sample makes its reader trap, and what is written is read again the same.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    if let record = try? AVCDecoderConfigurationRecord(bytes.rawSpan) {
        for set in record.sequenceParameterSets { _ = try? AVCSequenceParameterSet(set.rawSpan) }
        _ = try? AVCDecoderConfigurationRecord(
            sequenceParameterSets: record.sequenceParameterSets,
            pictureParameterSets: record.pictureParameterSets
        )
        guard (try? AVCDecoderConfigurationRecord(record.bytes.rawSpan)) == record else { fatalError("avcC changes") }
    }
    if let record = try? HEVCDecoderConfigurationRecord(bytes.rawSpan) {
        for set in record.sequenceParameterSets { _ = try? HEVCSequenceParameterSet(set.rawSpan) }
        _ = record.codecString()
        guard (try? HEVCDecoderConfigurationRecord(record.bytes.rawSpan)) == record else { fatalError("hvcC changes") }
    }
    _ = try? AVCSequenceParameterSet(bytes.rawSpan)
    _ = try? HEVCSequenceParameterSet(bytes.rawSpan)
    if let frame = AC3SyncFrame.parse(bytes.rawSpan, at: 0) { _ = EC3SpecificBox([frame])?.bytes }
    if let record = try? EC3SpecificBox(bytes.rawSpan) {
        guard (try? EC3SpecificBox(record.bytes.rawSpan)) != nil else { fatalError("dec3 is not read as it was written") }
    }
    _ = try? AC3SpecificBox(bytes.rawSpan)
    _ = try? FLACSpecificBox(bytes.rawSpan)
    _ = try? OpusSpecificBox(bytes.rawSpan)
    convert(bytes)
    return 0
}

private func convert(_ bytes: [UInt8]) {
    for size in [1, 2, 4] {
        var stream: [UInt8] = []
        _ = try? LengthPrefixedUnits.append(bytes.rawSpan, lengthSize: size, codec: .h264, asByteStreamTo: &stream)
        var units = ByteStreamUnits(stream.rawSpan)
        while let unit = units.next() {
            guard !unit.isEmpty, unit.upperBound <= stream.count else { fatalError("a unit outside the stream") }
        }
    }
    var sample = bytes
    var span = sample.mutableSpan
    var raw = unsafe span.mutableBytes
    let kinds = try? LengthPrefixedUnits.makeByteStream(&raw, in: 0..<bytes.count, codec: .h265)
    if let kinds, kinds != (try? LengthPrefixedUnits.kinds(in: bytes.rawSpan, codec: .h265, lengthSize: 4)) {
        fatalError("the kinds of units differ")
    }
    var escaped: [UInt8] = []
    EmulationPrevention.append(insertedInto: bytes.rawSpan, to: &escaped)
    guard StartCode.first(in: escaped.rawSpan, from: 0) == nil else { fatalError("a start code is left") }
    var back: [UInt8] = []
    EmulationPrevention.append(removedFrom: escaped.rawSpan, to: &back)
    guard back == bytes || bytes.last == 0 else { fatalError("emulation prevention is not undone") }
}
