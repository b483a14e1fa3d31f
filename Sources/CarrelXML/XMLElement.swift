public import CarrelBytes

/// A small document as a value: for answers of a few kilobytes, not for what has to be streamed.
public struct XMLElement: Sendable, Equatable {
    public var name: XMLName
    public var attributes: [XMLAttribute]
    public var children: [XMLElement]
    /// The character data between its tags, without that of its children.
    public var text: String

    public init(_ name: XMLName, attributes: [XMLAttribute] = [], children: [XMLElement] = [], text: String = "") {
        self.name = name
        self.attributes = attributes
        self.children = children
        self.text = text
    }

    /// The value of an attribute that is in no name space.
    public subscript(name: String) -> String? {
        attributes.first { $0.name.local == name && $0.name.namespace == nil }?.value
    }

    /// The first child of this name, in whatever name space.
    public func child(_ local: String) -> XMLElement? {
        children.first { $0.name.local == local }
    }

    /// The root of a document, as ``XMLReader`` reads it.
    public static func parse(
        _ bytes: RawSpan,
        limits: XMLLimits = XMLLimits(),
        documentType: XMLDocumentType = .refused
    ) throws(Malformed) -> XMLElement {
        var tree = XMLTree(limits: limits, documentType: documentType)
        try tree.read(bytes)
        return try tree.finish()
    }
}
