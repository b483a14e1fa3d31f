// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// APE tags, versions 1 and 2.
package enum APETag {
    /// Bytes of the header or footer.
    package static let headerLength = 32

    /// Reads an APE tag; a damaged item ends the reading, and the items before it are kept.
    ///
    /// - Parameter tag: the whole tag: optional header, items, footer.
    /// - Returns: the tags.
    /// - Throws: if there is neither a header nor a footer.
    package static func parse(_ tag: RawSpan) throws(Malformed) -> AudioTags {
        var end = tag.byteCount
        let hasHeader = tag.matches("APETAGEX", at: 0) && end > headerLength
        let hasFooter = tag.matches("APETAGEX", at: end - headerLength)
        guard hasHeader || hasFooter else { throw Malformed("not an APE tag", at: 0) }
        if hasFooter { end -= headerLength }
        let start = hasHeader ? headerLength : 0
        var tags = AudioTags()
        if start < end {
            do throws(Malformed) {
                try items(ByteCursor(tag.extracting(start..<end)), into: &tags)
            } catch {
                // items read so far are kept
            }
        }
        return tags
    }

    private static func items(_ cursor: ByteCursor, into tags: inout AudioTags) throws(Malformed) {
        var cursor = cursor
        while cursor.remaining >= 11 {
            let size = Int(try cursor.u32le())
            let kind = try cursor.u32le() >> 1 & 3
            var key = ""
            while true {
                let byte = try cursor.u8()
                if byte == 0 { break }
                guard (0x20...0x7e).contains(byte), key.utf8.count < 255 else { return }
                key.unicodeScalars.append(Unicode.Scalar(byte))
            }
            let value = try cursor.slice(size)
            if kind == 0, size <= 1 << 16 {
                let text = TagText.utf8(value)
                tags.set(named: key, to: text.unicodeScalars.split(separator: "\0").compactMap { TagText.trimmed(String($0)) })
            } else if kind == 1, key.lowercased() == "cover art (front)", tags.cover == nil {
                var at = 0
                while at < value.byteCount, value.u8(at: at) != 0 { at += 1 }
                guard at < value.byteCount, value.byteCount - at - 1 <= AudioTags.Cover.limit else { continue }
                tags.cover = AudioTags.Cover([UInt8](copying: value.extracting(at + 1..<value.byteCount)))
            }
        }
    }
}
