// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelDASH

/// Segments of an MPD must be in order and inside their sequence, and an MPD that is written must be read again as the same one.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    guard let mpd = try? MPD.parse(bytes.rawSpan) else { return 0 }
    let now = Instant(milliseconds: 1_700_000_000_000)
    for stream in mpd.streams(url: "https://example.com/a/b.mpd").prefix(20) {
        _ = stream.initialization
        guard let segments = try? stream.segments() else { fatalError("what was checked has no segments") }
        let available = segments.available(in: mpd, at: now)
        if let count = segments.count, available.upperBound > count { fatalError("more is available than there is") }
        for index in [available.lowerBound, available.upperBound - 1] where available.contains(index) {
            if let segment = segments[index], segment.index != index { fatalError("a segment has another place") }
        }
        if let first = segments[0], let place = segments.index(at: first.start), segments[place] == nil {
            fatalError("the segment at a time is none")
        }
        if let count = segments.count, segments[count] != nil { fatalError("there is a segment behind the last") }
    }
    let text = mpd.write()
    guard let again = try? MPD.parse(text.rawSpan) else { fatalError("what was written is not read") }
    if again != mpd { fatalError("it changed") }
    if let references = try? MPDReferences(bytes) {
        guard let own = try? references.resolve(references.list.map { _ in .failed }), let own = try? MPD.parse(own.rawSpan)
        else {
            fatalError("without its references it is not read")
        }
        if !own.links.isEmpty { fatalError("a reference is left") }
        let period = MPDResolution.content(Array("<Period/>".utf8))
        _ = try? references.resolve(references.list.map { _ in period })
    }
    return 0
}
