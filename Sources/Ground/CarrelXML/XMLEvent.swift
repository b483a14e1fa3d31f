// SPDX-License-Identifier: Apache-2.0

/// A part of a document that an ``XMLReader`` meets, in document order.
package enum XMLEvent: Sendable, Equatable {
    case start(XMLName, attributes: [XMLAttribute])
    /// All character data between two tags, in one piece: references resolved, CDATA sections opened, comments left out.
    case text(String)
    case end(XMLName)
}

/// The name of an element or attribute (Namespaces in XML 1.0).
package struct XMLName: Sendable, Hashable {
    /// The name without its prefix.
    package var local: String
    /// The URI of its name space; nil if it is in none.
    package var namespace: String?

    package init(_ local: String, namespace: String? = nil) {
        self.local = local
        self.namespace = namespace
    }
}

/// An attribute of an element.
package struct XMLAttribute: Sendable, Hashable {
    package var name: XMLName
    package var value: String

    package init(_ name: XMLName, _ value: String) {
        self.name = name
        self.value = value
    }
}
