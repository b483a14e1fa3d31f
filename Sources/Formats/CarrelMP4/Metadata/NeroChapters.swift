// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes

/// The chapter list that Nero put into `moov/udta/chpl`.
enum NeroChapters {
    /// Reads the chapters; a damaged entry ends the list.
    static func read(_ content: [UInt8]) -> [AudioTags.Chapter] {
        var chapters: [AudioTags.Chapter] = []
        do throws(Malformed) {
            var cursor = ByteCursor(content.rawSpan)
            let version = try cursor.u8()
            try cursor.skip(3)
            if version != 0 { try cursor.skip(4) }
            for _ in 0..<(try cursor.u8()) {
                let start = try cursor.u64()
                let title = TagText.utf8(try cursor.slice(Int(try cursor.u8())))
                // in units of 100 ns
                chapters.append(AudioTags.Chapter(start: Int64(clamping: start / 10_000), title: title))
            }
        } catch {
            // chapters read so far are kept
        }
        return chapters
    }
}
