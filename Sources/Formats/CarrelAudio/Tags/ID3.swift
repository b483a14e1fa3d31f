// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes

/// ID3 tags, versions 1, 1.1, 2.2, 2.3 and 2.4 (id3.org).
package enum ID3 {
    /// How long the ID3v2 tag is that begins here.
    ///
    /// - Parameter prefix: at least the first ten bytes of the tag.
    /// - Returns: bytes of the whole tag, its footer included; nil if none begins here.
    package static func headerLength(_ prefix: RawSpan) -> Int? {
        guard prefix.byteCount >= 10, prefix.matches("ID3", at: 0) else { return nil }
        guard (2...4).contains(prefix.u8(at: 3)), prefix.u8(at: 4) != 0xff else { return nil }
        guard let size = ID3Reader.synchsafe(prefix.u32(at: 6)) else { return nil }
        let hasFooter = prefix.u8(at: 3) == 4 && prefix.u8(at: 5) & 0x10 != 0
        return 10 + size + (hasFooter ? 10 : 0)
    }

    /// Reads an ID3v2 tag.
    ///
    /// Taggers are careless, so a damaged frame ends the reading, and the frames before it are kept.
    ///
    /// - Parameter tag: the tag from its first byte; if its end is missing, its complete frames are read.
    /// - Returns: the tags, with chapters sorted by start.
    /// - Throws: if this is not an ID3v2 tag.
    package static func parse(_ tag: RawSpan) throws(Malformed) -> AudioTags {
        guard let length = headerLength(tag) else { throw Malformed("not an ID3v2 tag", at: 0) }
        let version = tag.u8(at: 3)
        let flags = tag.u8(at: 5)
        let body = tag.extracting(10..<min(length, tag.byteCount))
        var reader = ID3Reader(version: version)
        if version == 2 {
            if flags & 0x40 != 0 { return AudioTags() }
        } else {
            reader.hasExtendedHeader = flags & 0x40 != 0
        }
        if flags & 0x80 != 0, version < 4 {
            let plain = ID3Reader.synchronized(body)
            reader.read(plain.rawSpan)
        } else {
            reader.unsynchronized = flags & 0x80 != 0
            reader.read(body)
        }
        return reader.finish()
    }

    /// Reads an ID3v1 or ID3v1.1 tag.
    ///
    /// - Parameter tag: the 128 bytes from `TAG` on.
    /// - Returns: the tags.
    /// - Throws: if this is not an ID3v1 tag.
    package static func parseV1(_ tag: RawSpan) throws(Malformed) -> AudioTags {
        guard tag.byteCount >= 128, tag.matches("TAG", at: 0) else { throw Malformed("not an ID3v1 tag", at: 0) }
        func text(_ range: Range<Int>) -> String? {
            var end = range.lowerBound
            while end < range.upperBound, tag.u8(at: end) != 0 { end += 1 }
            return TagText.trimmed(TagText.latin1(tag.extracting(range.lowerBound..<end)))
        }
        var tags = AudioTags()
        tags.title = text(3..<33)
        tags.artists = text(33..<63).map { [$0] } ?? []
        tags.album = text(63..<93)
        tags.date = text(93..<97)
        tags.comment = text(97..<127)
        if tag.u8(at: 125) == 0, tag.u8(at: 126) != 0 { tags.track = AudioTags.Number(Int(tag.u8(at: 126))) }
        tags.genre = GenreList.name(number: Int(tag.u8(at: 127)))
        return tags
    }
}
