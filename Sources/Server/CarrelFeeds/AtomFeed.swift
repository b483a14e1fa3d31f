// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCatalog
import CarrelEditionDelivery
import CarrelHTTP
import CarrelSubscription
import CarrelWebAPI
import CarrelWorks
import CarrelXML

/// An acquisition feed of editions (OPDS 1.2 over RFC 4287), for the apps of Pugpig: with tombstones (RFC 6721) for withdrawn
/// editions, and the addresses for signing in.
struct AtomFeed {
    static let mediaType = "application/atom+xml;profile=opds-catalog;kind=acquisition"

    /// A feed's own link.
    struct Link {
        let relation: String
        let type: String
        let address: String
    }

    /// Names the catalog for good.
    let id: String
    let title: String
    /// Scheme and authority before all addresses.
    let base: String
    let links: [Link]
    /// Total number of entries; nil if not counted.
    var total: Int?
    /// Parameter names of the sign-in calls; nil if the feed does not link them.
    var parameters: ParameterNames?
    /// Whether the feed is for reading systems, which follow a challenge: it links to the files themselves.
    var isOfReaders = false

    /// The document.
    ///
    /// - Parameter editions: a page of editions; those that are withdrawn become tombstones.
    /// - Returns: its bytes.
    func write(_ editions: [Edition]) -> [UInt8] {
        var writer = XMLWriter()
        writer.start(
            "feed",
            [
                "xmlns": "http://www.w3.org/2005/Atom", "xmlns:dcterms": "http://purl.org/dc/terms/",
                "xmlns:opds": "http://opds-spec.org/2010/catalog", "xmlns:app": "http://www.w3.org/2007/app",
                "xmlns:at": "http://purl.org/atompub/tombstones/1.0", "xmlns:pp": "http://pugpig.com/2014/atom/",
                "xmlns:opensearch": "http://a9.com/-/spec/opensearch/1.1/",
            ]
        )
        writer.element("id", text: id)
        writer.element("title", text: title)
        writer.element("updated", text: (editions.map(\.updatedAt).max() ?? Instant(milliseconds: 0)).description)
        writer.start("author")
        writer.element("name", text: title)
        writer.end()
        for link in links { writer.element("link", ["rel": link.relation, "type": link.type, "href": base + link.address]) }
        if let total { writer.element("opensearch:totalResults", text: String(total)) }
        if let parameters { writeAuthorisation(parameters, &writer) }
        for edition in editions {
            writer.newLine()
            if edition.state == .withdrawn {
                let when = edition.withdrawnAt ?? edition.updatedAt
                writer.element("at:deleted-entry", ["ref": edition.productID, "when": when.description])
            } else {
                write(edition, &writer)
            }
        }
        return writer.finish()
    }

    /// The calls of the authorization service, each as a URI template.
    private func writeAuthorisation(_ parameters: ParameterNames, _ writer: inout XMLWriter) {
        /// The first of the names, and what an app puts there.
        func field(_ names: [String], _ value: String) -> String { "\(PercentEncoding.encode(names.first ?? value))={\(value)}" }
        let token = field(parameters.token, "token")
        let person = [
            field(parameters.user, "username"), field(parameters.password, "password"), field(parameters.device, "uuid"),
        ]
        let calls = [
            ("signin", "sign_in/?\(person.joined(separator: "&"))"),
            ("verify", "verify_subscription/?\(token)"),
            ("editioncredentials", "edition_credentials/?\(token)&\(field(parameters.product, "product_id"))"),
            ("renewtoken", "renew_token/?\(token)"),
            ("signout", "sign_out/?\(token)"),
        ]
        writer.start("pp:authorisation")
        writer.start("pp:authorisationprovider", ["name": "carrel"])
        for (type, template) in calls {
            writer.element("pp:endpoint", ["type": type, "method": "POST", "template": "\(base)/\(template)"])
        }
        writer.end()
        writer.end()
    }

    private func write(_ edition: Edition, _ writer: inout XMLWriter) {
        let metadata = edition.title.metadata
        writer.start("entry")
        writer.element("id", text: edition.productID)
        writer.element("title", text: metadata.title)
        if let published = edition.publishedAt { writer.element("published", text: published.description) }
        writer.element("updated", text: edition.updatedAt.description)
        writer.element("dcterms:issued", text: edition.issuedAt.description)
        for author in metadata.authors {
            writer.start("author")
            writer.element("name", text: author)
            writer.end()
        }
        if let language = metadata.language { writer.element("dcterms:language", text: language) }
        if let publisher = metadata.publisher { writer.element("dcterms:publisher", text: publisher) }
        if let isbn = metadata.isbn { writer.element("dcterms:identifier", text: "urn:isbn:\(isbn)") }
        let summary = (metadata.description ?? metadata.subtitle).map { String($0.prefix(2000)) } ?? metadata.title
        writer.element("summary", ["type": "text"], text: summary)
        if edition.state == .draft {
            writer.start("app:control")
            writer.element("app:draft", text: "yes")
            writer.end()
        }
        writeLinks(edition, &writer)
        writer.end()
    }

    private func writeLinks(_ edition: Edition, _ writer: inout XMLWriter) {
        let address = base + edition.path
        if let cover = edition.title.cover {
            for relation in ["http://opds-spec.org/image", "http://opds-spec.org/image/thumbnail"] {
                writer.element("link", ["rel": relation, "type": cover.mediaType, "href": address + "-/cover"])
            }
        }
        guard edition.protection.licensed != .only else {
            writer.element("link", ["rel": "alternate", "type": edition.file.type, "href": address + edition.file.address])
            return writeProtected(edition, address, &writer)
        }
        guard !isOfReaders else {
            let address = "\(base)/opds/v2\(edition.path)"
            for (relation, target) in [("http://opds-spec.org/acquisition", edition.file), ("alternate", edition.reading)] {
                writer.element("link", ["rel": relation, "type": target.type, "href": address + target.address])
            }
            if edition.protection.licensed == .also { writeProtected(edition, address, &writer) }
            return
        }
        let isPages = edition.title.kind == .edition
        let type = isPages ? PackageManifest.mediaType : edition.title.kind == .pdf ? "application/pdf" : "application/epub+zip"
        let target = address + (isPages ? "-/manifest.xml" : edition.entry.asAddress)
        let relation = "http://opds-spec.org/acquisition" + (edition.price == .paid ? "/buy" : "")
        for relation in [relation, "alternate"] { writer.element("link", ["rel": relation, "type": type, "href": target]) }
        if edition.protection.licensed == .also { writeProtected(edition, address, &writer) }
        if edition.price == .paid, edition.sampleCount > 0 {
            writer.element(
                "link",
                [
                    "rel": "http://opds-spec.org/acquisition/sample", "type": "application/atom+xml",
                    "href": address + "content.xml",
                ]
            )
        }
    }

    /// The protected file, which everyone may download; a license opens it.
    private func writeProtected(_ edition: Edition, _ address: String, _ writer: inout XMLWriter) {
        guard let file = edition.licensedFile else { return }
        writer.start(
            "link",
            ["rel": "http://opds-spec.org/acquisition", "type": file.type, "href": address + file.address]
        )
        writer.element("opds:indirectAcquisition", ["type": edition.clearFile.type])
        writer.end()
    }
}
