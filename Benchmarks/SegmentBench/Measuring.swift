// SPDX-License-Identifier: Apache-2.0

import CSegmentLoops
import CarrelAudio
import CarrelCrypto
import CarrelPackager

/// Encrypted segments of a title, one after another or side by side.
func measure(_ title: Title, _ form: SegmentForm, sideBySide: Bool) throws -> Measurement {
    let key = [UInt8](repeating: 0x2b, count: 16)
    let secret = Secret(key)
    let output = UnsafeMutableRawBufferPointer.allocate(byteCount: 2 << 20, alignment: 64)
    defer { unsafe output.deallocate() }
    var plain: [UInt8] = []
    _ = unsafe try title.make(form, key: nil, output) { unsafe plain.append(contentsOf: $0) }
    let lengths = (0..<title.index.segmentCount).map { title.index.length(ofSegment: $0, form: form, encrypted: false) }
    var cipher = [UInt8](repeating: 0, count: (lengths.max() ?? 0) + 32)
    let passes = max(1, 300 / lengths.count)
    var given = 0
    var expected = 0
    var result = try Measurement(
        "\(title.name) \(form.rawValue)\(sideBySide ? ", 16 side by side" : "")",
        times: lengths.count * passes
    ) {
        given = 0
        for _ in 0..<passes {
            given +=
                unsafe try sideBySide
                ? title.makeTogether(form, key: secret, output) : title.make(form, key: secret, output) { _ in }
        }
    } floor: {
        expected = 0
        for _ in 0..<passes { expected += unsafe loop_segments(plain, lengths, lengths.count, &cipher, key) }
    }
    precondition(given == expected && given > 0, "the two did not do the same work")
    let surplus = Double(plain.count) / Double(title.index.byteCount) - 1
    let reading = try seconds { for _ in 0..<passes { unsafe try title.read(output) } }
    let reads = rounded(reading * 1e6 / Double(lengths.count * passes))
    result.note = "of ours \(reads) µs are the kernel's, reading; framing \(rounded(surplus * 100)) %"
    return result
}

/// The playlist of a book of 20 hours.
func measurePlaylist() -> Measurement {
    guard let format = AudioFormat(codec: .mp3(.mpeg1), sampleRate: 44100, channels: 1) else { fatalError("no format") }
    var builder = SegmentIndexBuilder(format: format)
    for _ in 0..<383 * 7200 { builder.append(frameLength: 209) }
    let index = builder.finish()
    let made = seconds { _ = PlaylistTemplate(index, form: .transportStream) }
    let template = PlaylistTemplate(index, form: .transportStream)
    let ticket = "abcdefghijklmnopqrstuvwxyz01"
    func render() -> [UInt8] {
        do { return try template.render(ticket: ticket) { "\(ticket)/\($0).key" } } catch { fatalError("\(error)") }
    }
    let text = render()
    var result = Measurement("playlist of 7,200 segments", times: 50) {
        for _ in 0..<50 { precondition(render().count == text.count) }
    } floor: {
        let copied = unsafe loop_copies(text, text.count, 50)
        precondition(copied == 50 * text.count)
    }
    result.note = "\(text.count) bytes; its template \(rounded(made * 1e3)) ms"
    return result
}
