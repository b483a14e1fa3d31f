// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelPublication

/// A highlight or a note (W3C Web Annotation Data Model, 2017): words of the publication, and perhaps words of the reader.
struct ReaderAnnotation: Sendable, Equatable {
    /// A URI, such as `urn:uuid:…`.
    let id: String
    /// The creation time, RFC 3339 verbatim.
    let created: String?
    let modified: String?
    /// The address of the resource, as its link has it.
    let source: String
    let quote: Locator.Text
    /// From 0 to 1 in the resource.
    let progression: Double?
    /// The reader's words; nil for a mere highlight.
    let note: String?
    let color: Color

    enum Color: String, Sendable, CaseIterable { case yellow, green, blue, pink }

    /// Bytes of each of its texts at most: of 20,000 characters of any script, as the page takes them.
    static let textLimit = 64_000
    private static let contextLimit = 2_000
    private static let dateLimit = 64
    private static let idLimit = 200

    /// Creates an annotation; returns nil unless the JSON annotates words in a resource.
    ///
    /// - Parameter json: an Annotation whose target has a source and a TextQuoteSelector (§4.2.4).
    init?(_ json: JSON) {
        guard json["type"].map(Self.strings)?.contains("Annotation") == true,
            let id = json["id"]?.string, !id.isEmpty, id.utf8.count <= Self.idLimit, !id.contains("/"),
            let target = json["target"], let source = target["source"]?.string, source.utf8.count <= 2000,
            ResourcePath(href: source) != nil
        else { return nil }
        let selectors = target["selector"].map { $0.array ?? [$0] } ?? []
        guard let selector = selectors.first(where: { $0["type"]?.string == "TextQuoteSelector" }),
            let exact = selector["exact"]?.string, !exact.isEmpty, exact.utf8.count <= Self.textLimit
        else { return nil }
        func context(_ name: String) -> String? {
            selector[name]?.string.flatMap { $0.utf8.count <= Self.contextLimit ? $0 : nil }
        }
        let bodies = json["body"].map { $0.array ?? [$0] } ?? []
        let note = bodies.first { $0["type"]?.string == "TextualBody" }?["value"]?.string
        guard note.map({ $0.utf8.count <= Self.textLimit }) ?? true else { return nil }
        self.id = id
        created = Self.date(json["created"])
        modified = Self.date(json["modified"])
        self.source = source
        quote = Locator.Text(before: context("prefix"), highlight: exact, after: context("suffix"))
        progression = selectors.first { $0["type"]?.string == "ProgressionSelector" }?["value"]?.double
            .flatMap { (0...1).contains($0) ? $0 : nil }
        self.note = note.flatMap { $0.isEmpty ? nil : $0 }
        color = target["styleClass"]?.string.flatMap(Color.init) ?? .yellow
    }

    /// The JSON form, for storage and export.
    var json: JSON {
        var object: JSONObject = [
            "@context": .string(Self.context), "id": .string(id), "type": "Annotation",
            "motivation": .string(note == nil ? "highlighting" : "commenting"),
        ]
        object["created"] = created.map(JSON.string)
        object["modified"] = modified.map(JSON.string)
        if let note {
            object["body"] = [
                "type": "TextualBody", "value": .string(note), "format": "text/plain", "purpose": "commenting",
            ]
        }
        var selector: JSONObject = ["type": "TextQuoteSelector", "exact": .string(quote.highlight ?? "")]
        selector["prefix"] = quote.before.map(JSON.string)
        selector["suffix"] = quote.after.map(JSON.string)
        var selectors: [JSON] = [.object(selector)]
        // from Readium's annotations: the position of a text quote that occurs more than once
        if let progression { selectors.append(["type": "ProgressionSelector", "value": .real(progression)]) }
        object["target"] = [
            "type": "SpecificResource", "source": .string(source), "styleClass": .string(color.rawValue),
            "selector": .array(selectors),
        ]
        return .object(object)
    }

    static let context = "http://www.w3.org/ns/anno.jsonld"
    static let mediaType = "application/ld+json;profile=\"http://www.w3.org/ns/anno.jsonld\""

    /// All annotations of a publication as one AnnotationCollection (§5).
    static func collection(_ annotations: [ReaderAnnotation], of title: String) -> JSON {
        [
            "@context": .string(context), "type": "AnnotationCollection", "label": .string(title),
            "total": .integer(annotations.count),
            "first": ["type": "AnnotationPage", "startIndex": 0, "items": .array(annotations.map(\.json))],
        ]
    }

    /// The annotations in an export of another program: a collection, a page, Readium's set, an array, or one annotation.
    static func list(_ json: JSON) -> [ReaderAnnotation] {
        let items = json.array ?? json["items"]?.array ?? json["first"]?["items"]?.array ?? [json]
        return items.compactMap { ReaderAnnotation($0) }
    }

    private static func strings(_ json: JSON) -> [String] {
        json.string.map { [$0] } ?? (json.array ?? []).compactMap(\.string)
    }

    private static func date(_ json: JSON?) -> String? {
        json?.string.flatMap { $0.utf8.count > dateLimit || Instant.parse($0) == nil ? nil : $0 }
    }
}
