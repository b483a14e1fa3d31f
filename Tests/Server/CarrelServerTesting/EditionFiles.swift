// SPDX-License-Identifier: Apache-2.0

package import CarrelTesting
import Glibc

/// Editions of every kind, made by the test.
package enum EditionFiles {
    /// A folder of two pages, a picture and a style.
    package static func folder(_ directory: TemporaryDirectory, _ name: String = "issue") -> String {
        for folder in ["", "/pages", "/pics"] { unsafe mkdir("\(directory.file(name))\(folder)", 0o700) }
        let page = "<!doctype html><html lang=\"en-GB\"><head><title>Issue &amp; Co</title><meta name=author content='A. Writer'>"
        directory.write("\(name)/index.html", Array("\(page)</head><a href=pages/2.html>on</a></html>".utf8))
        directory.write("\(name)/pages/2.html", Array("<html><title>Second</title><img src=../pics/a.png></html>".utf8))
        directory.write("\(name)/pages/10.html", Array("<html><title>Tenth</title></html>".utf8))
        directory.write(
            "\(name)/pics/a.png",
            [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a] + Array(repeating: 7, count: 3000)
        )
        directory.write("\(name)/style.css", Array("body { color: black }".utf8))
        return directory.file(name)
    }

    package static let container = """
        <?xml version="1.0"?><container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0"><rootfiles>
        <rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>
        """
    package static let opf = """
        <?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id">
        <metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:identifier id="id">urn:isbn:9780306406157</dc:identifier>
        <dc:title>The &lt;Book&gt;</dc:title><dc:creator>Ann Author</dc:creator><dc:language>da</dc:language>
        <dc:description>&lt;p&gt;Good.&lt;/p&gt;</dc:description></metadata>
        <manifest><item id="c" href="pics/my%20cover.png" media-type="image/png" properties="cover-image"/></manifest><spine/></package>
        """

    /// The entries of an EPUB.
    package static func epub(_ more: [StoredZip.Entry] = []) -> [UInt8] {
        StoredZip.write(
            [
                .init("mimetype", "application/epub+zip"), .init("META-INF/container.xml", container),
                .init("OEBPS/book.opf", opf),
                .init("OEBPS/pics/my cover.png", bytes: [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3]),
            ] + more
        )
    }

    package static let pdf = Array(
        """
        %PDF-1.4
        1 0 obj << /Type /Catalog >> endobj
        11 0 obj << /Title (Wrong) >> endobj
        2 0 obj << /Title (A \\(small\\) P\\344per) /Author <FEFF00C60062> >> endobj
        trailer << /Root 1 0 R /Info 2 0 R >>
        %%EOF

        """.utf8
    )
}

/// ZIP archives whose entries are stored, right or wrong as the test wants them.
package enum StoredZip {
    package struct Entry {
        package var name: String
        package var bytes: [UInt8]
        package var flags: UInt16 = 1 << 11
        package var attributes: UInt32 = 0o100644 << 16

        package init(_ name: String, _ text: String) {
            self.init(name, bytes: Array(text.utf8))
        }

        package init(_ name: String, bytes: [UInt8]) {
            self.name = name
            self.bytes = bytes
        }

        /// A symbolic link.
        package static func link(_ name: String, to target: String) -> Entry {
            var entry = Entry(name, target)
            entry.attributes = 0o120777 << 16
            return entry
        }

        /// An entry that says that it needs a password.
        package static func locked(_ name: String) -> Entry {
            var entry = Entry(name, "0123456789abcdef")
            entry.flags |= 1
            return entry
        }
    }

    package static func write(_ entries: [Entry]) -> [UInt8] {
        var out: [UInt8] = []
        var directory: [UInt8] = []
        func append(_ value: some FixedWidthInteger, to bytes: inout [UInt8]) {
            for shift in stride(from: 0, to: value.bitWidth, by: 8) { bytes.append(UInt8(truncatingIfNeeded: value >> shift)) }
        }
        for entry in entries {
            var common: [UInt8] = []
            for field in [20, entry.flags, 0, 0, 0x21] { append(field, to: &common) }
            for field in [crc(entry.bytes), UInt32(entry.bytes.count), UInt32(entry.bytes.count)] { append(field, to: &common) }
            for field in [UInt16(entry.name.utf8.count), 0] { append(field, to: &common) }
            let start = UInt32(out.count)
            append(UInt32(0x0403_4b50), to: &out)
            out += common + Array(entry.name.utf8) + entry.bytes
            append(UInt32(0x0201_4b50), to: &directory)
            append(UInt16(3 << 8 | 20), to: &directory)
            directory += common
            for field in [UInt16(0), 0, 0] { append(field, to: &directory) }
            append(entry.attributes, to: &directory)
            append(start, to: &directory)
            directory += Array(entry.name.utf8)
        }
        let start = UInt32(out.count)
        out += directory
        append(UInt32(0x0605_4b50), to: &out)
        for field in [UInt16(0), 0, UInt16(entries.count), UInt16(entries.count)] { append(field, to: &out) }
        append(UInt32(directory.count), to: &out)
        append(start, to: &out)
        append(UInt16(0), to: &out)
        return out
    }

    /// One bit at a time, unlike what it is compared with.
    private static func crc(_ bytes: [UInt8]) -> UInt32 {
        var crc: UInt32 = 0xffff_ffff
        for byte in bytes {
            crc ^= UInt32(byte)
            for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xedb8_8320 : crc >> 1 }
        }
        return ~crc
    }
}
