// SPDX-License-Identifier: Apache-2.0

import CarrelJSON

extension PackageMetadata {
    /// The metadata of the manifest.
    ///
    /// - Parameters:
    ///   - name: the title if the publication has none.
    ///   - identifier: the package's unique identifier.
    ///   - warnings: receives a warning if there is no title.
    /// - Returns: the metadata, without the properties of the spine.
    func metadata(untitled name: String, identifier: String?, _ warnings: Warnings) -> Metadata {
        let titles = all("dc:title")
        let main =
            titles.first { $0.refinement("title-type") == "main" } ?? titles.first { $0.refinement("title-type") == nil }
            ?? titles.first
        if main == nil { warnings.add(.moderate, "there is no title") }
        var metadata = Metadata(title: main.map(text) ?? LocalizedString(name))
        metadata.conformsTo = [.epub]
        metadata.type = "http://schema.org/Book"
        metadata.identifier = identifier
        let order = { (statement: Statement) in statement.refinement("display-seq").flatMap { Int($0) } ?? Int.max }
        metadata.subtitle = titles.filter { $0.refinement("title-type") == "subtitle" }.min { order($0) < order($1) }.map(text)
        metadata.sortAs = (main.flatMap(sortAs) ?? first("calibre:title_sort")?.value).map { LocalizedString($0) }
        metadata.languages = all("dc:language").map(\.value)
        metadata.description = first("dc:description")?.value
        metadata.published =
            all("dc:date").first { ($0.attribute("event") ?? "publication") == "publication" }?.value
        metadata.modified =
            first("dcterms:modified")?.value ?? all("dc:date").first { $0.attribute("event") == "modification" }?.value
        metadata.subjects = subjects
        metadata.contributors = contributors
        metadata.belongsTo = collections
        metadata.numberOfPages = first("schema:numberOfPages").flatMap { Int($0.value) }.flatMap { $0 > 0 ? $0 : nil }
        metadata.duration = first("media:duration").flatMap { ClockValue.seconds($0.value) }
        metadata.accessibility = accessibility
        metadata.layout = layout
        addOthers(to: &metadata)
        return metadata
    }

    private var layout: Metadata.Layout? {
        switch first("rendition:layout")?.value ?? (first("fixed-layout")?.value == "true" ? "pre-paginated" : nil) {
        case "pre-paginated": .fixed
        case "reflowable": .reflowable
        default: nil
        }
    }

    /// A text with its translations.
    private func text(_ statement: Statement) -> LocalizedString {
        let others = statement.refinements("alternate-script").map {
            LocalizedString.Translation($0.value, language: $0.language)
        }
        let language = statement.language ?? (others.isEmpty ? nil : self.language)
        let all = [LocalizedString.Translation(statement.value, language: language)] + others
        return LocalizedString(all) ?? LocalizedString(statement.value)
    }

    private func sortAs(_ statement: Statement) -> String? {
        statement.refinement("file-as") ?? statement.attribute("file-as")
    }

    /// A single subject that lists several is split; several subjects are used unchanged.
    private var subjects: [Subject] {
        let all = all("dc:subject")
        if all.count == 1, all[0].refinements.isEmpty {
            let parts = all[0].value.split { $0 == ";" || $0 == "," }.map { $0.split(separator: " ").joined(separator: " ") }
            if parts.count > 1 { return parts.filter { !$0.isEmpty }.map { subject(all[0], LocalizedString($0)) } }
        }
        return all.map { subject($0, text($0)) }
    }

    private func subject(_ statement: Statement, _ name: LocalizedString) -> Subject {
        Subject(
            name: name,
            sortAs: sortAs(statement).map { LocalizedString($0) },
            scheme: statement.refinement("authority") ?? statement.attribute("authority"),
            code: statement.refinement("term") ?? statement.attribute("term")
        )
    }

    private var contributors: [ContributorRole: [Contributor]] {
        var found: [ContributorRole: [Contributor]] = [:]
        let defaults: [String: ContributorRole] = [
            "dc:creator": .author, "dc:contributor": .contributor, "dc:publisher": .publisher, "media:narrator": .narrator,
        ]
        for statement in statements {
            guard let usual = defaults[statement.property] else { continue }
            let code = statement.refinement("role") ?? statement.attribute("role")
            let role = code.flatMap { Self.roles[$0] }
            var contributor = Contributor(name: text(statement), sortAs: sortAs(statement).map { LocalizedString($0) })
            if role == nil, let code { contributor.roles = [code] }
            found[role ?? usual, default: []].append(contributor)
        }
        return found
    }

    /// MARC relators with a dedicated member.
    private static let roles: [String: ContributorRole] = [
        "aut": .author, "pbl": .publisher, "trl": .translator, "edt": .editor, "nrt": .narrator, "art": .artist,
        "ill": .illustrator,
        "clr": .colorist, "ink": .inker, "ltr": .letterer, "pnc": .penciler,
    ]

    private var collections: [String: [Contributor]] {
        var found: [String: [Contributor]] = [:]
        for statement in all("belongs-to-collection") {
            var collection = Contributor(name: text(statement), sortAs: sortAs(statement).map { LocalizedString($0) })
            collection.identifier = statement.refinement("dcterms:identifier")
            collection.position = statement.refinement("group-position").flatMap { Double(finite: $0) }
            found[statement.refinement("collection-type") == "series" ? "series" : "collection", default: []].append(collection)
        }
        if found["series"] == nil, let series = first("calibre:series") {
            var collection = Contributor(name: text(series))
            collection.position = first("calibre:series_index").flatMap { Double(finite: $0.value) }
            found["series"] = [collection]
        }
        return found
    }

    /// EPUB Accessibility 1.1 §2, §4.
    private var accessibility: Accessibility? {
        var found = Accessibility()
        found.conformsTo = all(in: ["dc:conformsTo", "dcterms:conformsTo"]).compactMap { Self.conformance($0.value) }
        found.exemption = first("a11y:exemption")?.value
        found.accessModes = all("schema:accessMode").map(\.value)
        found.accessModesSufficient = all("schema:accessModeSufficient")
            .map { $0.value.split(separator: ",").map { $0.filter { !$0.isWhitespace } } }.filter { !$0.isEmpty }
        found.features = all("schema:accessibilityFeature").map(\.value)
        found.hazards = all("schema:accessibilityHazard").map(\.value)
        found.summary = first("schema:accessibilitySummary")?.value
        let certifier = first("a11y:certifiedBy")
        found.certifiedBy = certifier?.value
        found.certifierCredential = certifier?.refinement("a11y:certifierCredential") ?? first("a11y:certifierCredential")?.value
        found.certifierReport = certifier?.refinement("a11y:certifierReport") ?? first("a11y:certifierReport")?.value
        return found.isEmpty ? nil : found
    }

    /// The URI of a level that is stated by its URI or by its words.
    private static func conformance(_ text: String) -> String? {
        if text.contains("idpf.org/epub/a11y/accessibility-20170105.html#wcag-") { return text }
        guard text.hasPrefix("EPUB Accessibility 1.1 - WCAG "), let level = text.split(separator: " ").last,
            ["A", "AA", "AAA"].contains(level)
        else { return nil }
        let version = text.split(separator: " ").dropLast(2).last.map(String.init) ?? ""
        return "https://www.w3.org/TR/epub-a11y-11#wcag-\(version)-\(level.lowercased())"
    }

    /// Metadata without a dedicated member, kept under its name; the prefixes for rendering and for rights in objects.
    private func addOthers(to metadata: inout Metadata) {
        var presentation = JSONObject()
        for name in ["orientation", "flow", "spread"] {
            presentation[name] = first("rendition:\(name)").map { .string($0.value) }
        }
        if !presentation.isEmpty { metadata.otherMetadata["presentation"] = .object(presentation) }
        var reservation = JSONObject()
        if let value = first("tdm:reservation")?.value { reservation["reservation"] = value == "1" ? "all" : "none" }
        reservation["policy"] = first("tdm:policy").map { .string($0.value) }
        if !reservation.isEmpty { metadata.otherMetadata["tdm"] = .object(reservation) }
        var overlay = JSONObject()
        overlay["activeClass"] = first("media:active-class").map { .string($0.value) }
        overlay["playbackActiveClass"] = first("media:playback-active-class").map { .string($0.value) }
        if !overlay.isEmpty { metadata.otherMetadata["mediaOverlay"] = .object(overlay) }
        for property in ["dc:source", "dc:rights", "dc:format"] {
            let values = all(property).map(\.value)
            if let json = values.oneOrMany {
                metadata.otherMetadata["http://purl.org/dc/elements/1.1/\(property.dropFirst(3))"] = json
            }
        }
    }
}
