// SPDX-License-Identifier: Apache-2.0

import CarrelTesting

extension SplitMix {
    /// A file of random MP3 parts, some of them damaged.
    mutating func mp3File(parts: Int) -> [UInt8] {
        var file: [UInt8] = []
        for _ in 0..<parts {
            var part = mp3Part()
            if Int.random(in: 0..<6, using: &self) == 0, !part.isEmpty {
                for _ in 0..<Int.random(in: 1...3, using: &self) {
                    part[Int.random(in: 0..<part.count, using: &self)] = UInt8.random(in: 0...255, using: &self)
                }
            }
            if Int.random(in: 0..<8, using: &self) == 0 { part.removeLast(Int.random(in: 0...part.count, using: &self)) }
            file += part
        }
        return file
    }

    private mutating func mp3Part() -> [UInt8] {
        switch Int.random(in: 0..<12, using: &self) {
        case 0: MP3Bytes.id3([UInt8](repeating: 7, count: Int.random(in: 0..<60, using: &self)))
        case 1: MP3Bytes.id3([UInt8](repeating: 0xff, count: 30), flags: 0x10)
        case 2: MP3Bytes.id3v1()
        case 3: MP3Bytes.ape(MP3Bytes.apeItem("Title", [65, 66]), header: Bool.random(using: &self))
        case 4: MP3Bytes.lyrics("some words")
        case 5: [UInt8](repeating: 0, count: Int.random(in: 0..<80, using: &self))
        case 6: (0..<Int.random(in: 0..<80, using: &self)).map { _ in UInt8.random(in: 0...255, using: &self) }
        case 7: MP3Bytes.frame(0xfffb_5000, length: 208)
        case 8: Array("TAG+".utf8) + [UInt8](repeating: 0x41, count: 223)
        default: MP3Bytes.small(Int.random(in: 1...12, using: &self))
        }
    }
}
