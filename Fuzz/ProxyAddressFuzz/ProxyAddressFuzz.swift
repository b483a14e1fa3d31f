// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelPresentation
import CarrelProxy

/// For any query of a segment's address, the named segment is within the bounds that a presentation expects, and is written in
/// the form in which it was read.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let text = unsafe String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    guard let query = try? Query(parsing: text), let name = try? SegmentName(query) else { return 0 }
    precondition(name.index >= 0 && name.audioIndex >= 0)
    for value in [name.period, name.index, name.time, name.audioIndex, name.audioTime] { precondition(value.magnitude < 1 << 62) }
    for place in [name.rendition.video, name.rendition.audio, name.rendition.text] {
        precondition(place.map { 0...10_000 ~= $0 } ?? true)
    }
    guard let again = try? SegmentName(Query(parsing: name.query)) else { preconditionFailure("what is written is not read") }
    var expected = name
    // positions of audio are only written together with video
    if name.rendition.video == nil || name.rendition.audio == nil { (expected.audioIndex, expected.audioTime) = (0, 0) }
    precondition(again == expected)
    return 0
}
