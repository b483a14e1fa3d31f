// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import CarrelXML

extension MPD {
    /// Entries of timelines that are walked through for the numbers of all representations together, at most.
    package static let timelineLimit = 4 << 20

    /// Reads an MPD.
    ///
    /// Unknown elements and attributes are skipped. Element namespaces are ignored: early MPDs have others.
    ///
    /// - Parameters:
    ///   - bytes: the whole document.
    ///   - limit: maximum size in bytes.
    /// - Returns: the MPD; its remote elements are listed in ``links`` and not fetched.
    /// - Throws: the fault, at the byte of the element, or where the XML is not well-formed.
    package static func parse(_ bytes: RawSpan, limit: Int = 64 << 20) throws(Malformed) -> MPD {
        var limits = XMLLimits()
        limits.bytes = limit
        limits.elements = 2_000_000
        limits.attributes = 64
        limits.text = 1 << 20
        var reader = XMLReader(limits: limits)
        reader.allowsUndeclaredPrefixes = true
        let visitor = MPDVisitor()
        var offset = 0
        while offset < bytes.byteCount, visitor.fault == nil {
            let end = min(offset + 65_536, bytes.byteCount)
            try reader.read(bytes.extracting(offset..<end), telling: visitor)
            offset = end
        }
        if visitor.fault == nil { try reader.finish(telling: visitor) }
        if let fault = visitor.fault {
            throw Malformed(fault.what, at: MarkupScanner.offset(ofElement: fault.element, in: bytes))
        }
        guard let mpd = visitor.mpd else { throw Malformed("document is not an MPD", at: 0) }
        var timelines = MPDTimelines(keepsRuns: false, workLimit: timelineLimit)
        try mpd.forEachStream(url: nil) { stream throws(Malformed) in
            do throws(Malformed) {
                try stream.checkAddresses()
                if stream.hasInformationOfItsOwn { _ = try stream.segments(&timelines) }
            } catch {
                let position = stream.position
                let element = visitor.elements[[position.period, position.adaptationSet, position.representation]] ?? 0
                throw Malformed(error.what, at: MarkupScanner.offset(ofElement: element, in: bytes))
            }
        }
        return mpd
    }
}
