// SPDX-License-Identifier: Apache-2.0

import CarrelJSON

/// Turns a W3C publication manifest (Publication Manifest, Audiobooks) into a Readium one.
struct W3CManifest {
    private let object: JSONObject
    private let warnings: Warnings

    /// Its path in its package: addresses are relative to it. Nil for a manifest without a package.
    private let path: ResourcePath?

    init(_ object: JSONObject, at path: ResourcePath? = nil, _ warnings: Warnings) {
        self.object = object
        self.path = path
        self.warnings = warnings
    }

    /// - Parameter name: the title of a publication that has none.
    /// - Returns: the manifest.
    /// - Throws: `resource.malformed` without a reading order.
    func manifest(untitled name: LocalizedString) throws(ResourceError) -> Manifest {
        guard let order = object["readingOrder"] else {
            throw ResourceError(.malformed, "the publication manifest has no reading order")
        }
        var metadata = Metadata(title: texts("name") ?? name)
        metadata.identifier = object["id"]?.string
        let kinds = (object["conformsTo"].map(Link.strings) ?? []) + (object["type"].map(Link.strings) ?? [])
        if kinds.contains(where: { $0.contains("/audiobooks") || $0 == "Audiobook" }) {
            metadata.conformsTo = [.audiobook]
            metadata.type = "http://schema.org/Audiobook"
        }
        metadata.languages = object["inLanguage"].map(Link.strings) ?? []
        metadata.published = object["datePublished"]?.string
        metadata.modified = object["dateModified"]?.string
        metadata.readingProgression = object["readingProgression"]?.string.flatMap(Metadata.ReadingProgression.init)
        metadata.duration = object["duration"].flatMap(Self.seconds)
        metadata.description = object["description"]?.string
        metadata.accessibility = accessibility(conformsTo: kinds)
        if object["abridged"]?.bool != nil { metadata.otherMetadata["abridged"] = object["abridged"] }
        let roles: [(String, ContributorRole)] = [
            ("author", .author), ("readBy", .narrator), ("translator", .translator), ("editor", .editor), ("artist", .artist),
            ("illustrator", .illustrator), ("colorist", .colorist), ("inker", .inker), ("letterer", .letterer),
            ("penciler", .penciler),
            ("publisher", .publisher), ("contributor", .contributor), ("creator", .author),
        ]
        for (name, role) in roles {
            let found = Contributor.list(object[name].map(Self.contributors), warnings.within("\"\(name)\""))
            if !found.isEmpty { metadata.contributors[role, default: []] += found }
        }
        var manifest = Manifest(
            metadata: metadata,
            readingOrder: links(order, "readingOrder"),
            resources: links(object["resources"], "resources")
        )
        manifest.links = links(object["links"], "links")
        if let cover = (manifest.resources + manifest.links).first(where: { $0.relations.contains("cover") }),
            !manifest.resources.contains(where: { $0.relations.contains("cover") })
        {
            manifest.resources.append(cover)
        }
        return manifest
    }

    /// The schema.org term for it (Publication Manifest §4.7.2).
    private func accessibility(conformsTo kinds: [String]) -> Accessibility? {
        func strings(_ name: String) -> [String] { object[name].map(Link.strings) ?? [] }
        var found = Accessibility()
        found.conformsTo = kinds.filter { $0.contains("/epub/a11y/") || $0.contains("/WCAG") }
        found.accessModes = strings("accessMode")
        found.features = strings("accessibilityFeature")
        found.hazards = strings("accessibilityHazard")
        found.summary = texts("accessibilitySummary")?.description
        let sufficient = object["accessModeSufficient"].map { $0.array ?? [$0] } ?? []
        found.accessModesSufficient = sufficient.map { set in
            // a list of modes, or their names with commas between them
            if let items = set["itemListElement"] { return Link.strings(items) }
            return (set.string ?? "").split(separator: ",").map { $0.filter { !$0.isWhitespace } }
        }.filter { !$0.isEmpty }
        return found.isEmpty ? nil : found
    }

    private func texts(_ name: String) -> LocalizedString? {
        guard let value = object[name] else { return nil }
        let all = (value.array ?? [value]).compactMap { value -> LocalizedString.Translation? in
            if let text = value.string { return LocalizedString.Translation(text) }
            return value["value"]?.string.map { LocalizedString.Translation($0, language: value["language"]?.string) }
        }
        return LocalizedString(all)
    }

    /// Persons and organizations have a `name`, which may be by language.
    private static func contributors(_ json: JSON) -> JSON {
        .array(
            (json.array ?? [json]).map { value in
                guard let name = value["name"], let text = name["value"] else { return value }
                var object = value.object ?? JSONObject()
                object["name"] = text
                return .object(object)
            }
        )
    }

    private func links(_ json: JSON?, _ place: String) -> [Link] {
        guard let json else { return [] }
        return (json.array ?? [json]).enumerated().compactMap { index, value in
            guard let url = value.string ?? value["url"]?.string, !url.isEmpty else {
                warnings.add(.minor, "in \"\(place)\", link \(index + 1) has no address and is left out")
                return nil
            }
            var link = Link(
                href: inPackage(url),
                mediaType: value["encodingFormat"]?.string.flatMap { MediaType($0) } ?? Self.type(url)
            )
            link.title = value["name"]?.string ?? value["name"]?["value"]?.string
            link.relations = value["rel"].map(Link.strings) ?? []
            link.duration = value["duration"].flatMap(Self.seconds)?.positive
            link.alternates = links(value["alternate"], "alternate")
            return link
        }
    }

    /// An address relative to the package. Most manifests are at its root, so their addresses are unchanged.
    private func inPackage(_ url: String) -> String {
        guard let path, path.string.contains("/"), let target = ResourcePath(href: url, relativeTo: path) else { return url }
        return target.href + (url.firstIndex(of: "#").map { String(url[$0...]) } ?? "")
    }

    private static func type(_ url: String) -> MediaType? {
        ResourcePath(href: url)?.fileExtension.flatMap(EPUBTypes.mediaType)
    }

    /// A duration of ISO 8601 without years and months, such as `PT1H2M3.5S`; or a number of seconds.
    static func seconds(_ json: JSON) -> Double? {
        if let number = json.double { return number >= 0 ? number : nil }
        guard let text = json.string, text.hasPrefix("P") else { return nil }
        var (total, number, isTime, hasAny) = (0.0, "", false, false)
        for character in text.dropFirst() {
            switch character {
            case "T": isTime = true
            case "0"..."9", ".": number.append(character)
            default:
                let units: [Character: Double] = isTime ? ["H": 3600, "M": 60, "S": 1] : ["W": 604_800, "D": 86_400]
                guard let unit = units[character], let value = Double(finite: number) else { return nil }
                total += value * unit
                number = ""
                hasAny = true
            }
        }
        return hasAny && number.isEmpty && total.isFinite ? total : nil
    }
}
