// SPDX-License-Identifier: Apache-2.0

/// A small document as a value: for answers of a few kilobytes, not for what has to be streamed.
package struct XMLElement: Sendable, Equatable {
    package var name: XMLName
    package var attributes: [XMLAttribute]
    package var children: [XMLElement]
    /// The character data between its tags, without its children's.
    package var text: String

    package init(_ name: XMLName, attributes: [XMLAttribute] = [], children: [XMLElement] = [], text: String = "") {
        self.name = name
        self.attributes = attributes
        self.children = children
        self.text = text
    }

    /// The value of an attribute that is in no name space.
    package subscript(name: String) -> String? {
        attributes.first { $0.name.local == name && $0.name.namespace == nil }?.value
    }

    /// The first child of this name, in whatever name space.
    package func child(_ local: String) -> XMLElement? {
        children.first { $0.name.local == local }
    }

    /// The namespaces of all elements and attributes, each once, in the order of the document.
    package var namespaces: [String] {
        var list: [String] = []
        var known: Set<String> = []
        collectNamespaces(&list, &known)
        return list
    }

    private func collectNamespaces(_ list: inout [String], _ known: inout Set<String>) {
        func add(_ name: XMLName) {
            if let namespace = name.namespace, known.insert(namespace).inserted { list.append(namespace) }
        }
        add(name)
        for attribute in attributes { add(attribute.name) }
        for child in children { child.collectNamespaces(&list, &known) }
    }
}
