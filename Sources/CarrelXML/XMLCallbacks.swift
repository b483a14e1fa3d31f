import CXML

/// What libxml2 calls. Functions at file scope, because a closure could carry an actor's isolation.
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

private func collector(_ context: UnsafeMutableRawPointer?) -> XMLEventCollector? {
    guard let context = unsafe context else { return nil }
    return unsafe Unmanaged<XMLEventCollector>.fromOpaque(context).takeUnretainedValue()
}

private func name(_ local: UnsafePointer<xmlChar>?, _ uri: UnsafePointer<xmlChar>?, _ collector: XMLEventCollector) -> XMLName {
    unsafe XMLName(collector.names[local] ?? "", namespace: collector.names[uri])
}

private func meetDocumentType(
    _ context: UnsafeMutableRawPointer?,
    _ name: UnsafePointer<xmlChar>?,
    _ externalID: UnsafePointer<xmlChar>?,
    _ systemID: UnsafePointer<xmlChar>?
) {
    unsafe collector(context)?.meetDocumentType()
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
    guard let collector = unsafe collector(context), let name = unsafe name else { return }
    collector.declareAttribute(isNamespace: unsafe xmlStrncmp(name, "xmlns", 5) == 0)
}

/// A reference to an entity that an outside document declares, which is never read; those of HTML are known without it.
private func addEntity(_ context: UnsafeMutableRawPointer?, _ name: UnsafePointer<xmlChar>?) {
    guard let collector = unsafe collector(context), let name = unsafe name, let entity = unsafe htmlEntityLookup(name),
        let scalar = unsafe Unicode.Scalar(entity.pointee.value)
    else { return }
    unsafe Array(String(Character(scalar)).utf8).withUnsafeBufferPointer { unsafe collector.add($0) }
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
    guard let collector = unsafe collector(context),
        collector.allows(attributes: Int(attributeCount) + Int(namespaceCount)),
        collector.declare(namespaces: Int(namespaceCount))
    else { return }
    if let namespaces = unsafe namespaces {
        // two pointers each: prefix and URI
        for index in 0..<Int(namespaceCount) {
            guard let uri = unsafe namespaces[index * 2 + 1] else { continue }
            guard unsafe collector.allows(uriBytes: Int(xmlStrlen(uri))) else { return }
        }
    }
    if collector.hasVisitor {
        if let attributes = unsafe attributes {
            for start in stride(from: 0, to: Int(attributeCount) * 5, by: 5) {
                guard let first = unsafe attributes[start + 3], let end = unsafe attributes[start + 4] else { continue }
                guard collector.allows(valueBytes: unsafe end - first) else { return }
            }
        }
        return unsafe collector.start(local, uri, attributes, count: Int(attributeCount))
    }
    var found: [XMLAttribute] = []
    if let attributes = unsafe attributes {
        found.reserveCapacity(Int(attributeCount))
        // five pointers each: local name, prefix, name space, the value's first byte and the one behind its last
        for start in stride(from: 0, to: Int(attributeCount) * 5, by: 5) {
            guard let first = unsafe attributes[start + 3], let end = unsafe attributes[start + 4] else { continue }
            let value = unsafe UnsafeBufferPointer(start: first, count: end - first)
            guard collector.allows(valueBytes: value.count) else { return }
            let name = unsafe name(attributes[start], attributes[start + 2], collector)
            found.append(XMLAttribute(name, unsafe String(decoding: value, as: UTF8.self)))
        }
    }
    collector.start(unsafe name(local, uri, collector), attributes: found)
}

private func endElement(
    _ context: UnsafeMutableRawPointer?,
    _ local: UnsafePointer<xmlChar>?,
    _ prefix: UnsafePointer<xmlChar>?,
    _ uri: UnsafePointer<xmlChar>?
) {
    guard let collector = unsafe collector(context) else { return }
    if collector.hasVisitor { return collector.end() }
    collector.end(unsafe name(local, uri, collector))
}

private func addCharacters(
    _ context: UnsafeMutableRawPointer?,
    _ characters: UnsafePointer<xmlChar>?,
    _ count: CInt
) {
    unsafe collector(context)?.add(UnsafeBufferPointer(start: characters, count: Int(count)))
}
