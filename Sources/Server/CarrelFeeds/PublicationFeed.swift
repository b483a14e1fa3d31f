// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCatalog
import CarrelEditionDelivery
import CarrelHTTP
import CarrelJSON
import CarrelWebAPI

/// A page of publications (OPDS 2.0), with facets and links to other pages.
struct PublicationFeed {
    static let mediaType = "application/opds+json"
    static let pageSize = 50

    let title: String
    /// Scheme and authority before all addresses.
    let base: String
    /// The path of the feed and its query.
    let path: String
    let search: EditionSearch
    /// From 1 on.
    let page: Int
    let editions: [Edition]
    /// Counts of all matches of the search words, without facets.
    let counts: [EditionSearch.Count]

    private var total: Int { count(search) }
    private var lastPage: Int { max(1, (total + Self.pageSize - 1) / Self.pageSize) }

    var json: JSON {
        var feed: JSONObject = [
            "metadata": [
                "title": .string(title),
                "modified": .string((editions.map(\.updatedAt).max() ?? Instant(milliseconds: 0)).description),
                "numberOfItems": .integer(total), "itemsPerPage": .integer(Self.pageSize), "currentPage": .integer(page),
            ],
            "links": .array(links),
        ]
        if editions.isEmpty {
            feed["navigation"] = [["title": .string(title), "href": .string("\(base)/opds/v2"), "type": .string(Self.mediaType)]]
        } else {
            feed["publications"] = .array(editions.map { Publication(edition: $0, base: base).json })
        }
        let facets = facets
        if !facets.isEmpty { feed["facets"] = .array(facets) }
        return .object(feed)
    }

    private var links: [JSON] {
        func link(_ relation: String, _ page: Int) -> JSON {
            ["rel": .string(relation), "href": .string(address(search, page: page)), "type": .string(Self.mediaType)]
        }
        var links: [JSON] = [link("self", page), link("first", 1), link("last", lastPage)]
        if page > 1 { links.append(link("previous", min(page - 1, lastPage))) }
        if page < lastPage { links.append(link("next", page + 1)) }
        links.append(["rel": "start", "href": .string("\(base)/opds/v2"), "type": .string(Self.mediaType)])
        links.append([
            "rel": "search", "href": .string("\(base)/opds/v2/search{?query,title,author}"), "type": .string(Self.mediaType),
            "templated": true,
        ])
        links.append([
            "rel": .string(AuthenticationDocument.shelfRelation), "href": .string(base + AuthenticationDocument.shelfPath),
            "type": .string(Self.mediaType), "properties": ["authenticate": AuthenticationDocument.link(base)],
        ])
        links.append([
            "rel": "http://opds-spec.org/auth/document", "href": .string(base + AuthenticationDocument.path),
            "type": .string(AuthenticationDocument.mediaType),
        ])
        return links
    }

    /// The address of a page of another search, with its parameters in one order.
    private func address(_ search: EditionSearch, page: Int) -> String {
        var parameters: [(String, String)] = [("query", search.words), ("title", search.title), ("author", search.author)]
        parameters += [
            ("kind", search.kind?.rawValue ?? ""), ("price", search.price?.rawValue ?? ""), ("language", search.language ?? ""),
            ("page", page == 1 ? "" : String(page)),
        ]
        let query = parameters.filter { !$0.1.isEmpty }.map { "\($0.0)=\(PercentEncoding.encode($0.1))" }.joined(separator: "&")
        return base + path + (query.isEmpty ? "" : "?\(query)")
    }

    private func count(_ search: EditionSearch) -> Int {
        counts.reduce(0) { sum, row in
            let fits =
                (search.kind == nil || row.kind == search.kind) && (search.price == nil || row.price == search.price)
                && (search.language == nil || row.language == search.language)
            return fits ? sum + row.count : sum
        }
    }

    /// The facets of the feed, if there is a choice.
    private var facets: [JSON] {
        func facet(_ title: String, _ choices: [(String, EditionSearch)]) -> JSON? {
            let links = choices.compactMap { name, choice -> JSON? in
                let count = count(choice)
                guard count > 0 else { return nil }
                var link: JSONObject = [
                    "href": .string(address(choice, page: 1)), "title": .string(name), "type": .string(Self.mediaType),
                    "properties": ["numberOfItems": .integer(count)],
                ]
                if choice == search { link["rel"] = "self" }
                return .object(link)
            }
            return links.count < 2 ? nil : ["metadata": ["title": .string(title)], "links": .array(links)]
        }
        func choice(_ body: (inout EditionSearch) -> Void) -> EditionSearch {
            var made = search
            body(&made)
            return made
        }
        let kinds: [(String, Title.Kind?)] = [("All", nil), ("Magazines", .edition), ("Books", .ebook), ("PDF", .pdf)]
        let prices: [(String, Edition.Price?)] = [("All", nil), ("Free", .free), ("For subscribers", .paid)]
        let languages = Set(counts.map(\.language)).filter { !$0.isEmpty }.sorted().prefix(50)
        return [
            facet("Kind", kinds.map { kind in (kind.0, choice { $0.kind = kind.1 }) }),
            facet("Price", prices.map { price in (price.0, choice { $0.price = price.1 }) }),
            facet(
                "Language",
                [("All", choice { $0.language = nil })]
                    + languages.map { language in (language, choice { $0.language = language }) }
            ),
        ].compactMap(\.self)
    }
}
