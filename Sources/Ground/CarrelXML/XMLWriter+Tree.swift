// SPDX-License-Identifier: Apache-2.0

extension XMLWriter {
    /// Writes a whole tree, such as a document that was read and changed. Its names must be names of XML, as the names that
    /// ``XMLReader`` reads are.
    ///
    /// - Parameters:
    ///   - tree: the root element.
    ///   - prefixes: the prefix of each namespace; others get prefixes by number.
    package mutating func root(_ tree: XMLElement, prefixes: [String: String]) {
        var declared: [(namespace: String, prefix: String)] = []
        for namespace in tree.namespaces where namespace != Self.xmlNamespace {
            declared.append((namespace, prefixes[namespace] ?? "ns\(declared.count + 1)"))
        }
        let names = Dictionary(declared.map { ($0.namespace, $0.prefix) }) { first, _ in first }
            .merging([Self.xmlNamespace: "xml"]) { first, _ in first }
        write(tree, names, declaring: declared)
    }

    private static let xmlNamespace = "http://www.w3.org/XML/1998/namespace"

    private mutating func write(
        _ tree: XMLElement,
        _ prefixes: [String: String],
        declaring declared: [(namespace: String, prefix: String)] = []
    ) {
        let name = Self.name(tree.name, prefixes)
        startTag(name)
        for (namespace, prefix) in declared { attribute("xmlns:\(prefix)", namespace) }
        for value in tree.attributes { attribute(Self.name(value.name, prefixes), value.value) }
        guard !tree.children.isEmpty || !tree.text.isEmpty else { return endEmptyTag() }
        endStartTag()
        if !tree.text.isEmpty { text(tree.text) }
        for child in tree.children { write(child, prefixes) }
        endTag(name)
    }

    private static func name(_ name: XMLName, _ prefixes: [String: String]) -> String {
        guard let namespace = name.namespace, let prefix = prefixes[namespace] else { return name.local }
        return "\(prefix):\(name.local)"
    }
}
