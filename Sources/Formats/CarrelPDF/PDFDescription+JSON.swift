// SPDX-License-Identifier: Apache-2.0

import CarrelJSON

extension PDFDescription {
    var json: JSON {
        var object: JSONObject = [
            "metadata": metadata.json, "pageCount": .integer(pageCount), "outline": .array(outline.map(\.json)),
            "pageLabels": .array(pageLabels.map(JSON.string)), "warnings": .array(warnings.map(JSON.string)),
        ]
        object["isRightToLeft"] = .bool(isRightToLeft)
        object["encryption"] = encryption?.json
        return .object(object)
    }

    init?(_ json: JSON) {
        guard let pageCount = json["pageCount"]?.int, let metadata = json["metadata"] else { return nil }
        self.init(
            metadata: PDFMetadata(metadata),
            pageCount: pageCount,
            isRightToLeft: json["isRightToLeft"]?.bool ?? false,
            outline: (json["outline"]?.array ?? []).map(PDFOutlineItem.init),
            pageLabels: json.strings("pageLabels"),
            encryption: json["encryption"].flatMap(PDFEncryption.init),
            warnings: json.strings("warnings")
        )
    }
}

extension PDFEncryption {
    var json: JSON {
        [
            "revision": .integer(revision), "version": .integer(version), "permissions": .integer(permissions),
            "isOwner": .bool(isOwner),
        ]
    }

    init?(_ json: JSON) {
        guard let revision = json["revision"]?.int, let version = json["version"]?.int,
            let permissions = json["permissions"]?.int, let isOwner = json["isOwner"]?.bool
        else { return nil }
        self.init(
            revision: revision,
            version: version,
            permissions: Int32(truncatingIfNeeded: permissions),
            isOwner: isOwner
        )
    }
}

extension PDFOutlineItem {
    fileprivate var json: JSON {
        var object: JSONObject = ["title": .string(title), "children": .array(children.map(\.json))]
        object["page"] = page.map(JSON.integer)
        return .object(object)
    }

    fileprivate init(_ json: JSON) {
        self.init(
            title: json["title"]?.string ?? "",
            page: json["page"]?.int,
            children: (json["children"]?.array ?? []).map(PDFOutlineItem.init)
        )
    }
}

extension PDFMetadata {
    fileprivate var json: JSON {
        var object: JSONObject = [
            "authors": .array(authors.map(JSON.string)), "publishers": .array(publishers.map(JSON.string)),
            "subjects": .array(subjects.map(JSON.string)), "languages": .array(languages.map(JSON.string)),
        ]
        object["title"] = title.map(JSON.string)
        object["description"] = description.map(JSON.string)
        object["modified"] = modified.map(JSON.string)
        object["identifier"] = identifier.map(JSON.string)
        return .object(object)
    }

    fileprivate init(_ json: JSON) {
        self.init()
        title = json["title"]?.string
        authors = json.strings("authors")
        publishers = json.strings("publishers")
        subjects = json.strings("subjects")
        languages = json.strings("languages")
        description = json["description"]?.string
        modified = json["modified"]?.string
        identifier = json["identifier"]?.string
    }
}

extension JSON {
    fileprivate func strings(_ name: String) -> [String] { (self[name]?.array ?? []).compactMap(\.string) }
}
