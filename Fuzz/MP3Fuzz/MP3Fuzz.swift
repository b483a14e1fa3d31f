// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes

/// Any file gives the same frames in two pieces as in one, and they are whole frames of one format back to back.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    guard let cut = input.first else { return 0 }
    let file = Array(input.dropFirst())
    let whole = scan(file, cut: file.count)
    let pieces = scan(file, cut: file.count * Int(cut) / 256)
    guard whole.frames == pieces.frames, whole.summary == pieces.summary else { fatalError("pieces gave other frames") }
    guard let summary = whole.summary else { return 0 }
    var at = 0
    var frames: Int64 = 0
    while at < whole.frames.count {
        guard let length = summary.format.frameLength(in: whole.frames.rawSpan, at: at) else { fatalError("not a frame") }
        at += length
        frames += 1
    }
    guard at == whole.frames.count, frames == summary.frameCount else { fatalError("frames are not whole") }
    return 0
}

private func scan(_ file: [UInt8], cut: Int) -> (frames: [UInt8], summary: MP3Summary?) {
    var scanner = MP3Scanner()
    var frames: [UInt8] = []
    for part in [0..<cut, cut..<file.count] {
        scanner.feed(file.rawSpan.extracting(part)) { span, _ in frames.append(copying: span) }
    }
    scanner.end { span, _ in frames.append(copying: span) }
    return (frames, try? scanner.summary())
}
