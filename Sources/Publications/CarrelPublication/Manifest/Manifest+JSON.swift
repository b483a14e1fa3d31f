// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes
import CarrelJSON

extension Manifest {
    /// Limits for manifests of 50,000 resources, which take less than 64 MiB in memory.
    static let limits = JSONLimits(depth: 192, byteCount: 16 << 20, values: 300_000)

    /// Members that are not the role of a collection.
    static let members: Set<String> = ["@context", "metadata", "links", "readingOrder", "spine", "resources", "toc"]

    /// Reads a manifest. Invalid optional members are omitted with a warning.
    ///
    /// - Parameters:
    ///   - bytes: JSON.
    ///   - warnings: receives omissions.
    /// - Throws: an error unless it is a JSON object with `metadata`, and with `readingOrder` or its older name `spine`.
    public init(_ bytes: RawSpan, warnings: (any WarningLogger)? = nil) throws(Malformed) {
        let json = try JSON.parse(bytes, limits: Self.limits)
        try self.init(json, Warnings(warnings))
    }

    init(_ json: JSON, _ warnings: Warnings) throws(Malformed) {
        guard let object = json.object, let metadata = object["metadata"]?.object else {
            throw Malformed("manifest has no metadata", at: 0)
        }
        guard let order = (object["readingOrder"] ?? object["spine"])?.array else {
            throw Malformed("manifest has no reading order", at: 0)
        }
        self.init(metadata: Metadata(metadata, warnings))
        context = object["@context"].map(Link.strings) ?? []
        links = Link.list(object["links"], warnings.within("\"links\""))
        readingOrder = Link.list(.array(order), warnings.within("\"readingOrder\""))
        resources = Link.list(object["resources"], warnings.within("\"resources\""))
        tableOfContents = Link.list(object["toc"], warnings.within("\"toc\""))
        subcollections = PublicationCollection.collections(in: object, except: Self.members, warnings)
    }

    /// The manifest as compact JSON.
    public func json() -> [UInt8] { value.write() }

    var value: JSON {
        var object = JSONObject()
        object["@context"] = context.oneOrMany
        object["metadata"] = metadata.json
        object["links"] = .array(links.map(\.json))
        object["readingOrder"] = .array(readingOrder.map(\.json))
        object["resources"] = resources.json
        object["toc"] = tableOfContents.json
        PublicationCollection.add(subcollections, to: &object)
        return .object(object)
    }
}

extension PublicationCollection {
    static func collections(
        in object: JSONObject,
        except known: Set<String>,
        _ warnings: Warnings
    ) -> [String: [PublicationCollection]] {
        var found: [String: [PublicationCollection]] = [:]
        for (role, value) in object where !known.contains(role) {
            let collections = list(value, warnings.within("\"\(role)\""))
            if !collections.isEmpty { found[role] = collections }
        }
        return found
    }

    /// An object with `links`, an array of such objects, or an array of links.
    private static func list(_ json: JSON, _ warnings: Warnings) -> [PublicationCollection] {
        if let object = json.object {
            guard object["links"]?.array != nil else { return [] }
            var collection = PublicationCollection(links: Link.list(object["links"], warnings))
            collection.metadata = object["metadata"]?.object ?? JSONObject()
            collection.subcollections = collections(in: object, except: ["metadata", "links"], warnings)
            return [collection]
        }
        guard let array = json.array else { return [] }
        if array.contains(where: { $0["links"]?.array != nil }) { return array.flatMap { list($0, warnings) } }
        let links = Link.list(json, warnings)
        return links.isEmpty ? [] : [PublicationCollection(links: links)]
    }

    static func add(_ collections: [String: [PublicationCollection]], to object: inout JSONObject) {
        for (role, list) in collections.sorted(by: { $0.key < $1.key }) {
            object[role] = list.count == 1 ? list[0].json : .array(list.map { .object($0.full) })
        }
    }

    /// Only the links if there is nothing else.
    private var json: JSON {
        metadata.isEmpty && subcollections.isEmpty && !links.isEmpty ? .array(links.map(\.json)) : .object(full)
    }

    private var full: JSONObject {
        var object = JSONObject()
        if !metadata.isEmpty { object["metadata"] = .object(metadata) }
        object["links"] = .array(links.map(\.json))
        Self.add(subcollections, to: &object)
        return object
    }
}
