// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelZlib

extension PDFMetadata {
    /// Bytes of an XMP packet, stored and unpacked.
    private static let packetLimit = 1 << 20

    /// - Parameters:
    ///   - trailer: the trailer of the document.
    ///   - root: the catalog.
    init(_ trailer: borrowing PDFObject, _ root: borrowing PDFObject) {
        let packet = Self.packet(root["/Metadata"])
        let information = trailer["/Info"]
        title = packet?.title ?? information["/Title"].text
        authors = packet?.authors ?? []
        if authors.isEmpty { authors = Self.list(information["/Author"].text, ";") }
        publishers = packet?.publishers ?? []
        description = packet?.description ?? information["/Subject"].text
        subjects = packet?.subjects ?? []
        if subjects.isEmpty, let words = information["/Keywords"].text {
            subjects = Self.list(words, words.contains(";") ? ";" : ",")
        }
        languages = packet?.languages ?? []
        if languages.isEmpty { languages = root["/Lang"].text.map { [$0] } ?? [] }
        modified = packet?.modified ?? information["/ModDate"].text.flatMap(PDFText.date)
        identifier = packet?.identifier
        if identifier == nil, let id = trailer["/ID"][0].bytes, !id.isEmpty { identifier = Hex.encode(id) }
    }

    private static func list(_ text: String?, _ separator: Character) -> [String] {
        (text ?? "").split(separator: separator).map { PDFText.printable(String($0)) }.filter { !$0.isEmpty }
    }

    /// The XMP packet, plain or deflated. Unpacked here, because libqpdf unpacks without a limit.
    private static func packet(_ stream: borrowing PDFObject) -> XMPPacket? {
        guard let stored = stream.storedBytes(upTo: packetLimit) else { return nil }
        let filter = stream.dictionary["/Filter"]
        var name = filter.name
        if filter.count == 1 { name = filter[0].name }
        if filter.isNull || filter.isArray && filter.count == 0 { return XMPPacket(stored.rawSpan) }
        guard name == "/FlateDecode", stored.count > 2 else { return nil }
        // after the two bytes of zlib's header
        var bytes: [UInt8] = []
        let packed = stored.rawSpan.extracting(2..<stored.count)
        guard let step = try? Inflater().inflate(packed, into: &bytes, atMost: packetLimit), step.isAtEnd else { return nil }
        return XMPPacket(bytes.rawSpan)
    }
}
