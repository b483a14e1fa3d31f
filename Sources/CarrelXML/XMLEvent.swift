/// What an ``XMLReader`` meets, in the order of the document.
public enum XMLEvent: Sendable, Equatable {
    case start(XMLName, attributes: [XMLAttribute])
    /// All character data between two tags, in one piece: references resolved, CDATA sections opened, comments left out.
    case text(String)
    case end(XMLName)
}

/// The name of an element or attribute (Namespaces in XML 1.0).
public struct XMLName: Sendable, Hashable {
    /// The name without its prefix.
    public var local: String
    /// The URI of its name space; nil when it is in none.
    public var namespace: String?

    public init(_ local: String, namespace: String? = nil) {
        self.local = local
        self.namespace = namespace
    }
}

/// An attribute of an element.
public struct XMLAttribute: Sendable, Hashable {
    public var name: XMLName
    public var value: String

    public init(_ name: XMLName, _ value: String) {
        self.name = name
        self.value = value
    }
}
