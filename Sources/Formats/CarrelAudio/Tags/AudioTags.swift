// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// The metadata of a file, whatever the tag format. Trust nothing here further than a label.
package struct AudioTags: Sendable, Hashable {
    /// A position in a numbered set: track 3 of 12.
    package struct Number: Sendable, Hashable {
        package var value: Int
        package var total: Int?

        package init(_ value: Int, of total: Int? = nil) {
            self.value = value
            self.total = total
        }
    }

    /// A picture of the front.
    package struct Cover: Sendable, Hashable {
        /// The media type by the picture's signature: `image/jpeg`, `image/png`, `image/gif`, `image/webp` or `image/bmp`.
        package var mediaType: String
        package var bytes: [UInt8]

        /// The picture, or nil if it is not of a known type or larger than `limit` bytes.
        package init?(_ bytes: [UInt8], limit: Int = Cover.limit) {
            guard bytes.count <= limit, let mediaType = Cover.mediaType(of: bytes) else { return nil }
            self.mediaType = mediaType
            self.bytes = bytes
        }

        /// The largest picture taken, in bytes: 16 MiB.
        package static let limit = 16 << 20
    }

    /// The beginning of a part of the audio.
    package struct Chapter: Sendable, Hashable {
        /// Milliseconds from the start of the audio.
        package var start: Int64
        /// Its title; may be empty.
        package var title: String

        package init(start: Int64, title: String) {
            self.start = start
            self.title = title
        }
    }

    package var title: String?
    package var subtitle: String?
    package var album: String?
    /// Main artists; in audiobooks usually the authors.
    package var artists: [String] = []
    /// Artists of the whole album; in audiobooks usually the authors.
    package var albumArtists: [String] = []
    /// Composers; audiobooks often name the narrator so.
    package var composers: [String] = []
    /// Narrators named as such.
    package var readers: [String] = []
    package var publisher: String?
    package var copyright: String?
    /// The date verbatim; usually a year or an ISO 8601 date.
    package var date: String?
    /// The language verbatim; usually ISO 639-2 or BCP 47.
    package var language: String?
    package var genre: String?
    package var comment: String?
    /// The longer text, if there is one.
    package var description: String?
    package var track: Number?
    package var disc: Number?
    /// 13 digits with a correct check digit.
    package var isbn: String?
    package var cover: Cover?
    /// In order of their starts.
    package var chapters: [Chapter] = []

    package init() {}

    /// The authors: the album's artists, else the artists.
    package var authors: [String] { albumArtists.isEmpty ? artists : albumArtists }

    /// The narrators: those named as such, otherwise composers other than the authors.
    package var narrators: [String] { readers.isEmpty ? composers.filter { !authors.contains($0) } : readers }

    /// The year in `date`.
    package var year: Int? {
        let digits = (date ?? "").utf8.prefix(4)
        guard digits.count == 4, digits.allSatisfy({ $0 >= 48 && $0 <= 57 }) else { return nil }
        return digits.reduce(0) { $0 * 10 + Int($1 - 48) }
    }

    /// These tags, with missing values taken from `other`.
    package func filled(from other: AudioTags) -> AudioTags {
        func list(_ mine: [String], _ theirs: [String]) -> [String] { mine.isEmpty ? theirs : mine }
        var tags = self
        tags.title = title ?? other.title
        tags.subtitle = subtitle ?? other.subtitle
        tags.album = album ?? other.album
        tags.artists = list(artists, other.artists)
        tags.albumArtists = list(albumArtists, other.albumArtists)
        tags.composers = list(composers, other.composers)
        tags.readers = list(readers, other.readers)
        tags.publisher = publisher ?? other.publisher
        tags.copyright = copyright ?? other.copyright
        tags.date = date ?? other.date
        tags.language = language ?? other.language
        tags.genre = genre ?? other.genre
        tags.comment = comment ?? other.comment
        tags.description = description ?? other.description
        tags.track = track ?? other.track
        tags.disc = disc ?? other.disc
        tags.isbn = isbn ?? other.isbn
        tags.cover = cover ?? other.cover
        if tags.chapters.isEmpty { tags.chapters = other.chapters }
        return tags
    }
}

extension AudioTags.Number {
    /// Reads `3` or `3/12`; nil if there is no positive number in front.
    package init?(text: String) {
        let parts = text.split(separator: "/", maxSplits: 1)
        func number(_ part: Substring) -> Int? {
            let digits = part.drop { $0 == " " }.prefix { $0.isASCII && $0.isNumber }
            guard let value = Int(digits), value > 0, value < 1_000_000 else { return nil }
            return value
        }
        guard let first = parts.first, let value = number(first) else { return nil }
        self.init(value, of: parts.count > 1 ? number(parts[1]) : nil)
    }
}

extension AudioTags.Cover {
    static func mediaType(of bytes: [UInt8]) -> String? {
        func begins(_ text: StaticString, at offset: Int = 0) -> Bool { bytes.rawSpan.matches(text, at: offset) }
        if bytes.starts(with: [0xff, 0xd8, 0xff]) { return "image/jpeg" }
        if bytes.starts(with: [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]) { return "image/png" }
        if begins("GIF87a") || begins("GIF89a") { return "image/gif" }
        if begins("RIFF"), begins("WEBP", at: 8) { return "image/webp" }
        if begins("BM"), bytes.count > 26 { return "image/bmp" }
        return nil
    }
}
