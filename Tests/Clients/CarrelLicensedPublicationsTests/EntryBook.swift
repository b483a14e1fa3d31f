// SPDX-License-Identifier: Apache-2.0

import CarrelCrypto
import CarrelPlayerTesting
import CarrelTesting
import ProtectedPublications

/// An EPUB with a clear chapter and further entries, each clear or a DCF file.
enum EntryBook {
    struct Entry {
        var name: String
        /// The content ID of the DCF file; nil for a clear entry.
        var content: String?
        var key = BookWorld.key
        var type = "application/xhtml+xml"
        var bytes = Array(EntryBook.text.utf8)
        /// Whether it is in the reading order.
        var isPage = true
        var isCover = false
    }

    static let text = """
        <html xmlns="http://www.w3.org/1999/xhtml"><head><title>T</title></head><body><p>Words.</p></body></html>
        """

    /// Bytes that are recognized as a picture (PNG).
    static let picture: [UInt8] = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a] + [UInt8](repeating: 7, count: 100)

    /// Writes a book into the folder of a world.
    ///
    /// - Returns: its path.
    static func write(_ entries: [Entry], _ book: BookWorld) throws -> String {
        let path = book.world.directory.file("book.epub")
        let writer = try PackageWriter(path: path)
        func add(_ name: String, _ text: String) throws { try writer.add(name, Array(text.utf8)) }
        try add("mimetype", "application/epub+zip")
        try add(
            "META-INF/container.xml",
            """
            <?xml version="1.0"?><container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>
            <rootfile full-path="package.opf" media-type="application/oebps-package+xml"/></rootfiles></container>
            """
        )
        let all = [Entry(name: "clear.xhtml")] + entries
        let items = all.map {
            let cover = $0.isCover ? " properties=\"cover-image\"" : ""
            return "<item id=\"\($0.name)\" href=\"\($0.name)\" media-type=\"\($0.type)\"\(cover)/>"
        }
        let pages = all.filter(\.isPage).map { "<itemref idref=\"\($0.name)\"/>" }
        try add(
            "package.opf",
            """
            <?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id">
            <metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:identifier id="id">urn:test:entries</dc:identifier>
            <dc:title>Entries</dc:title><dc:language>en</dc:language></metadata><manifest>\(items.joined())</manifest>
            <spine>\(pages.joined())</spine></package>
            """
        )
        let list = entries.filter { $0.content != nil }.map {
            """
            <enc:EncryptedData><enc:EncryptionMethod Algorithm="http://www.w3.org/2001/04/xmlenc#aes128-cbc"/>\
            <enc:CipherData><enc:CipherReference URI="\($0.name)"/></enc:CipherData></enc:EncryptedData>
            """
        }
        if !list.isEmpty {
            try add(
                "META-INF/encryption.xml",
                "<encryption xmlns=\"urn:oasis:names:tc:opendocument:xmlns:container\" "
                    + "xmlns:enc=\"http://www.w3.org/2001/04/xmlenc#\">" + list.joined() + "</encryption>"
            )
        }
        for entry in all {
            var bytes = entry.bytes
            if let content = entry.content {
                bytes = try BookWorld.dcf(bytes, type: entry.type, content: content, key: entry.key)
            }
            try writer.add(entry.name, bytes)
        }
        try writer.finish()
        return path
    }
}
