// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import CarrelXML

/// An MPD with references to remote elements, which are replaced after they are fetched (ISO/IEC 23009-1 §5.5.3).
///
/// Periods, adaptation sets, event streams and segment lists may be references. An inserted element contains no references, so
/// that each is resolved once.
package struct MPDReferences: Sendable {
    private let bytes: [UInt8]
    /// In the order of the document; those inside others among them.
    package let list: [MPDReference]

    /// Most bytes of an MPD, before and after, and of one remote element.
    private static let limit = 64 << 20
    private static let entityLimit = 8 << 20
    /// Most references of an MPD.
    private static let countLimit = 10_000

    /// Finds the references of an MPD.
    ///
    /// - Parameters:
    ///   - bytes: the whole document, in UTF-8.
    ///   - url: its address.
    /// - Throws: if the XML is not well-formed or not UTF-8, or there are too many references.
    package init(_ bytes: [UInt8], url: String = "") throws(Malformed) {
        self.bytes = bytes
        let visitor = ReferenceVisitor(url: url, limit: Self.countLimit)
        try Self.read(bytes, limit: Self.limit, visitor)
        guard !visitor.entries.isEmpty else {
            list = []
            return
        }
        guard visitor.entries.count <= Self.countLimit else { throw Malformed("MPD has too many references", at: 0) }
        let span = bytes.rawSpan
        guard span.byteCount >= 2, span.u8(at: 0) != 0, span.u8(at: 1) != 0, span.u8(at: 0) < 0xfe else {
            throw Malformed("MPD with references is not in UTF-8", at: 0)
        }
        list = Self.references(visitor.entries, in: span)
    }

    private static func references(_ entries: [ReferenceVisitor.Entry], in bytes: RawSpan) -> [MPDReference] {
        var list: [MPDReference] = []
        var scanner = MarkupScanner()
        var element = -1
        var depth = 0
        /// References whose element is still open, with their depths.
        var open: [(index: Int, depth: Int)] = []
        while let tag = scanner.next(bytes) {
            if tag.isStart {
                element += 1
                depth += 1
                if list.count < entries.count, entries[list.count].element == element {
                    let next = entries[list.count]
                    open.append((list.count, depth))
                    list.append(
                        MPDReference(
                            link: next.link,
                            base: next.base,
                            offset: tag.range.lowerBound,
                            range: tag.range,
                            tag: tag.range
                        )
                    )
                }
            }
            guard !tag.isStart || tag.isEmpty else { continue }
            if let last = open.last, last.depth == depth {
                let reference = list[last.index]
                list[last.index] = MPDReference(
                    link: reference.link,
                    base: reference.base,
                    offset: reference.offset,
                    range: reference.offset..<tag.range.upperBound,
                    tag: reference.tag
                )
                open.removeLast()
            }
            depth -= 1
        }
        return list
    }

    /// Returns the MPD with elements replaced.
    ///
    /// An element whose reference is `urn:mpeg:dash:resolve-to-zero:2013` is removed. References inside a replaced element are
    /// removed with it.
    ///
    /// - Parameter resolutions: one for each of ``list``, in its order; missing ones count as `later`.
    /// - Returns: the document, for ``MPD/parse(_:limit:)``.
    /// - Throws: if a remote element is not well-formed, contains other elements than the one that it replaces, contains a
    ///   reference, or is too long: the fault, with its offset; if the document becomes too long: the offset of the element.
    package func resolve(_ resolutions: [MPDResolution]) throws(Malformed) -> [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(bytes.count)
        var position = 0
        for (index, reference) in list.enumerated() where reference.offset >= position {
            let resolution = index < resolutions.count ? resolutions[index] : .later
            if reference.link.href == MPDLink.nothing {
                out += bytes[position..<reference.offset]
                position = reference.range.upperBound
                continue
            }
            switch resolution {
            case .later: continue
            case .content(let entity):
                let content = try Self.content(of: entity, for: reference.link)
                out += bytes[position..<reference.offset]
                out += content
                position = reference.range.upperBound
            case .failed:
                let attributes = MarkupScanner.attributes(
                    ["href", "actuate"],
                    prefixed: ["type", "show"],
                    of: reference.tag,
                    in: bytes.rawSpan
                )
                for attribute in attributes {
                    out += bytes[position..<attribute.lowerBound]
                    position = attribute.upperBound
                }
            }
            guard out.count + bytes.count - position <= Self.limit else {
                throw Malformed("MPD with its remote elements is too long", at: reference.offset)
            }
        }
        out += bytes[position...]
        return out
    }

    /// The elements of a remote element, without a byte order mark and the declaration of the XML.
    private static func content(of entity: [UInt8], for link: MPDLink) throws(Malformed) -> ArraySlice<UInt8> {
        guard entity.count <= entityLimit else { throw Malformed("remote element is too long", at: entityLimit) }
        var content = entity[...]
        if content.starts(with: [0xef, 0xbb, 0xbf]) { content = content.dropFirst(3) }
        if content.starts(with: Array("<?xml".utf8)), let end = content.firstIndex(of: UInt8(ascii: ">")) {
            content = content[(end + 1)...]
        }
        let root = Array("<r>".utf8)
        let document = root + content + Array("</r>".utf8)
        let visitor = EntityVisitor(link.element)
        do throws(Malformed) {
            try read(document, limit: entityLimit + 16, visitor)
        } catch {
            let offset = max(0, error.offset - root.count) + content.startIndex
            throw Malformed("remote element: " + error.what, at: min(offset, entity.count))
        }
        if let fault = visitor.fault {
            let offset = MarkupScanner.offset(ofElement: fault.element, in: document.rawSpan)
            throw Malformed(fault.what, at: content.startIndex + max(0, offset - root.count))
        }
        return content
    }

    private static func read(_ bytes: [UInt8], limit: Int, _ visitor: any XMLVisitor) throws(Malformed) {
        var limits = XMLLimits()
        limits.bytes = limit
        limits.elements = 2_000_000
        limits.attributes = 64
        limits.text = 1 << 20
        var reader = XMLReader(limits: limits)
        reader.allowsUndeclaredPrefixes = true
        let bytes = bytes.rawSpan
        for start in stride(from: 0, to: bytes.byteCount, by: 65_536) {
            try reader.read(bytes.extracting(start..<min(start + 65_536, bytes.byteCount)), telling: visitor)
        }
        try reader.finish(telling: visitor)
    }
}
