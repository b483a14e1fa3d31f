// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP

/// The documents of an EPUB (EPUB 3.3 §4, §5, §7).
enum EPUBText {
    static let container = Array(
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>
        <rootfile full-path="OEBPS/content.opf" media-type="application/oebps-package+xml"/></rootfiles></container>
        """.utf8
    )

    static let encryptionStart = """
        <?xml version="1.0" encoding="UTF-8"?>
        <encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container" xmlns:enc="http://www.w3.org/2001/04/xmlenc#" \
        xmlns:ds="http://www.w3.org/2000/09/xmldsig#">
        """

    static func package(_ names: [String]) -> [UInt8] {
        let items = names.enumerated().map { number, name in
            "<item id=\"c\(number)\" href=\"\(PercentEncoding.encode(name))\" media-type=\"application/xhtml+xml\"/>\n"
        }
        return Array(
            """
            <?xml version="1.0" encoding="UTF-8"?>
            <package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id">
            <metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:identifier id="id">urn:uuid:0d7c9b1a-6f0e-4c51-9a36-3c1c2f1c9e77\
            </dc:identifier><dc:title>A long book</dc:title><dc:language>en</dc:language>
            <meta property="dcterms:modified">2026-11-01T10:00:00Z</meta></metadata>
            <manifest><item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>
            \(items.joined())</manifest>
            <spine>\(names.indices.map { "<itemref idref=\"c\($0)\"/>" }.joined())</spine></package>
            """.utf8
        )
    }

    static func navigation(_ names: [String]) -> [UInt8] {
        let items = names.prefix(100).enumerated().map { "<li><a href=\"\(PercentEncoding.encode($1))\">Chapter \($0)</a></li>" }
        return Array(
            """
            <html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops"><head><title>Contents</title></head>
            <body><nav epub:type="toc"><ol>\(items.joined())</ol></nav></body></html>
            """.utf8
        )
    }

    static func encryption(of path: String, length: Int) -> String {
        """
        <enc:EncryptedData><enc:EncryptionMethod Algorithm="\(LicenseProvider.cipher)"/><ds:KeyInfo><ds:RetrievalMethod \
        URI="license.lcpl#/encryption/content_key" Type="http://readium.org/2014/01/lcp#EncryptedContentKey"/></ds:KeyInfo>\
        <enc:CipherData><enc:CipherReference URI="\(path.split(separator: "/").map(PercentEncoding.encode).joined(separator: "/"))"/>\
        </enc:CipherData><enc:EncryptionProperties><enc:EncryptionProperty>\
        <ns:Compression xmlns:ns="http://www.idpf.org/2016/encryption#compression" Method="8" OriginalLength="\(length)"/>\
        </enc:EncryptionProperty></enc:EncryptionProperties></enc:EncryptedData>

        """
    }
}
