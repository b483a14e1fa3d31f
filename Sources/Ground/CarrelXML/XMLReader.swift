// SPDX-License-Identifier: Apache-2.0

import CXML
package import CarrelBytes

/// Reads XML 1.0 in UTF-8 or UTF-16, event by event, from bytes as they arrive.
///
/// It is strict: malformed documents and undeclared prefixes are errors. It accepts no DOCTYPE by default, and even then nothing
/// is loaded from elsewhere and no declared entity is expanded. The first bytes decide the encoding, whatever the document
/// declares; positions in UTF-16 count the same text in UTF-8. Every size has a limit, which also bounds the memory for pending
/// events.
@safe
package struct XMLReader: ~Copyable {
    private let context: UnsafeMutablePointer<xmlParserCtxt>
    /// The state of the callbacks.
    private let collector: UnsafeMutablePointer<XMLEventCollector>
    private let limits: XMLLimits
    private var size = 0
    /// The document's first bytes, while they could be a byte order mark.
    private var head: [UInt8] = []
    private var hasBegun = false
    private var hasByteOrderMark = false
    /// Nil for UTF-8.
    private var utf16: UTF16Decoder?
    /// Whether prefixes of names need no declaration: such a name is in no name space. For documents of others, in which only local
    /// names count.
    package var allowsUndeclaredPrefixes = false
    /// Whether a limit ended the document, and nothing else was wrong with it.
    package var isOverLimit: Bool { unsafe size > limits.bytes || collector.pointee.isOverLimit }
    /// Bytes that the library has, without the mark.
    private var parsed = 0
    /// The start tag that continues after them.
    private var openTag: XMLOpenTag?

    private static let byteOrderMark: [UInt8] = [0xef, 0xbb, 0xbf]
    /// The library counts in 32 bits. Of one piece's attributes it makes short work, however many they are.
    private static let pieceSize = 65_536
    /// Before the first element there may be a DOCTYPE, which is taken in one piece.
    private static let firstPieceSize = 4096
    /// Bytes of what a DOCTYPE declares: the library compares the values of an enumeration with each other.
    private static let documentTypeLimit = 32_768
    private static let isReady: Bool = {
        xmlInitParser()
        return true
    }()

    /// - Parameters:
    ///   - limits: the limits of the document.
    ///   - documentType: the treatment of a DOCTYPE.
    package init(limits: XMLLimits = XMLLimits(), documentType: XMLDocumentType = .refused) {
        precondition(Self.isReady)
        self.limits = limits
        let collector = UnsafeMutablePointer<XMLEventCollector>.allocate(capacity: 1)
        unsafe collector.initialize(to: XMLEventCollector(limits, documentType))
        unsafe self.collector = unsafe collector
        var callbacks = unsafe XMLCallbacks.handler
        guard let context = unsafe xmlCreatePushParserCtxt(&callbacks, UnsafeMutableRawPointer(collector), nil, 0, nil) else {
            fatalError("libxml2 has no memory for a parser")
        }
        unsafe self.context = context
        unsafe collector.pointee.context = unsafe context
        // Without a DOCTYPE there are no entities to substitute but `&amp;`, which would stay `&#38;` in attributes.
        let options = [XML_PARSE_NONET, XML_PARSE_NOERROR, XML_PARSE_NOWARNING, XML_PARSE_IGNORE_ENC, XML_PARSE_NOENT]
        _ = unsafe xmlCtxtUseOptions(context, CInt(options.reduce(0) { $0 | $1.rawValue }))
        _ = unsafe xmlSwitchEncoding(context, XML_CHAR_ENCODING_UTF8)
    }

    deinit {
        // made for the entities that a document declares, and not the parser's own
        if let document = unsafe context.pointee.myDoc { unsafe xmlFreeDoc(document) }
        unsafe xmlFreeParserCtxt(context)
        unsafe collector.deinitialize(count: 1)
        unsafe collector.deallocate()
    }

    /// Reads the next bytes of the document.
    ///
    /// - Returns: the completed events.
    /// - Throws: an error if the document is not well-formed or exceeds a limit; nothing more can be read then.
    package mutating func read(_ bytes: RawSpan) throws(Malformed) -> [XMLEvent] {
        try take(bytes)
        return unsafe collector.pointee.take()
    }

    /// Reads the next bytes of the document, and reports elements to a visitor instead of returning events.
    ///
    /// - Parameters:
    ///   - bytes: the next bytes.
    ///   - visitor: the visitor, the same for the whole document.
    /// - Throws: the errors of ``read(_:)``.
    package mutating func read(_ bytes: RawSpan, telling visitor: any XMLVisitor) throws(Malformed) {
        unsafe collector.pointee.visitor = visitor
        defer { unsafe collector.pointee.visitor = nil }
        try take(bytes)
    }

    /// Returns the events before a limit ended the document.
    ///
    /// - Returns: the remaining events.
    package mutating func readSoFar() -> [XMLEvent] { unsafe collector.pointee.take() }

    private mutating func take(_ bytes: RawSpan) throws(Malformed) {
        size += bytes.byteCount
        guard size <= limits.bytes else { throw Malformed("the XML is longer than \(limits.bytes) bytes", at: limits.bytes) }
        if hasBegun {
            try decode(bytes)
        } else {
            head.append(copying: bytes)
            let isMarkPossible = Self.byteOrderMark.starts(with: head)
            if head.count >= 3 || head.count == 2 && !isMarkPossible { try begin() }
        }
    }

    /// Ends the document.
    ///
    /// - Returns: the remaining events.
    /// - Throws: an error if the document is incomplete.
    package mutating func finish() throws(Malformed) -> [XMLEvent] {
        try end()
        return unsafe collector.pointee.take()
    }

    /// Ends the document, and reports the rest to a visitor.
    ///
    /// - Parameter visitor: the visitor of the rest.
    /// - Throws: an error if the document is incomplete.
    package mutating func finish(telling visitor: any XMLVisitor) throws(Malformed) {
        unsafe collector.pointee.visitor = visitor
        defer { unsafe collector.pointee.visitor = nil }
        try end()
    }

    private mutating func end() throws(Malformed) {
        if !hasBegun { try begin() }
        try utf16?.finish()
        _ = unsafe xmlParseChunk(context, nil, 0, 1)
        try check()
    }

    private mutating func begin() throws(Malformed) {
        hasBegun = true
        hasByteOrderMark = head.starts(with: Self.byteOrderMark)
        utf16 = UTF16Decoder(head: head)
        let start = hasByteOrderMark ? 3 : 0
        let head = head
        self.head = []
        try decode(head.rawSpan.extracting(start..<head.count))
    }

    private mutating func decode(_ bytes: RawSpan) throws(Malformed) {
        guard utf16 != nil else { return try parse(bytes) }
        for start in stride(from: 0, to: bytes.byteCount, by: Self.pieceSize) {
            let piece = bytes.extracting(start..<min(start + Self.pieceSize, bytes.byteCount))
            guard let text = try utf16?.decode(piece) else { return }
            let utf8 = Array(text.utf8)
            try parse(utf8.rawSpan)
        }
    }

    private mutating func parse(_ bytes: RawSpan) throws(Malformed) {
        var offset = 0
        while offset < bytes.byteCount {
            let size = unsafe collector.pointee.hasElements ? Self.pieceSize : Self.firstPieceSize
            let end = min(offset + size, bytes.byteCount)
            let piece = bytes.extracting(offset..<end)
            unsafe piece.withUnsafeBytes { piece in unsafe openTag?.take(piece) }
            try checkTag()
            unsafe piece.withUnsafeBytes { piece in
                let start = unsafe piece.baseAddress?.assumingMemoryBound(to: CChar.self)
                _ = unsafe xmlParseChunk(context, start, CInt(piece.count), 0)
            }
            try check()
            parsed += piece.byteCount
            try checkWaiting()
            offset = end
        }
    }

    /// Checks what the library buffers until it is whole, and then takes in one piece.
    private mutating func checkWaiting() throws(Malformed) {
        let state = unsafe context.pointee.instate
        guard let input = unsafe context.pointee.input, let start = unsafe input.pointee.cur, let end = unsafe input.pointee.end
        else { return }
        let count = unsafe end - start
        if unsafe !collector.pointee.hasElements, count > Self.documentTypeLimit {
            let isDeclaration =
                unsafe start[0] == UInt8(ascii: "<") && start[1] == UInt8(ascii: "!") && start[2] == UInt8(ascii: "D")
            if state == XML_PARSER_DTD || isDeclaration {
                throw Malformed("the XML's DOCTYPE is longer than \(Self.documentTypeLimit) bytes", at: offsetOfPiece)
            }
        }
        guard state == XML_PARSER_START_TAG else { return openTag = nil }
        guard openTag?.isOver ?? true else { return }
        var tag = XMLOpenTag()
        unsafe tag.take(UnsafeRawBufferPointer(start: start, count: count))
        openTag = tag
        try checkTag()
    }

    /// Refuses a tag of too many attributes before the library compares each of them with all others.
    private func checkTag() throws(Malformed) {
        guard let openTag, openTag.attributes > limits.attributes else { return }
        throw Malformed("an element of the XML has more than \(limits.attributes) attributes", at: offsetOfPiece)
    }

    private var offsetOfPiece: Int { parsed + (hasByteOrderMark ? 3 : 0) }

    private func check() throws(Malformed) {
        if let failure = unsafe collector.pointee.failure {
            throw Malformed(failure.what, at: failure.offset + (hasByteOrderMark ? 3 : 0))
        }
        let isFaulty = unsafe context.pointee.wellFormed == 0 || !allowsUndeclaredPrefixes && context.pointee.nsWellFormed == 0
        guard isFaulty else { return }
        let offset = unsafe xmlByteConsumed(context)
        let what = unsafe Self.words(for: context.pointee.lastError.code)
        throw Malformed(what, at: max(0, offset) + (hasByteOrderMark ? 3 : 0))
    }

    /// The library's own words would quote the document.
    private static func words(for code: CInt) -> String {
        switch xmlParserErrors(UInt32(code)) {
        case XML_ERR_DOCUMENT_EMPTY: "the XML is empty or does not begin with a tag"
        case XML_ERR_DOCUMENT_END: "the XML ends too early, or goes on behind its end"
        case XML_ERR_INVALID_CHAR, XML_ERR_INVALID_CHARREF: "the XML has a character that it cannot hold"
        case XML_ERR_INVALID_ENCODING: "the XML is not UTF-8"
        case XML_ERR_TAG_NAME_MISMATCH: "an end tag of the XML does not match its start tag"
        case XML_ERR_ATTRIBUTE_REDEFINED: "an element of the XML has an attribute twice"
        case XML_ERR_UNDECLARED_ENTITY: "the XML refers to an entity that is not declared"
        case XML_ERR_ENTITY_LOOP: "the XML refers to an entity within itself"
        case XML_NS_ERR_UNDEFINED_NAMESPACE: "a prefix of the XML is not declared"
        default: "the XML is not well-formed (libxml2's error \(code))"
        }
    }
}
