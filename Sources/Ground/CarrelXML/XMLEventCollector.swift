// SPDX-License-Identifier: Apache-2.0

import CXML

/// The events of libxml2's callbacks since the last call.
///
/// It is allocated by the reader, without reference counting: there are ten callbacks for each resource of a protected
/// publication.
@safe
struct XMLEventCollector: ~Copyable {
    /// Set by the owner before anything is parsed; it outlives no call.
    var context: UnsafeMutablePointer<xmlParserCtxt>?
    private(set) var failure: (what: String, offset: Int)? { didSet { isOver = failure != nil } }
    /// Whether there is a failure, without a reference to count.
    private var isOver = false
    /// Whether a limit ended the document: a DOCTYPE that is refused comes before all elements.
    var isOverLimit: Bool { failure != nil && hasElements }
    /// Gets the elements in place of events.
    var visitor: (any XMLVisitor)?
    /// Whether an element has begun.
    var hasElements: Bool { elements > 0 }
    var hasVisitor: Bool { visitor != nil }
    private var tag = XMLTag()
    private let limits: XMLLimits
    private let documentType: XMLDocumentType
    private var events: [XMLEvent] = []
    private var text: [UInt8] = []
    /// Bytes of the text so far.
    private var textSize = 0
    private var depth = 0
    private var elements = 0
    private var attributes = 0
    /// Declarations of name spaces in scope: the number for each open element with declarations.
    private var declarations: [(depth: Int, count: Int)] = []
    private var namespaceCount = 0
    /// The numbers of attributes with defaults in the DOCTYPE, and of namespace declarations among them.
    private var defaults = (all: 0, namespaces: 0)
    /// The names in events; a tag has its own.
    let names = XMLNames()

    /// The maximum number of namespace declarations in scope: the library searches them for every prefixed name.
    private static let scopeLimit = 256
    /// The limits of attributes declared by a DOCTYPE, and of namespaces among them: the library searches them for every element.
    private static let defaultLimit = (all: 256, namespaces: 4)
    /// Bytes of a name space's URI, at most.
    private static let uriLimit = 2048

    init(_ limits: XMLLimits, _ documentType: XMLDocumentType) {
        self.limits = limits
        self.documentType = documentType
    }

    mutating func meetDocumentType() {
        if documentType == .refused { fail("the XML has a DOCTYPE, which is not taken") }
    }

    mutating func declareAttribute(isNamespace: Bool) {
        defaults.all += 1
        if isNamespace { defaults.namespaces += 1 }
        guard defaults.all <= Self.defaultLimit.all, defaults.namespaces <= Self.defaultLimit.namespaces else {
            return fail("the XML's DOCTYPE declares more attributes than are taken")
        }
    }

    /// Records an element's namespace declarations, which are in scope until its end.
    ///
    /// - Returns: whether this number is allowed.
    mutating func declare(namespaces count: Int) -> Bool {
        guard count > 0 else { return failure == nil }
        declarations.append((depth + 1, count))
        namespaceCount += count
        if namespaceCount > Self.scopeLimit { fail("the XML has more than \(Self.scopeLimit) name spaces in scope") }
        return !isOver
    }

    private mutating func endScope() {
        if let last = declarations.last, last.depth == depth {
            namespaceCount -= last.count
            declarations.removeLast()
        }
        depth -= 1
    }

    mutating func take() -> [XMLEvent] {
        defer { events = [] }
        return events
    }

    /// Ends the parsing: no further callback comes.
    mutating func fail(_ what: String) {
        guard !isOver, let context = unsafe context else { return }
        failure = (what, max(0, unsafe xmlByteConsumed(context)))
        unsafe xmlStopParser(context)
    }

    mutating func start(_ name: XMLName, attributes: [XMLAttribute]) {
        endText()
        if counts() { events.append(.start(name, attributes: attributes)) }
    }

    /// An element for the visitor.
    mutating func start(
        _ local: UnsafePointer<xmlChar>?,
        _ uri: UnsafePointer<xmlChar>?,
        _ attributes: UnsafeBufferPointer<UnsafePointer<xmlChar>?>
    ) {
        endText()
        guard counts() else { return }
        unsafe tag.point(at: local, uri, attributes)
        visitor?.start(tag)
    }

    /// The end of one for the visitor.
    mutating func end() {
        endText()
        endScope()
        if !isOver { visitor?.end() }
    }

    /// Whether there may be one more element, inside those that are open.
    private mutating func counts() -> Bool {
        depth += 1
        elements += 1
        if depth > limits.depth { fail("the XML nests its elements deeper than \(limits.depth)") }
        if elements > limits.elements { fail("the XML has more than \(limits.elements) elements") }
        return !isOver
    }

    /// Whether an element may have this number of attributes.
    mutating func allows(attributes: Int) -> Bool {
        if attributes > limits.attributes { fail("an element of the XML has more than \(limits.attributes) attributes") }
        self.attributes += attributes
        if self.attributes > limits.totalAttributes { fail("the XML has more than \(limits.totalAttributes) attributes") }
        return !isOver
    }

    /// Whether an attribute may have this number of bytes.
    mutating func allows(valueBytes: Int) -> Bool {
        if valueBytes > limits.text { fail("an attribute of the XML is longer than \(limits.text) bytes") }
        return !isOver
    }

    /// Whether a name space's URI may have this number of bytes.
    mutating func allows(uriBytes: Int) -> Bool {
        if uriBytes > Self.uriLimit { fail("a name space of the XML is longer than \(Self.uriLimit) bytes") }
        return !isOver
    }

    mutating func end(_ name: XMLName) {
        endText()
        endScope()
        if !isOver { events.append(.end(name)) }
    }

    mutating func add(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard !isOver else { return }
        textSize += bytes.count
        if textSize > limits.text { return fail("a text of the XML is longer than \(limits.text) bytes") }
        if let visitor, !visitor.takesText { return }
        unsafe text.append(contentsOf: bytes)
    }

    private mutating func endText() {
        textSize = 0
        guard !text.isEmpty else { return }
        if !isOver {
            let text = String(decoding: text, as: UTF8.self)
            if let visitor { visitor.take(text) } else { events.append(.text(text)) }
        }
        text.removeAll(keepingCapacity: true)
    }
}
