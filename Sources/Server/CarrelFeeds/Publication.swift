// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCatalog
import CarrelEditionDelivery
import CarrelHTTP
import CarrelJSON
import CarrelWebAPI
import CarrelWorks

/// An edition as a publication of OPDS 2.0.
struct Publication {
    static let mediaType = "application/opds-publication+json"

    let edition: Edition
    /// Scheme and authority before all addresses.
    let base: String

    var json: JSON {
        ["metadata": .object(metadata), "links": .array(links), "images": .array(images)]
    }

    /// No member is empty: unknown members are omitted.
    private var metadata: JSONObject {
        let known = edition.title.metadata
        var object: JSONObject = [
            "@type": edition.title.kind == .edition ? "http://schema.org/PublicationIssue" : "http://schema.org/Book",
            "identifier": .string(
                known.isbn.map { "urn:isbn:\($0)" } ?? "urn:carrel:edition:\(PercentEncoding.encode(edition.productID))"
            ),
            "title": .string(known.title.isEmpty ? edition.productID : known.title),
        ]
        func add(_ name: String, _ text: String?) {
            if let text, !text.isEmpty { object[name] = .string(text) }
        }
        add("subtitle", known.subtitle)
        let authors = known.authors.filter { !$0.isEmpty }
        if !authors.isEmpty { object["author"] = .array(authors.map { ["name": .string($0)] }) }
        if let publisher = known.publisher, !publisher.isEmpty { object["publisher"] = ["name": .string(publisher)] }
        add("language", known.language)
        add("description", known.description.map { String($0.prefix(2000)) })
        object["published"] = .string(edition.issuedAt.description)
        object["modified"] = .string(edition.updatedAt.description)
        return object
    }

    private var links: [JSON] {
        // The family of addresses at which readers are challenged.
        let address = "\(base)/opds/v2\(edition.path)"
        let isFree = edition.price == .free
        /// The protected file, which everyone may download; its type is followed by the type of its contents.
        func protected(_ file: (address: String, type: String)) -> JSON {
            [
                "rel": "http://opds-spec.org/acquisition", "href": .string(address + file.address), "type": .string(file.type),
                "properties": ["indirectAcquisition": [["type": .string(edition.clearFile.type)]]],
            ]
        }
        func acquisition(_ target: String, _ type: String) -> JSON {
            var link: JSONObject = [
                "rel": .string("http://opds-spec.org/acquisition" + (isFree ? "/open-access" : "")),
                "href": .string(address + target), "type": .string(type),
            ]
            if !isFree {
                link["properties"] = ["authenticate": AuthenticationDocument.link(base)]
            }
            return .object(link)
        }
        var links: [JSON] = [
            [
                "rel": "self", "href": .string("\(base)/opds/v2/publications/\(PercentEncoding.encode(edition.productID))"),
                "type": .string(Self.mediaType),
            ]
        ]
        if edition.protection.licensed != .only { links.append(acquisition(edition.clearFile.address, edition.clearFile.type)) }
        if let file = edition.licensedFile { links.append(protected(file)) }
        if edition.title.kind == .edition { links.append(acquisition(edition.reading.address, edition.reading.type)) }
        if !isFree, edition.sampleCount > 0 {
            links.append([
                "rel": "http://opds-spec.org/acquisition/sample", "href": .string(address + "content.xml"),
                "type": "application/atom+xml",
            ])
        }
        return links
    }

    private var images: [JSON] {
        guard let cover = edition.title.cover else {
            return [["href": .string("\(base)/opds/cover.png"), "type": "image/png"]]
        }
        return [["href": .string("\(base)\(edition.path)-/cover"), "type": .string(cover.mediaType)]]
    }
}
