// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// Vorbis comments, which FLAC, Ogg Vorbis and Opus files have (Xiph "Ogg Vorbis I format specification: comment field"; RFC 9639
/// §8.6; RFC 7845 §5.2).
package enum VorbisComment {
    private static let fieldLimit = 1000
    private static let textSize = 64 << 10
    private static let picture = "metadata_block_picture"

    /// Reads comments. A damaged field ends the reading, and the fields before it are kept.
    ///
    /// - Parameter bytes: the bytes from the length of the vendor's name on.
    /// - Returns: the tags.
    package static func parse(_ bytes: RawSpan) -> AudioTags {
        var tags = AudioTags()
        // several of one name are several values, such as authors
        var fields: [(name: String, values: [String])] = []
        var indices: [String: Int] = [:]
        var cursor = ByteCursor(bytes)
        do throws(Malformed) {
            try cursor.skip(Int(try cursor.u32le()))
            let count = Int(try cursor.u32le())
            for _ in 0..<min(count, fieldLimit) {
                let field = try cursor.slice(Int(try cursor.u32le()))
                guard let equals = firstEquals(field) else { continue }
                let name = TagText.latin1(field.extracting(0..<equals)).lowercased()
                let value = field.extracting(equals + 1..<field.byteCount)
                if name == picture {
                    if tags.cover == nil { tags.cover = cover(base64: value) }
                } else if value.byteCount <= textSize, let text = TagText.trimmed(TagText.utf8(value)) {
                    let index = indices[name] ?? fields.count
                    if index == fields.count { fields.append((name, [])) }
                    indices[name] = index
                    fields[index].values.append(text)
                }
            }
        } catch {
            // fields read so far are kept
        }
        for field in fields { tags.set(named: field.name, to: field.values) }
        return tags
    }

    /// The picture of a FLAC block (RFC 9639 §8.8), when it is of the front or of nothing in particular.
    ///
    /// - Parameter block: without the header of the block.
    /// - Returns: nil for other pictures, and for truncated ones.
    package static func cover(_ block: RawSpan) -> AudioTags.Cover? {
        var cursor = ByteCursor(block)
        do throws(Malformed) {
            let kind = try cursor.u32()
            guard kind == 3 || kind == 0 else { return nil }
            // its media type, its description, then its size and colours
            try cursor.skip(Int(try cursor.u32()))
            try cursor.skip(Int(try cursor.u32()))
            try cursor.skip(16)
            return AudioTags.Cover([UInt8](copying: try cursor.slice(Int(try cursor.u32()))))
        } catch {
            return nil
        }
    }

    private static func cover(base64 value: RawSpan) -> AudioTags.Cover? {
        guard value.byteCount <= 2 * AudioTags.Cover.limit,
            let block = Base64.decode(String(decoding: [UInt8](copying: value), as: UTF8.self))
        else { return nil }
        return cover(block.rawSpan)
    }

    /// Names are short.
    private static func firstEquals(_ field: RawSpan) -> Int? {
        (0..<min(field.byteCount, 256)).first { field.u8(at: $0) == UInt8(ascii: "=") }
    }
}
