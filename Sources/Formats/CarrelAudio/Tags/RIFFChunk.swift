// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The chunks of a WAVE file that say something about its sound (Microsoft "Multimedia Programming Interface and Data
/// Specifications 1.0", RIFF).
package enum RIFFChunk {
    private static let names: [(StaticString, String)] = [
        ("INAM", "title"), ("IART", "artist"), ("IPRD", "album"), ("ICRD", "date"), ("IGNR", "genre"), ("ICMT", "comment"),
        ("ILNG", "language"), ("ICOP", "copyright"), ("ITRK", "track"), ("IPRT", "track"),
    ]
    private static let fieldLimit = 256

    /// The content of a `LIST` of kind `INFO`.
    ///
    /// - Parameter list: the chunk without its header, from `INFO` on. A damaged field ends the reading.
    /// - Returns: nothing of other lists.
    package static func tags(_ list: RawSpan) -> AudioTags {
        var tags = AudioTags()
        guard list.byteCount >= 4, list.matches("INFO", at: 0) else { return tags }
        var cursor = ByteCursor(list.extracting(4..<list.byteCount))
        do throws(Malformed) {
            for _ in 0..<fieldLimit where cursor.remaining >= 8 {
                let name = try cursor.slice(4)
                let size = Int(try cursor.u32le())
                let value = try cursor.slice(size)
                if size % 2 == 1, cursor.remaining > 0 { try cursor.skip(1) }
                guard let meaning = names.first(where: { name.matches($0.0, at: 0) })?.1, size <= 64 << 10 else { continue }
                let bytes = Array([UInt8](copying: value).prefix { $0 != 0 })
                let text = String(validating: bytes, as: UTF8.self) ?? TagText.latin1(bytes.rawSpan)
                if let text = TagText.trimmed(text) { tags.set(named: meaning, to: [text]) }
            }
        } catch {
            // chunks read so far are kept
        }
        return tags
    }

    /// Returns the audio bytes per second.
    ///
    /// - Parameter format: the `fmt ` chunk, without its header.
    /// - Returns: nil if the chunk does not declare it.
    package static func byteRate(_ format: RawSpan) -> Int? {
        guard format.byteCount >= 12, format.u32le(at: 8) > 0 else { return nil }
        return Int(format.u32le(at: 8))
    }
}
