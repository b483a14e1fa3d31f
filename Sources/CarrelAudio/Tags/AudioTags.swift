import CarrelBytes

/// What a file says about itself, whatever the tag format. Nothing here is to be trusted further than a label.
public struct AudioTags: Sendable, Hashable {
    /// A position in a numbered set: track 3 of 12.
    public struct Number: Sendable, Hashable {
        public var value: Int
        public var total: Int?

        public init(_ value: Int, of total: Int? = nil) {
            self.value = value
            self.total = total
        }
    }

    /// A picture of the front.
    public struct Cover: Sendable, Hashable {
        /// By the picture's own first bytes: `image/jpeg`, `image/png`, `image/gif`, `image/webp` or `image/bmp`.
        public var mediaType: String
        public var bytes: [UInt8]

        /// The picture, or nil when it is not of a known type or larger than `limit` bytes.
        public init?(_ bytes: [UInt8], limit: Int = Cover.limit) {
            guard bytes.count <= limit, let mediaType = Cover.mediaType(of: bytes) else { return nil }
            self.mediaType = mediaType
            self.bytes = bytes
        }

        /// The largest picture taken, in bytes: 16 MiB.
        public static let limit = 16 << 20
    }

    /// Where a part of the sound begins.
    public struct Chapter: Sendable, Hashable {
        /// Milliseconds from the start of the sound.
        public var start: Int64
        /// What it is called; may be empty.
        public var title: String

        public init(start: Int64, title: String) {
            self.start = start
            self.title = title
        }
    }

    public var title: String?
    public var subtitle: String?
    public var album: String?
    /// Main artists; in audiobooks usually the authors.
    public var artists: [String] = []
    /// Artists of the whole album; in audiobooks usually the authors.
    public var albumArtists: [String] = []
    /// Composers; audiobooks often name the narrator so.
    public var composers: [String] = []
    /// Narrators who are named as such.
    public var readers: [String] = []
    public var publisher: String?
    public var copyright: String?
    /// As written; usually a year or an ISO 8601 date.
    public var date: String?
    /// As written; usually ISO 639-2 or BCP 47.
    public var language: String?
    public var genre: String?
    public var comment: String?
    /// The longer text where there is one.
    public var description: String?
    public var track: Number?
    public var disc: Number?
    /// 13 digits with a correct check digit.
    public var isbn: String?
    public var cover: Cover?
    /// In order of their starts.
    public var chapters: [Chapter] = []

    public init() {}

    /// Who wrote it: the album's artists, else the artists.
    public var authors: [String] { albumArtists.isEmpty ? artists : albumArtists }

    /// Who reads it: those named as such, else composers who are not the authors.
    public var narrators: [String] { readers.isEmpty ? composers.filter { !authors.contains($0) } : readers }

    /// The year in `date`.
    public var year: Int? {
        let digits = (date ?? "").utf8.prefix(4)
        guard digits.count == 4, digits.allSatisfy({ $0 >= 48 && $0 <= 57 }) else { return nil }
        return digits.reduce(0) { $0 * 10 + Int($1 - 48) }
    }

    /// These tags, with what they lack taken from `other`.
    public func filled(from other: AudioTags) -> AudioTags {
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
    /// Reads `3` or `3/12`; nil when there is no positive number in front.
    public init?(text: String) {
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
