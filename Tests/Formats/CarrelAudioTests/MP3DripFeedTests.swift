// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes
import CarrelTesting
import Testing

struct `MP3 in pieces` {
    @Test func `gives the same, cut at any byte or byte by byte`() {
        let file =
            MP3Bytes.id3([UInt8](repeating: 0, count: 40)) + MP3Bytes.small(6) + MP3Bytes.id3v1() + MP3Bytes.small(1).prefix(11)
            + MP3Bytes.lyrics("IND0000210") + [UInt8](repeating: 0x33, count: 17) + MP3Bytes.small(3)
            + MP3Bytes.ape(MP3Bytes.apeItem("Artist", [65]), header: false) + MP3Bytes.small(5).prefix(110)
        let whole = MP3Scan(file)
        #expect(whole.count == 13)
        #expect(MP3Scan(file, pieces: [1]) == whole)
        for cut in 1..<file.count {
            let split = MP3Scan(file, pieces: [cut, file.count])
            if split != whole { Issue.record("cut at \(cut): \(split.count) frames, \(String(describing: split.summary))") }
        }
    }

    @Test(arguments: 0..<60) func `gives the same for random and damaged files`(seed: Int) {
        var random = SplitMix(seed: UInt64(seed))
        for parts in [1, 3, 9, 30] {
            let file = random.mp3File(parts: parts)
            let whole = MP3Scan(file)
            #expect(MP3Scan(file, pieces: [1]) == whole)
            #expect(MP3Scan(file, pieces: [Int.random(in: 2...40, using: &random)]) == whole)
            for _ in 0..<10 {
                let pieces = [Int.random(in: 1...max(1, file.count), using: &random), file.count]
                #expect(MP3Scan(file, pieces: pieces) == whole)
            }
            // what was passed on is frames of one format back to back, and nothing else
            guard let summary = whole.summary else { continue }
            var at = 0
            var count: Int64 = 0
            while at < whole.frames.count {
                let length = summary.format.frameLength(in: whole.frames.rawSpan, at: at)
                guard let length else { break }
                at += length
                count += 1
            }
            #expect(at == whole.frames.count && count == summary.frameCount && Int64(at) == summary.byteCount)
        }
    }
}
