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
        var reader = XMLReader(limits: limits, documentType: documentType)
        var tree = XMLTree()
        // a piece at a time, so that the events of the whole are not in memory beside the tree
        var at = 0
        while at < bytes.byteCount {
            let end = min(at + 65_536, bytes.byteCount)
            tree.add(try reader.read(bytes.extracting(at..<end)))
            at = end
        }
        tree.add(try reader.finish())
        guard let root = tree.root else { throw Malformed("the XML has no element", at: bytes.byteCount) }
        return root
    }
}

/// Puts events together.
private struct XMLTree {
    private(set) var root: XMLElement?
    private var open: [XMLElement] = []

    mutating func add(_ events: [XMLEvent]) {
        for event in events {
            switch event {
            case .start(let name, let attributes): open.append(XMLElement(name, attributes: attributes))
            case .text(let text): if !open.isEmpty { open[open.count - 1].text += text }
            case .end:
                guard let done = open.popLast() else { return }
                if open.isEmpty { root = done } else { open[open.count - 1].children.append(done) }
            }
        }
    }
}
