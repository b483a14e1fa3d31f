// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelWorks
import CarrelXML

/// The feed of an edition's pages (RFC 4287), stored next to them as `content.xml`: the order in which an app shows them.
struct EditionFeed {
    struct Page {
        let path: String
        let title: String
        let mediaType: String
        /// When its bytes came to be at its path.
        let changedAt: Instant
    }

    static let path = "content.xml"
    static let mediaType = "application/atom+xml"

    let productID: String
    let metadata: TitleMetadata
    /// When the edition got these contents.
    let changedAt: Instant
    let pages: [Page]

    /// The document. Its addresses are relative to itself.
    func write() -> [UInt8] {
        var writer = XMLWriter()
        writer.start("feed", ["xmlns": "http://www.w3.org/2005/Atom"])
        writer.element("id", text: productID)
        writer.element("title", text: metadata.title)
        writer.element("updated", text: changedAt.description)
        for author in metadata.authors.isEmpty ? [metadata.publisher ?? metadata.title] : metadata.authors {
            writer.start("author")
            writer.element("name", text: author)
            writer.end()
        }
        writer.element("link", ["rel": "self", "type": "application/atom+xml", "href": Self.path])
        for page in pages {
            writer.newLine()
            writer.start("entry")
            writer.element("id", text: "urn:carrel:page:\(Self.address(productID)):\(Self.address(page.path))")
            writer.element("title", text: page.title)
            writer.element("updated", text: page.changedAt.description)
            writer.element("link", ["rel": "alternate", "type": page.mediaType, "href": Self.address(page.path)])
            writer.element("summary", ["type": "text"], text: page.title)
            writer.end()
        }
        return writer.finish()
    }

    /// A path as an address: everything but unreserved characters and slashes is escaped (RFC 3986 §2).
    static func address(_ path: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var out: [UInt8] = []
        for byte in path.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, 0x2d, 0x2e, 0x5f, 0x7e, 0x2f: out.append(byte)
            default: out += [0x25, digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: out, as: UTF8.self)
    }
}
