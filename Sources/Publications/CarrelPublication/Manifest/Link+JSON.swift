// SPDX-License-Identifier: Apache-2.0

import CarrelJSON

extension Link {
    /// Nil without an address.
    ///
    /// - Parameters:
    ///   - json: a link object; a bare string counts as its address.
    ///   - warnings: hears of what had to be left out.
    init?(_ json: JSON, _ warnings: Warnings) {
        if let href = json.string {
            guard !href.isEmpty else { return nil }
            self.init(href: href)
            return
        }
        guard let object = json.object, let href = object["href"]?.string, !href.isEmpty else { return nil }
        self.init(href: href)
        isTemplated = object["templated"]?.bool ?? false
        if let type = object["type"]?.string {
            mediaType = MediaType(type)
            if mediaType == nil { warnings.add(.minor, "\"\(href)\" has a malformed media type") }
        }
        title = object["title"]?.string
        relations = object["rel"].map(Self.strings) ?? []
        properties = Properties(object["properties"]?.object ?? JSONObject())
        width = object["width"]?.int.flatMap { $0 > 0 ? $0 : nil }
        height = object["height"]?.int.flatMap { $0 > 0 ? $0 : nil }
        bitrate = object["bitrate"]?.double.flatMap { $0 > 0 ? $0 : nil }
        duration = object["duration"]?.double.flatMap { $0 > 0 ? $0 : nil }
        languages = object["language"].map(Self.strings) ?? []
        if let json = object["alternate"] { alternates = Self.list(json, warnings.within("the alternates of \"\(href)\"")) }
        if let json = object["children"] { children = Self.list(json, warnings.within("the children of \"\(href)\"")) }
    }

    /// The links of an array.
    static func list(_ json: JSON?, _ warnings: Warnings) -> [Link] {
        var links: [Link] = []
        for (index, value) in (json?.array ?? []).enumerated() {
            if let link = Link(value, warnings) {
                links.append(link)
            } else {
                warnings.add(.minor, "link \(index + 1) has no address and is left out")
            }
        }
        return links
    }

    /// A string, or each string of an array.
    static func strings(_ json: JSON) -> [String] {
        json.string.map { [$0] } ?? (json.array ?? []).compactMap(\.string)
    }

    var json: JSON {
        var object = JSONObject()
        object["href"] = .string(href)
        if isTemplated { object["templated"] = true }
        object["type"] = (mediaType?.description).map(JSON.string)
        object["title"] = title.map(JSON.string)
        object["rel"] = relations.oneOrMany
        if !properties.json.isEmpty { object["properties"] = .object(properties.json) }
        object["width"] = width.map(JSON.integer)
        object["height"] = height.map(JSON.integer)
        object["bitrate"] = bitrate.map(JSON.real)
        object["duration"] = duration.map(JSON.real)
        object["language"] = languages.oneOrMany
        object["alternate"] = alternates.json
        object["children"] = children.json
        return .object(object)
    }
}

extension [Link] {
    /// An array, or nil if there is no link.
    var json: JSON? { isEmpty ? nil : .array(map(\.json)) }
}

extension [String] {
    /// A string for a single value, an array for several, nil for none.
    var oneOrMany: JSON? { count > 1 ? .array(map(JSON.string)) : first.map(JSON.string) }
}
