// SPDX-License-Identifier: Apache-2.0

package import CarrelJSON

extension Metadata {
    /// Members with a dedicated property in `Metadata`.
    private static let known: Set<String> = Set(
        [
            "identifier", "@type", "conformsTo", "title", "subtitle", "sortAs", "modified", "published", "language", "subject",
            "accessibility", "layout", "readingProgression", "description", "duration", "numberOfPages", "belongsTo",
        ] + ContributorRole.allCases.map(\.rawValue)
    )

    /// - Parameters:
    ///   - object: the `metadata` of a manifest.
    ///   - warnings: hears of what had to be left out.
    init(_ object: JSONObject, _ warnings: Warnings) {
        if let title = object["title"].flatMap(LocalizedString.init) {
            self.init(title: title)
        } else {
            warnings.add(.moderate, "the manifest has no title")
            self.init(title: "Untitled")
        }
        identifier = object["identifier"]?.string
        type = object["@type"]?.string
        conformsTo = (object["conformsTo"].map(Link.strings) ?? []).map(Profile.init)
        subtitle = object["subtitle"].flatMap(LocalizedString.init)
        sortAs = object["sortAs"].flatMap(LocalizedString.init)
        modified = object["modified"]?.string
        published = object["published"]?.string
        languages = object["language"].map(Link.strings) ?? []
        for role in ContributorRole.allCases {
            let names = Contributor.list(object[role.rawValue], warnings.within("\"\(role.rawValue)\""))
            if !names.isEmpty { contributors[role] = names }
        }
        if let json = object["subject"] {
            subjects = (json.array ?? [json]).compactMap { Subject($0, warnings.within("\"subject\"")) }
        }
        accessibility = object["accessibility"]?.object.map(Accessibility.init).flatMap { $0.isEmpty ? nil : $0 }
        layout = object["layout"]?.string.flatMap(Layout.init)
        readingProgression = object["readingProgression"]?.string.flatMap(ReadingProgression.init)
        description = object["description"]?.string
        duration = object["duration"]?.double.flatMap { $0 >= 0 ? $0 : nil }
        numberOfPages = object["numberOfPages"]?.int.flatMap { $0 > 0 ? $0 : nil }
        for (name, value) in object["belongsTo"]?.object ?? JSONObject() {
            let collections = Contributor.list(value, warnings.within("\"belongsTo\""))
            if !collections.isEmpty { belongsTo[name] = collections }
        }
        otherMetadata = JSONObject(object.filter { !Self.known.contains($0.name) }.map { ($0.name, $0.value) })
    }

    package var json: JSON {
        var object = JSONObject()
        object["@type"] = type.map(JSON.string)
        object["conformsTo"] = conformsTo.map(\.rawValue).oneOrMany
        object["identifier"] = identifier.map(JSON.string)
        object["title"] = title.json
        object["subtitle"] = subtitle?.json
        object["sortAs"] = sortAs?.json
        for role in ContributorRole.allCases { object[role.rawValue] = Self.oneOrMany(contributors[role] ?? []) }
        object["language"] = languages.oneOrMany
        object["subject"] = subjects.isEmpty ? nil : .array(subjects.map(\.json))
        object["published"] = published.map(JSON.string)
        object["modified"] = modified.map(JSON.string)
        object["description"] = description.map(JSON.string)
        object["layout"] = (layout?.rawValue).map(JSON.string)
        object["readingProgression"] = (readingProgression?.rawValue).map(JSON.string)
        object["duration"] = duration.map(JSON.real)
        object["numberOfPages"] = numberOfPages.map(JSON.integer)
        object["accessibility"] = accessibility?.json
        var collections = JSONObject()
        for (name, value) in belongsTo.sorted(by: { $0.key < $1.key }) { collections[name] = Self.oneOrMany(value) }
        if !collections.isEmpty { object["belongsTo"] = .object(collections) }
        for (name, value) in otherMetadata { object[name] = value }
        return .object(object)
    }

    private static func oneOrMany(_ contributors: [Contributor]) -> JSON? {
        contributors.count > 1 ? .array(contributors.map(\.json)) : contributors.first?.json
    }
}
