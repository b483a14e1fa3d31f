// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelXML
import CarrelRights

/// Reads the small documents of services: every element is known, and in its place.
enum ServiceDocument {
    /// The root of a document without a DOCTYPE.
    ///
    /// - Throws: `rights.malformed`.
    static func root(
        _ bytes: RawSpan,
        maxByteCount: Int,
        _ name: String,
        _ namespace: String
    ) throws(RightsError) -> XMLElement {
        let limits = XMLLimits(bytes: maxByteCount, depth: 3, elements: 8, attributes: 8, text: maxByteCount, totalAttributes: 8)
        guard let root = try? XMLElement.parse(bytes, limits: limits) else {
            throw RightsError(.malformed, "the document is not well-formed XML without a DOCTYPE, or too large")
        }
        guard root.name == XMLName(name, namespace: namespace) else {
            let kind = root.name.local.prefix(64)
            throw RightsError(.malformed, "the document is not of the kind \(name): its root element is '\(kind)'")
        }
        return root
    }

    /// The texts of an element's children, which must have these names in this order and nothing but text.
    ///
    /// - Throws: `rights.malformed`.
    static func children(
        of element: XMLElement,
        named name: String,
        in namespace: String,
        _ names: [String]
    ) throws(RightsError) -> [String] {
        guard element.name == XMLName(name, namespace: namespace), isSpace(element.text), element.children.count == names.count
        else { throw RightsError(.malformed, "the document does not have the parts of \(name)") }
        for (child, name) in zip(element.children, names) {
            guard child.name == XMLName(name, namespace: namespace), child.attributes.isEmpty, child.children.isEmpty else {
                throw RightsError(.malformed, "the document does not have the parts of \(name)")
            }
        }
        return element.children.map(\.text)
    }

    /// Whether there is nothing but white space between children.
    static func isSpace(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 == 0x20 || $0 == 0x09 || $0 == 0x0a || $0 == 0x0d }
    }

    /// A number without a sign and without zeros before it.
    static func number(_ text: String) -> Int? {
        guard let number = Int(text), String(number) == text else { return nil }
        return number
    }
}
