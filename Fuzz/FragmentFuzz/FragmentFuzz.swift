// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMP4

/// A reader's results for a stream: its bytes and its samples.
private struct Account: Equatable {
    struct Sample: Equatable {
        var track: Int
        var sample: MP4Sample
        var start: Int
        var keyID: KeyID?
        var subsamples: [SampleEncryption.Subsample]
    }

    var bytes: [UInt8] = []
    var samples: [Sample] = []
    var boxes: [String] = []
    var failed = false

    /// Reads a stream in pieces of the lengths that `lengths` has, over and over.
    init(_ stream: ArraySlice<UInt8>, _ lengths: [Int]) {
        var reader = FragmentReader()
        var at = stream.startIndex
        var turn = 0
        do {
            while true {
                while let event = try reader.next() { add(event, reader) }
                guard at < stream.endIndex else { break }
                let end = min(stream.endIndex, at + lengths[turn % lengths.count])
                turn += 1
                reader.append(Array(stream[at..<end]).rawSpan)
                at = end
                if at == stream.endIndex { reader.end() }
            }
        } catch {
            failed = true
        }
    }

    private mutating func add(_ event: FragmentReader.Event, _ reader: FragmentReader) {
        let range: Range<Int>
        switch event {
        case .movie(let place):
            range = place
            boxes.append("moov \(reader.tracks.count) \(reader.keyIDs.count)")
        case .fragment(let place):
            range = place
            boxes.append("moof \(reader.keyIDs.count) \(reader.systems.count)")
        case .box(let type, let place):
            range = place
            boxes.append("\(type) \(place.count)")
        case .data(let place): range = place
        case .sample(let track, let sample, let place):
            range = place
            guard place.count == sample.size, track < reader.tracks.count else { fatalError("a sample is not what it says") }
            samples.append(
                Sample(
                    track: track,
                    sample: sample,
                    start: bytes.count,
                    keyID: reader.encryption.keyID,
                    subsamples: reader.encryption.subsamples
                )
            )
        }
        bytes.append(copying: reader.bytes.extracting(range))
    }
}

/// No stream makes the reader trap; its events make up the stream, and do not depend on the pieces in which it comes. The first bytes of
/// the input are the lengths of the pieces.
@c(LLVMFuzzerTestOneInput)
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    guard input.count > 4 else { return 0 }
    let stream = input[4...]
    let whole = Account(stream, [stream.count])
    let pieces = Account(stream, input[..<4].map { Int($0) + 1 })
    guard whole == pieces else { fatalError("the pieces matter") }
    guard whole.bytes.elementsEqual(stream.prefix(whole.bytes.count)), whole.failed || whole.bytes.count == stream.count else {
        fatalError("the events are not the stream")
    }
    for sample in whole.samples where sample.start != sample.sample.offset { fatalError("a sample lies elsewhere") }
    return 0
}
