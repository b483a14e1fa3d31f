// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelZlib

/// A ZIP archive that is made byte by byte, so that it can lie (PKWARE APPNOTE 6.3.10 §4.3).
struct MadeArchive {
    struct Entry {
        var name: [UInt8]
        /// The stored bytes in the archive.
        var packed: [UInt8]
        /// 0 is stored, 8 deflated.
        var method = 0
        var flags = 0x800
        var crc: UInt32
        /// The uncompressed size in the directory.
        var size: Int
        /// The compressed size in the directory; nil for the truth.
        var packedSize: Int?
        /// The offset in the directory; nil for the truth.
        var offset: Int?
        /// The name in the local header; nil for the truth.
        var localName: [UInt8]?
        /// Further fields of the local header (§4.5).
        var extra: [UInt8] = []

        /// An entry that is stored, or deflated where that makes it smaller.
        init(_ name: String, _ content: [UInt8], deflated: Bool = false) {
            self.name = Array(name.utf8)
            var checksum = CRC32()
            checksum.update(content.rawSpan)
            crc = checksum.value
            size = content.count
            packed = content
            guard deflated, let gzip = Gzip.compress(content, level: 6) else { return }
            // a member of gzip is a head of ten bytes, deflate, checksum and size (RFC 1952 §2.3)
            packed = Array(gzip[10..<gzip.count - 8])
            method = 8
        }

        init(_ name: String, _ content: String) { self.init(name, Array(content.utf8)) }
    }

    var entries: [Entry] = []
    /// The count in the end record; nil for the truth.
    var count: Int?
    var directorySize: Int?
    var directoryStart: Int?
    var comment: [UInt8] = []
    /// Bytes between the entries and the directory.
    var gap: [UInt8] = []

    init(_ entries: [Entry] = []) { self.entries = entries }

    mutating func add(_ name: String, _ content: String) { entries.append(Entry(name, content)) }

    var bytes: [UInt8] {
        var (out, directory): ([UInt8], [UInt8]) = ([], [])
        for entry in entries {
            func common(_ name: [UInt8]) -> [UInt8] {
                little(entry.flags, 2) + little(entry.method, 2) + little(0x5b6f_6000, 4) + little(Int(entry.crc), 4)
                    + little(entry.packedSize ?? entry.packed.count, 4) + little(entry.size, 4) + little(name.count, 2)
            }
            let local = entry.localName ?? entry.name
            directory += [0x50, 0x4b, 1, 2, 20, 3, 20, 0] + common(entry.name) + little(0, 12)
            directory += little(entry.offset ?? out.count, 4) + entry.name
            out += [0x50, 0x4b, 3, 4, 20, 0] + common(local) + little(entry.extra.count, 2) + local + entry.extra + entry.packed
        }
        out += gap
        let start = out.count
        out += directory
        out += [0x50, 0x4b, 5, 6, 0, 0, 0, 0] + little(count ?? entries.count, 2) + little(count ?? entries.count, 2)
        out += little(directorySize ?? directory.count, 4) + little(directoryStart ?? start, 4) + little(comment.count, 2)
        return out + comment
    }

    private func little(_ value: Int, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }
}

extension MadeArchive {
    static let container = """
        <?xml version="1.0"?><container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>
        <rootfile full-path="EPUB/package.opf" media-type="application/oebps-package+xml"/></rootfiles></container>
        """
    static let package = """
        <package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id">
        <metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:identifier id="id">urn:x</dc:identifier><dc:title>Book</dc:title>
        <dc:language>en</dc:language></metadata>
        <manifest><item id="nav" href="nav.xhtml" properties="nav" media-type="application/xhtml+xml"/>
        <item id="c" href="c.xhtml" media-type="application/xhtml+xml"/></manifest><spine><itemref idref="c"/></spine></package>
        """
    static let navigation = """
        <html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops"><body><nav epub:type="toc"><ol>
        <li><a href="c.xhtml">One</a></li></ol></nav></body></html>
        """

    /// A small EPUB; the given files replace its own.
    static func epub(_ files: [String: [UInt8]] = [:], deflated: Bool = true) -> MadeArchive {
        var all: [String: [UInt8]] = [
            "META-INF/container.xml": Array(container.utf8), "EPUB/package.opf": Array(package.utf8),
            "EPUB/nav.xhtml": Array(navigation.utf8), "EPUB/c.xhtml": Array("<html/>".utf8),
        ]
        all.merge(files) { $1 }
        let rest = all.sorted { $0.key < $1.key }.map { Entry($0.key, $0.value, deflated: deflated) }
        return MadeArchive([Entry("mimetype", "application/epub+zip")] + rest)
    }
}
