// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

extension AudioTags {
    /// Sets the field for a free-form name, such as the description of an ID3 `TXXX` frame, an APE key or an MP4 `----` name.
    ///
    /// Existing values are kept. Unknown names are skipped.
    package mutating func set(named name: String, to values: [String]) {
        let values = values.filter { !$0.isEmpty }
        guard let first = values.first else { return }
        var key = name.lowercased()
        key.removeAll { $0 == " " || $0 == "_" || $0 == "-" }
        switch key {
        case "title": title = title ?? first
        case "subtitle": subtitle = subtitle ?? first
        case "album": album = album ?? first
        case "artist", "author", "authors", "writer": if artists.isEmpty { artists = values }
        case "albumartist": if albumArtists.isEmpty { albumArtists = values }
        case "composer": if composers.isEmpty { composers = values }
        case "narrator", "narrators", "narratedby", "reader", "readby": if readers.isEmpty { readers = values }
        case "publisher", "label": publisher = publisher ?? first
        case "copyright": copyright = copyright ?? first
        case "year", "date", "releasedate", "releasetime": date = date ?? first
        case "language", "lang": language = language ?? first
        case "genre": genre = genre ?? GenreList.name(for: first)
        case "comment", "comments": comment = comment ?? first
        case "description", "summary", "synopsis", "longdescription": description = description ?? first
        case "track", "tracknumber": track = track ?? Number(text: first)
        case "disc", "discnumber", "disk": disc = disc ?? Number(text: first)
        case "isbn", "isbn10", "isbn13", "barcode", "ean": if isbn == nil { isbn = ISBN(first)?.description }
        default: break
        }
    }
}
