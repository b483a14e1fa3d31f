// SPDX-License-Identifier: Apache-2.0

import CMediaLoops
import CarrelBytes
import CarrelHLS

/// HLS of 20,000 segments compared with a C loop that finds its lines.
enum PlaylistLines {
    static let count = 20_000

    /// A playlist of durations and addresses.
    static func plain() -> [UInt8] {
        var text = "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:10\n"
        for number in 0..<count { text += "#EXTINF:10.004898,\nsegments/title-\(number).ts\n" }
        return Array((text + "#EXT-X-ENDLIST\n").utf8)
    }

    /// A playlist with a key, a time and a byte range for each segment.
    static func rich() -> [UInt8] {
        var text = "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:10\n#EXT-X-MAP:URI=\"init.mp4\"\n"
        for number in 0..<count {
            text += "#EXT-X-KEY:METHOD=AES-128,URI=\"https://k.example/\(number)\",IV=0x00000000000000000000000000000001\n"
            text += "#EXT-X-PROGRAM-DATE-TIME:2020-01-15T18:58:53.977Z\n#EXTINF:10.004898,\n"
            text += "#EXT-X-BYTERANGE:1000@\(number * 1000)\nhttps://media.example.com/segments/title-all.mp4\n"
        }
        return Array((text + "#EXT-X-ENDLIST\n").utf8)
    }

    /// Reads a playlist, and checks that it has its segments.
    static func read(_ text: [UInt8]) throws {
        guard case .media(let playlist) = try Playlist.parse(text.rawSpan) else { fatalError("it is not a media playlist") }
        precondition(playlist.segments.count == count)
    }

    /// The floor.
    static func findLines(_ text: [UInt8]) {
        var tags = 0
        let lines = unsafe text.withUnsafeBytes { text in
            unsafe loop_playlist_lines(text.baseAddress?.assumingMemoryBound(to: CChar.self), text.count, &tags)
        }
        precondition(lines > tags && tags > count)
    }
}
