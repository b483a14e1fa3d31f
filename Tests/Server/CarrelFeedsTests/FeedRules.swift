// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
import CarrelServerTesting
import CarrelXML
import Testing

/// The rules of Atom and of OPDS 1.2 for feeds, common to all feeds.
enum AtomRules {
    private static let entryNamespaces: Set<String> = [
        "http://www.w3.org/2005/Atom", "http://purl.org/dc/terms/", "http://www.w3.org/2007/app",
    ]

    static func check(_ feed: XMLElement) {
        #expect(feed.name == XMLName("feed", namespace: "http://www.w3.org/2005/Atom"))
        for name in ["id", "title", "updated"] { #expect(feed.all(name).count == 1) }
        #expect(feed.child("id")?.text.hasPrefix("urn:uuid:") == true)
        for relation in ["self", "start"] { #expect(feed.link(relation)?["type"] != nil) }
        for tombstone in feed.all("deleted-entry") {
            #expect(tombstone["ref"]?.isEmpty == false && Instant.parse(tombstone["when"] ?? "") != nil)
        }
        var ids: Set<String> = []
        for entry in feed.all("entry") {
            for name in ["id", "title", "updated", "summary"] { #expect(entry.all(name).count == 1) }
            let isFirst = ids.insert(entry.child("id")?.text ?? "").inserted
            #expect(isFirst, "an id is there once")
            #expect(feed.all("author").count == 1, "entries without an author have the feed's (RFC 4287 §4.1.1)")
            #expect(Instant.parse(entry.child("updated")?.text ?? "") != nil)
            #expect(entry.all("link").contains { $0["rel"]?.hasPrefix("http://opds-spec.org/acquisition") == true })
            #expect(entry.all("link").allSatisfy { $0["href"]?.hasPrefix("http") == true && $0["type"]?.isEmpty == false })
            #expect(entry.all("author").allSatisfy { $0.all("name").count == 1 })
            #expect(entry.children.allSatisfy { entryNamespaces.contains($0.name.namespace ?? "") })
            // One alternate of each type and language (RFC 4287 §4.1.1).
            let alternates = entry.all("link").filter { $0["rel"] == "alternate" }.map { $0["type"] ?? "" }
            #expect(Set(alternates).count == alternates.count)
        }
    }

    /// The rules of Atom (RFC 4287 §4.1), tombstones (RFC 6721 §3) and OPDS 1.2 about several elements together, in any feed.
    static func checkWhole(_ feed: XMLElement) {
        let (entries, tombstones) = (feed.all("entry"), feed.all("deleted-entry"))
        #expect(!feed.all("author").isEmpty || entries.allSatisfy { !$0.all("author").isEmpty })
        for relation in ["self", "start", "next", "previous", "search"] {
            let count = feed.all("link").count { $0["rel"] == relation }
            #expect(relation == "self" ? count == 1 : count <= 1, "\(relation)")
        }
        #expect(feed.link("next") == nil || feed.link("next")?["href"] != feed.link("self")?["href"])
        let (ids, gone) = (entries.compactMap { $0.child("id")?.text }, tombstones.compactMap { $0["ref"] })
        #expect(Set(ids).count == ids.count && Set(gone).count == gone.count && Set(ids).isDisjoint(with: gone))
        for entry in entries {
            let alternates = entry.all("link").filter { $0["rel"] ?? "alternate" == "alternate" }
            #expect(!alternates.isEmpty || entry.child("content") != nil, "an entry without content has an alternate")
            #expect(Set(alternates.map { "\($0["type"] ?? "") \($0["hreflang"] ?? "")" }).count == alternates.count)
            let images = "http://opds-spec.org/image"
            #expect(entry.link("\(images)/thumbnail") == nil || entry.link(images) != nil, "a thumbnail is of an image")
        }
    }

    /// Characters that XML cannot contain are written as U+FFFD.
    static func written(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.map { scalar in
                    switch scalar.value {
                    case 0x9, 0xa, 0xd, 0x20...0xfffd, 0x10000...0x10ffff: scalar
                    default: "\u{fffd}"
                    }
                }
            )
        )
    }
}

/// The rules of OPDS 2.0 and of the Readium Web Publication Manifest for feeds and publications.
enum OPDSRules {
    static func check(feed: JSON) {
        #expect(feed["metadata"]?["title"]?.string?.isEmpty == false)
        let links = feed["links"]?.array ?? []
        #expect(links.filter { $0["rel"] == "self" }.count == 1)
        let collections = ["navigation", "publications", "groups"].filter { feed[$0] != nil }
        #expect(!collections.isEmpty, "a feed has at least one of them")
        for name in collections { #expect(feed[name]?.array?.isEmpty == false, "\(name)") }
        for link in feed["navigation"]?.array ?? [] { #expect(link["title"]?.string?.isEmpty == false) }
        for link in links + (feed["navigation"]?.array ?? []) { check(link: link) }
        for facet in feed["facets"]?.array ?? [] {
            #expect(facet["metadata"]?["title"]?.string?.isEmpty == false)
            #expect((facet["links"]?.array?.count ?? 0) >= 2, "a facet is a choice")
            for link in facet["links"]?.array ?? [] { check(link: link) }
        }
        for publication in feed["publications"]?.array ?? [] { check(publication: publication) }
    }

    static func check(publication: JSON) {
        #expect(publication["metadata"]?["title"]?.string?.isEmpty == false)
        for name in ["published", "modified"] { #expect(Instant.parse(publication["metadata"]?[name]?.string ?? "") != nil) }
        let links = publication["links"]?.array ?? []
        #expect(links.filter { $0["rel"] == "self" }.count == 1)
        #expect(links.contains { $0["rel"]?.string?.hasPrefix("http://opds-spec.org/acquisition") == true })
        for link in links { check(link: link) }
        let images = publication["images"]?.array ?? []
        #expect(!images.isEmpty)
        for image in images { #expect(["image/jpeg", "image/png", "image/gif", "image/avif"].contains(image["type"]?.string)) }
        noBlank(publication)
    }

    private static func check(link: JSON) {
        #expect(link["href"]?.string?.hasPrefix("http") == true)
        #expect(link["type"]?.string?.contains("/") == true)
        if link["href"]?.string?.contains("{") == true { #expect(link["templated"] == true) }
    }

    /// Checks that unknown members are omitted.
    private static func noBlank(_ value: JSON) {
        #expect(value.string != "" && value != .null)
        if let object = value.object {
            #expect(!object.isEmpty)
            for (_, member) in object { noBlank(member) }
        }
        if let array = value.array {
            #expect(!array.isEmpty)
            array.forEach(noBlank)
        }
    }
}

extension XMLElement {
    func all(_ name: String) -> [XMLElement] { children.filter { $0.name.local == name } }

    func link(_ relation: String) -> XMLElement? { all("link").first { $0["rel"] == relation } }
}
