import CarrelBytes
import CarrelMP4

/// No file makes the reader trap, or work for longer than its length allows.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
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
