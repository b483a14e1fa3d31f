// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelVideo

/// No parameter set and no slice makes the reader of slice headers trap, and no header is longer than its slice. The first byte
/// chooses the codec; the rest is a byte stream.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    guard let first = bytes.first else { return 0 }
    let codec: VideoCodec = first & 1 == 0 ? .h264 : .h265
    guard var reader = try? SliceHeaderReader(codec, parameterSets: []) else { return 0 }
    var units = ByteStreamUnits(bytes.rawSpan.extracting(1..<count))
    while let range = units.next() {
        let unit = bytes.rawSpan.extracting(1 + range.lowerBound..<1 + range.upperBound)
        if NALUnitType(codec, header: unit.u8(at: 0)).isPicture {
            guard let length = try? reader.headerLength(of: unit) else { continue }
            if length > unit.byteCount { fatalError("a header longer than its slice") }
        } else {
            try? reader.read(parameterSet: unit)
        }
    }
    return 0
}
