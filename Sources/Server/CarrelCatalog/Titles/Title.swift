// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelHome
package import CarrelJSON
import CarrelWebAPI
package import CarrelWorks

/// A work in the catalog.
package struct Title: Sendable, Equatable {
    package let id: String
    package let kind: Kind
    package internal(set) var metadata: TitleMetadata
    /// Playing time without encoder delay and padding.
    package let durationMS: Int64
    /// The blob of the cover and its media type.
    package internal(set) var cover: (blob: String, mediaType: String)?
    /// The blob of the sample, an MP3 file, and its playing time.
    package let sample: (blob: String, durationMS: Int64)?
    package let createdAt: Instant

    package enum Kind: String, Sendable {
        case audiobook
        /// Pages of HTML.
        case edition
        /// An EPUB publication.
        case ebook
        case pdf
    }

    package static func == (a: Self, b: Self) -> Bool { a.id == b.id && a.metadata == b.metadata }

    /// The form in which the API and the command line show it.
    package var json: JSONObject {
        var object: JSONObject = [
            "id": .string(id), "kind": .string(kind.rawValue), "duration": .seconds(milliseconds: durationMS),
        ]
        for (name, value) in metadata.json { object[name] = value }
        object["hasCover"] = .bool(cover != nil)
        object["sampleDuration"] = sample.map { .seconds(milliseconds: $0.durationMS) } ?? .null
        object["createdAt"] = .string(createdAt.description)
        return object
    }
}

extension TitleMetadata {
    /// The form in which the database keeps it.
    package var json: JSONObject {
        [
            "title": .string(title),
            "subtitle": .init(subtitle),
            "authors": .array(authors.map { .string($0) }),
            "narrators": .array(narrators.map { .string($0) }),
            "publisher": .init(publisher),
            "language": .init(language),
            "description": .init(description),
            "published": .init(published),
            "isbn": .init(isbn?.description),
            "chapters": .array(chapters.map { ["title": .string($0.title), "start": .seconds(milliseconds: $0.startMS)] }),
        ]
    }

    package init(json object: JSONObject) throws(ServerError) {
        self.init(title: try object.requiredString("title"))
        subtitle = try object.string("subtitle")
        authors = object["authors"]?.array?.compactMap(\.string) ?? []
        narrators = object["narrators"]?.array?.compactMap(\.string) ?? []
        publisher = try object.string("publisher")
        language = try object.string("language")
        description = try object.string("description")
        published = try object.string("published")
        isbn = try object.string("isbn").flatMap { ISBN($0) }
        chapters = (object["chapters"]?.array ?? []).compactMap {
            guard let title = $0["title"]?.string, let start = $0["start"]?.double,
                let startMS = Int64(exactly: (start * 1000).rounded())
            else { return nil }
            return Chapter(title: title, startMS: startMS)
        }
    }
}
