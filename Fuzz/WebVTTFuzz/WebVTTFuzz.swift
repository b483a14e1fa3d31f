// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMP4
import CarrelTimedText

/// No subtitles make the reader trap, and a segment made of them is read again with its cues.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    _ = try? WebVTTSample(bytes.rawSpan)
    _ = try? TTMLText(bytes.rawSpan)
    guard let file = try? WebVTTFile(bytes.rawSpan) else { return 0 }
    let segment = file.segment(1000..<5000)
    guard let again = try? WebVTTFile(segment.rawSpan) else { fatalError("a segment that is refused") }
    let expected = file.cues.count { $0.start < 5000 && $0.end > 1000 }
    if again.cues.count != expected { fatalError("cues are lost") }
    return 0
}
