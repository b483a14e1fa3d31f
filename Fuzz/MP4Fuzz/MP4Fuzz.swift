// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMP4

/// No file makes the reader trap, or work for longer than its length allows.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    followIndexes(bytes)
    guard let file = try? MP4File(BytesReader(bytes)) else { return 0 }
    _ = try? file.keyIDs(of: file.tracks)
    for track in file.tracks {
        for allowsTruncation in [false, true] {
            var samples = file.samples(of: track, allowsTruncation: allowsTruncation)
            while let run = try? samples.nextRun(limit: 1 << 16) {
                guard run.range.lowerBound >= 0, run.range.upperBound <= Int64(count) else {
                    fatalError("a sample outside the file")
                }
            }
            var encrypted = file.samples(of: track, allowsTruncation: allowsTruncation)
            var encryption = SampleEncryption()
            while let sample = try? encrypted.next() {
                guard sample.entry < track.entries.count else { break }
                let defaults = track.entries[sample.entry].encryption
                guard (try? encrypted.readEncryption(defaults, into: &encryption)) != nil else { break }
            }
            _ = try? file.stream(track, allowsTruncation: allowsTruncation) { _, _ in }
        }
    }
    return 0
}

/// Follows the segment indexes at the beginning, in bytes that come one index after the other.
private func followIndexes(_ bytes: [UInt8]) {
    var walk = SegmentReferenceWalk(length: Int64(bytes.count), depth: 8)
    guard (try? walk.add(bytes, at: 0)) != nil else { return }
    var end: Int64 = 0
    while let reference = try? walk.next() {
        switch reference {
        case .media(let part):
            guard part.range.lowerBound >= end || part.range.isEmpty, part.range.upperBound <= Int64(bytes.count) else {
                fatalError("a subsegment lies outside the file, or before another")
            }
            end = max(end, part.range.upperBound)
        case .index(let range):
            let part = Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)])
            guard (try? walk.add(part, at: range.lowerBound)) != nil else { return }
        }
    }
}
