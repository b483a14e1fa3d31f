// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelXML

/// The content of a document's XMP packet (ISO 16684-1): the properties of Dublin Core, and dates.
struct XMPPacket {
    private let properties: [XMLElement]
    private let attributes: [XMLAttribute]

    private static let dublinCore = "http://purl.org/dc/elements/1.1/"
    private static let basic = "http://ns.adobe.com/xap/1.0/"
    private static let rdf = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
    /// Items of a list that are taken.
    private static let limit = 200

    /// - Parameter bytes: UTF-8; the initializer returns nil unless they are a packet.
    init?(_ bytes: RawSpan) {
        guard let root = try? XMLElement.parse(bytes, limits: XMLLimits(bytes: 4 << 20, depth: 64)) else { return nil }
        let parents = root.name.local == "RDF" ? root : root.child("RDF")
        guard let parents else { return nil }
        let descriptions = parents.children.filter { $0.name.local == "Description" && $0.name.namespace == Self.rdf }
        properties = descriptions.flatMap(\.children)
        attributes = descriptions.flatMap(\.attributes)
    }

    var title: String? { texts("title", Self.dublinCore).first }
    var authors: [String] { texts("creator", Self.dublinCore) }
    var publishers: [String] { texts("publisher", Self.dublinCore) }
    var description: String? { texts("description", Self.dublinCore).first }
    var subjects: [String] { texts("subject", Self.dublinCore) }
    var languages: [String] { texts("language", Self.dublinCore).filter { $0 != "x-default" && $0 != "x-unknown" } }
    var identifier: String? { texts("identifier", Self.dublinCore).first }
    var modified: String? { texts("ModifyDate", Self.basic).first }

    /// The values of a property: of its list, or its own; of alternatives by language the default one first.
    private func texts(_ name: String, _ namespace: String) -> [String] {
        var values: [String] = []
        for property in properties where property.name.local == name && property.name.namespace == namespace {
            if let list = property.children.first(where: { ["Alt", "Bag", "Seq"].contains($0.name.local) }) {
                let items = list.children.filter { $0.name.local == "li" }
                let first = items.firstIndex { item in
                    item.attributes.contains { $0.name.local == "lang" && $0.value == "x-default" }
                }
                if list.name.local == "Alt", let first { values.append(items[first].text) }
                values += items.map(\.text)
            } else {
                values.append(property.text)
            }
        }
        values += attributes.filter { $0.name.local == name && $0.name.namespace == namespace }.map(\.value)
        return values.prefix(Self.limit).map(PDFText.printable).filter { !$0.isEmpty }
    }
}
