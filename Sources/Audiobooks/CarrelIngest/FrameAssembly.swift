// SPDX-License-Identifier: Apache-2.0

import CarrelAudio
import CarrelBytes

/// Whole frames of an elementary stream that arrives in pieces.
struct FrameAssembly {
    let format: AudioFormat
    private var carry: [UInt8] = []

    init(format: AudioFormat) {
        self.format = format
    }

    /// Whether no part of a frame is waiting for the rest.
    var isEmpty: Bool { carry.isEmpty }

    /// Takes the next bytes, and passes complete frames and their number on.
    ///
    /// - Returns: false if the bytes are not frames of the format.
    mutating func feed(_ span: RawSpan, _ body: (RawSpan, Int) throws -> Void) throws -> Bool {
        carry.append(copying: span)
        let (end, count) = whole()
        if count > 0 {
            try body(carry.rawSpan.extracting(0..<end), count)
            carry.removeFirst(end)
        }
        return carry.count <= 65_536
    }

    private func whole() -> (end: Int, count: Int) {
        let bytes = carry.rawSpan
        var (end, count) = (0, 0)
        while let length = format.frameLength(in: bytes, at: end), end + length <= bytes.byteCount {
            end += length
            count += 1
        }
        return (end, count)
    }
}
