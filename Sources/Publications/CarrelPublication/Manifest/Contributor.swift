// SPDX-License-Identifier: Apache-2.0

import CarrelJSON

/// A person or an organization that contributed to a publication.
public struct Contributor: Sendable, Equatable {
    /// The name as shown to readers.
    public var name: LocalizedString
    /// The name for sorting, such as "Woolf, Virginia".
    public var sortAs: LocalizedString?
    /// A URI.
    public var identifier: String?
    /// MARC relators, if the metadata's member does not imply them.
    public var roles: [String]
    /// The place in a series.
    public var position: Double?
    /// Links to more about the contributor, such as a catalog of their works.
    public var links: [Link]

    /// Creates a contributor.
    ///
    /// - Parameters:
    ///   - name: the name as shown to readers.
    ///   - sortAs: the name to sort by.
    ///   - identifier: a URI.
    ///   - roles: MARC relators.
    public init(name: LocalizedString, sortAs: LocalizedString? = nil, identifier: String? = nil, roles: [String] = []) {
        self.name = name
        self.sortAs = sortAs
        self.identifier = identifier
        self.roles = roles
        links = []
    }

    /// A name, a name by language, or an object with a `name`.
    init?(_ json: JSON, _ warnings: Warnings) {
        if let object = json.object, let name = object["name"].flatMap(LocalizedString.init) {
            self.init(
                name: name,
                sortAs: object["sortAs"].flatMap(LocalizedString.init),
                identifier: object["identifier"]?.string
            )
            roles = object["role"].map(Link.strings) ?? []
            position = object["position"]?.double
            links = Link.list(object["links"], warnings)
        } else if !Self.isObject(json), let name = LocalizedString(json) {
            self.init(name: name)
        } else {
            warnings.add(.minor, "a contributor without a name is left out")
            return nil
        }
    }

    /// Whether it is a contributor object, and not a name by language.
    private static func isObject(_ json: JSON) -> Bool {
        ["name", "sortAs", "identifier", "role", "position", "links"].contains { json[$0] != nil }
    }

    /// Reads a contributor or an array of contributors.
    static func list(_ json: JSON?, _ warnings: Warnings) -> [Contributor] {
        guard let json else { return [] }
        return (json.array ?? [json]).compactMap { Contributor($0, warnings) }
    }

    var json: JSON {
        var object = JSONObject()
        object["name"] = name.json
        object["sortAs"] = sortAs?.json
        object["identifier"] = identifier.map(JSON.string)
        object["role"] = roles.oneOrMany
        object["position"] = position.map(JSON.real)
        object["links"] = links.json
        return object.count == 1 && name.json.string != nil ? name.json : .object(object)
    }
}

/// The role of a contributor, by the member of the metadata.
public enum ContributorRole: String, Sendable, Hashable, CaseIterable {
    /// A writer of the text.
    case author
    /// A translator of the text.
    case translator
    /// An editor of the text.
    case editor
    /// An artist of a visual narrative.
    case artist
    /// An illustrator of the text.
    case illustrator
    /// An artist of the lettering of a comic.
    case letterer
    /// An artist of the pencil drawings of a comic.
    case penciler
    /// An artist of the colors of a comic.
    case colorist
    /// An artist of the ink drawings of a comic.
    case inker
    /// A reader of an audiobook.
    case narrator
    /// A contributor in no other role.
    case contributor
    /// A publisher.
    case publisher
    /// An imprint of the publisher.
    case imprint
}

/// A subject of a publication.
public struct Subject: Sendable, Equatable {
    /// The name as shown to readers.
    public var name: LocalizedString
    /// The name to sort by.
    public var sortAs: LocalizedString?
    /// The URI of a scheme of terms.
    public var scheme: String?
    /// The term in that scheme.
    public var code: String?
    /// Links to more about the subject, such as a catalog of its publications.
    public var links: [Link]

    /// Creates a subject.
    ///
    /// - Parameters:
    ///   - name: the name as shown to readers.
    ///   - sortAs: the name to sort by.
    ///   - scheme: the URI of a scheme of terms.
    ///   - code: the term in that scheme.
    public init(name: LocalizedString, sortAs: LocalizedString? = nil, scheme: String? = nil, code: String? = nil) {
        self.name = name
        self.sortAs = sortAs
        self.scheme = scheme
        self.code = code
        links = []
    }

    init?(_ json: JSON, _ warnings: Warnings) {
        if let object = json.object, let name = object["name"].flatMap(LocalizedString.init) {
            self.init(
                name: name,
                sortAs: object["sortAs"].flatMap(LocalizedString.init),
                scheme: object["scheme"]?.string,
                code: object["code"]?.string
            )
            links = Link.list(object["links"], warnings)
        } else if let name = json.string, !name.isEmpty {
            self.init(name: LocalizedString(name))
        } else {
            warnings.add(.minor, "a subject without a name is left out")
            return nil
        }
    }

    var json: JSON {
        var object = JSONObject()
        object["name"] = name.json
        object["sortAs"] = sortAs?.json
        object["scheme"] = scheme.map(JSON.string)
        object["code"] = code.map(JSON.string)
        object["links"] = links.json
        return object.count == 1 && name.json.string != nil ? name.json : .object(object)
    }
}
