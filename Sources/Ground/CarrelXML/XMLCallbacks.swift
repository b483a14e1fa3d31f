// SPDX-License-Identifier: Apache-2.0

import CXML

/// The callbacks of libxml2. Functions at file scope, because a closure could carry an actor's isolation.
@safe
enum XMLCallbacks {
    static var handler: xmlSAXHandler {
        var handler = unsafe xmlSAXHandler()
        unsafe handler.initialized = UInt32(XML_SAX2_MAGIC)
        unsafe handler.internalSubset = meetDocumentType
        unsafe handler.attributeDecl = declareAttribute
        unsafe handler.reference = addEntity
        unsafe handler.startElementNs = startElement
        unsafe handler.endElementNs = endElement
        unsafe handler.characters = addCharacters
        unsafe handler.ignorableWhitespace = addCharacters
        unsafe handler.cdataBlock = addCharacters
        return unsafe handler
    }
}

/// The collector of a reader, which lets the library call it one call at a time.
private func tell(_ context: UnsafeMutableRawPointer?, _ body: (inout XMLEventCollector) -> Void) {
    guard let context = unsafe context else { return }
    unsafe body(&context.assumingMemoryBound(to: XMLEventCollector.self).pointee)
}

private func name(_ local: UnsafePointer<xmlChar>?, _ uri: UnsafePointer<xmlChar>?, _ names: XMLNames) -> XMLName {
    unsafe XMLName(names[local] ?? "", namespace: names[uri])
}

private func meetDocumentType(
    _ context: UnsafeMutableRawPointer?,
    _ name: UnsafePointer<xmlChar>?,
    _ externalID: UnsafePointer<xmlChar>?,
    _ systemID: UnsafePointer<xmlChar>?
) {
    unsafe tell(context) { $0.meetDocumentType() }
}

/// A default of an attribute, which the library adds to every element of its name.
private func declareAttribute(
    _ context: UnsafeMutableRawPointer?,
    _ element: UnsafePointer<xmlChar>?,
    _ name: UnsafePointer<xmlChar>?,
    _ type: CInt,
    _ kind: CInt,
    _ value: UnsafePointer<xmlChar>?,
    _ values: UnsafeMutablePointer<xmlEnumeration>?
) {
    unsafe xmlFreeEnumeration(values)
    guard let name = unsafe name else { return }
    let isNamespace = unsafe xmlStrncmp(name, "xmlns", 5) == 0
    unsafe tell(context) { $0.declareAttribute(isNamespace: isNamespace) }
}

/// Handles a reference to an entity of an external document, which is never read; HTML's entities are known without it.
private func addEntity(_ context: UnsafeMutableRawPointer?, _ name: UnsafePointer<xmlChar>?) {
    guard let name = unsafe name,
        let characters = HTMLEntities.characters(named: unsafe String(decodingCString: name, as: UTF8.self))
    else { return }
    let bytes = Array(characters.utf8)
    unsafe tell(context) { collector in unsafe bytes.withUnsafeBufferPointer { unsafe collector.add($0) } }
}

private func startElement(
    _ context: UnsafeMutableRawPointer?,
    _ local: UnsafePointer<xmlChar>?,
    _ prefix: UnsafePointer<xmlChar>?,
    _ uri: UnsafePointer<xmlChar>?,
    _ namespaceCount: CInt,
    _ namespaces: UnsafeMutablePointer<UnsafePointer<xmlChar>?>?,
    _ attributeCount: CInt,
    _ defaultedCount: CInt,
    _ attributes: UnsafeMutablePointer<UnsafePointer<xmlChar>?>?
) {
    unsafe tell(context) { collector in
        unsafe start(
            &collector,
            local,
            uri,
            UnsafeBufferPointer(start: namespaces, count: namespaces == nil ? 0 : Int(namespaceCount) * 2),
            UnsafeBufferPointer(start: attributes, count: attributes == nil ? 0 : Int(attributeCount) * 5)
        )
    }
}

/// - Parameters:
///   - collector: receives the element.
///   - local: the name without its prefix.
///   - uri: the namespace URI.
///   - namespaces: two pointers for each declaration: prefix and URI.
///   - attributes: five pointers for each: local name, prefix, namespace, the value's first byte and the byte after its last.
private func start(
    _ collector: inout XMLEventCollector,
    _ local: UnsafePointer<xmlChar>?,
    _ uri: UnsafePointer<xmlChar>?,
    _ namespaces: UnsafeBufferPointer<UnsafePointer<xmlChar>?>,
    _ attributes: UnsafeBufferPointer<UnsafePointer<xmlChar>?>
) {
    guard collector.allows(attributes: attributes.count / 5 + namespaces.count / 2),
        collector.declare(namespaces: namespaces.count / 2)
    else { return }
    for index in stride(from: 1, to: namespaces.count, by: 2) {
        guard let uri = unsafe namespaces[index] else { continue }
        guard unsafe collector.allows(uriBytes: Int(xmlStrlen(uri))) else { return }
    }
    for index in stride(from: 0, to: attributes.count, by: 5) {
        guard let first = unsafe attributes[index + 3], let end = unsafe attributes[index + 4] else { continue }
        guard collector.allows(valueBytes: unsafe end - first) else { return }
    }
    if collector.hasVisitor { return unsafe collector.start(local, uri, attributes) }
    var elementAttributes: [XMLAttribute] = []
    elementAttributes.reserveCapacity(attributes.count / 5)
    for index in stride(from: 0, to: attributes.count, by: 5) {
        guard let first = unsafe attributes[index + 3], let end = unsafe attributes[index + 4] else { continue }
        let name = unsafe name(attributes[index], attributes[index + 2], collector.names)
        let value = unsafe String(decoding: UnsafeBufferPointer(start: first, count: end - first), as: UTF8.self)
        elementAttributes.append(XMLAttribute(name, value))
    }
    collector.start(unsafe name(local, uri, collector.names), attributes: elementAttributes)
}

private func endElement(
    _ context: UnsafeMutableRawPointer?,
    _ local: UnsafePointer<xmlChar>?,
    _ prefix: UnsafePointer<xmlChar>?,
    _ uri: UnsafePointer<xmlChar>?
) {
    unsafe tell(context) { collector in
        if collector.hasVisitor { collector.end() } else { collector.end(unsafe name(local, uri, collector.names)) }
    }
}

private func addCharacters(
    _ context: UnsafeMutableRawPointer?,
    _ characters: UnsafePointer<xmlChar>?,
    _ count: CInt
) {
    unsafe tell(context) { unsafe $0.add(UnsafeBufferPointer(start: characters, count: Int(count))) }
}
