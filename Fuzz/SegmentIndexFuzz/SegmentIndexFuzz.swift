// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelPackager

/// An index that is read must be stored again as the same bytes, and its segments must lie back to back.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    guard let index = try? SegmentIndex(serialized: bytes.rawSpan) else { return 0 }
    guard index.serialized() == bytes else { fatalError("two stored forms mean the same index") }
    var end: Int64 = 0
    for number in 0..<index.segmentCount {
        let segment = index.segment(number)
        guard segment.byteRange.lowerBound == end, segment.frameCount > 0 else { fatalError("segments are not back to back") }
        end = segment.byteRange.upperBound
        _ = index.length(ofSegment: number, form: .transportStream, encrypted: true)
    }
    guard end == index.byteCount else { fatalError("bytes are left over") }
    _ = PlaylistTemplate(index, form: .packed)
    _ = index.bandwidth(form: .transportStream)
    return 0
}
