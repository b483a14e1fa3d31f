// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes

/// A scanner's results for a file: the frames it passed on, and its final result.
struct MP3Scan: Equatable {
    var frames: [UInt8] = []
    var count = 0
    var summary: MP3Summary?
    var failure: Malformed?

    /// Feeds the file in pieces of the given lengths, the last one repeated; the whole file in one piece if there is none.
    init(_ file: [UInt8], pieces: [Int] = []) {
        var scanner = MP3Scanner()
        var frames: [UInt8] = []
        var count = 0
        var at = 0
        var piece = 0
        while at < file.count {
            let length = pieces.isEmpty ? file.count : pieces[min(piece, pieces.count - 1)]
            let end = min(file.count, at + max(1, length))
            scanner.feed(file.rawSpan.extracting(at..<end)) { span, number in
                frames.append(copying: span)
                count += number
            }
            at = end
            piece += 1
        }
        scanner.end { span, number in
            frames.append(copying: span)
            count += number
        }
        self.frames = frames
        self.count = count
        do throws(Malformed) { summary = try scanner.summary() } catch { failure = error }
    }
}
