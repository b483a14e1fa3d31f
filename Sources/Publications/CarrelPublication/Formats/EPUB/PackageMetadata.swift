// SPDX-License-Identifier: Apache-2.0

import CarrelXML

/// The metadata of a package document: Dublin Core elements and `meta` elements, with what refines each.
struct PackageMetadata {
    /// A statement: an element of Dublin Core, a `meta` of either version, or a `link`.
    struct Statement {
        /// In the words of EPUB 3: `dc:title`, `dcterms:modified`, `rendition:layout`.
        let property: String
        let value: String
        let id: String?
        let language: String?
        /// The attributes of its element.
        let attributes: [XMLAttribute]
        var refinements: [Statement] = []

        /// The value of an attribute, in whatever name space.
        func attribute(_ local: String) -> String? { attributes.first { $0.name.local == local }?.value }
        func refinement(_ property: String) -> String? { refinements.first { $0.property == property }?.value }
        func refinements(_ property: String) -> [Statement] { refinements.filter { $0.property == property } }
    }

    private(set) var statements: [Statement]
    let links: [Link]
    /// The language of the publication; the default of translations.
    let language: String?

    /// The maximum number of refinements of one statement.
    private static let refinementLimit = 100

    private static func refines(_ element: XMLElement) -> Bool { element["refines"]?.hasPrefix("#") == true }

    init(_ element: XMLElement, at path: ResourcePath) {
        // dc-metadata and x-metadata of OEB 1 are nested containers
        let containers: Set = ["dc-metadata", "x-metadata"]
        let isContained = element.children.contains { containers.contains($0.name.local) }
        let elements =
            isContained
            ? element.children.flatMap { containers.contains($0.name.local) ? $0.children : [$0] } : element.children
        var subjects: [Statement] = []
        for child in elements where !Self.refines(child) {
            if let statement = Self.statement(child) { subjects.append(statement) }
        }
        var places: [String: Int] = [:]
        for (index, subject) in subjects.enumerated() {
            if let id = subject.id, places[id] == nil { places[id] = index }
        }
        var durations: [String: Double] = [:]
        for child in elements where Self.refines(child) {
            guard let id = child["refines"].map({ String($0.dropFirst()) }), let statement = Self.statement(child) else {
                continue
            }
            if statement.property == "media:duration", durations[id] == nil {
                durations[id] = ClockValue.seconds(statement.value)
            }
            guard let place = places[id], subjects[place].refinements.count < Self.refinementLimit else { continue }
            subjects[place].refinements.append(statement)
        }
        overlayDurations = durations
        statements = subjects
        language = subjects.first { $0.property == "dc:language" }?.value
        links = elements.filter { $0.name.local == "link" && $0["refines"] == nil }.compactMap { Self.link($0, path) }
    }

    /// Seconds of media overlays, by the id of the item they are of.
    let overlayDurations: [String: Double]

    func first(_ property: String) -> Statement? { statements.first { $0.property == property } }
    func all(_ property: String) -> [Statement] { statements.filter { $0.property == property } }
    func all(in properties: Set<String>) -> [Statement] { statements.filter { properties.contains($0.property) } }

    func identifier(withID id: String) -> String? {
        statements.first { $0.id == id && $0.property == "dc:identifier" }?.value
    }

    var firstIdentifier: String? { first("dc:identifier")?.value }

    private static func statement(_ element: XMLElement) -> Statement? {
        func made(_ property: String, _ value: String) -> Statement? {
            guard !value.isEmpty else { return nil }
            return Statement(
                property: Self.canonical(property),
                value: value,
                id: element["id"],
                language: element.language,
                attributes: element.attributes
            )
        }
        if element.name.namespace == EPUBNamespace.dublinCore { return made("dc:\(element.name.local)", element.words) }
        switch element.name.local {
        case "meta":
            if let name = element["name"] { return made(name, element["content"] ?? "") }
            return element["property"].flatMap { made($0, element.words) }
        case "link": return element["rel"].flatMap { made($0, element["href"] ?? "") }
        default: return nil
        }
    }

    /// Maps aliases to one name: `dcterms:creator` becomes `dc:creator`; `rend:layout` with a custom prefix is unchanged.
    private static func canonical(_ property: String) -> String {
        let shared: Set<String> = ["creator", "contributor", "publisher", "title", "language", "subject", "description", "date"]
        if property.hasPrefix("dcterms:"), shared.contains(String(property.dropFirst(8))) { return "dc:" + property.dropFirst(8) }
        return property
    }

    private static func link(_ element: XMLElement, _ path: ResourcePath) -> Link? {
        guard let href = element["href"], !href.isEmpty else { return nil }
        var link = Link(href: ResourcePath(href: href, relativeTo: path)?.href ?? href)
        link.mediaType = element["media-type"].flatMap { MediaType($0) }
        link.relations = EPUBDocument.tokens(element["rel"])
        link.properties.contains = EPUBDocument.tokens(element["properties"])
        return link
    }
}

/// A clock value of SMIL 3 (§5.4.2): `1:32:29`, `2:10.5`, `30min`, `7.5s`, `500ms`.
enum ClockValue {
    /// - Parameter text: the value of the attribute.
    /// - Returns: seconds; nil if it is not a time.
    static func seconds(_ text: String) -> Double? {
        let text = text.filter { !$0.isWhitespace }
        if text.contains(":") {
            let parts = text.split(separator: ":", omittingEmptySubsequences: false).map { Double($0) }
            guard 2...3 ~= parts.count else { return nil }
            var seconds = 0.0
            for part in parts {
                guard let part, part >= 0, part.isFinite else { return nil }
                seconds = seconds * 60 + part
            }
            return seconds.isFinite ? seconds : nil
        }
        for (unit, factor) in [("ms", 0.001), ("min", 60.0), ("h", 3600.0), ("s", 1.0)] where text.hasSuffix(unit) {
            return Double(text.dropLast(unit.count)).flatMap { $0 >= 0 && ($0 * factor).isFinite ? $0 * factor : nil }
        }
        return Double(text).flatMap { $0 >= 0 && $0.isFinite ? $0 : nil }
    }
}
