// SPDX-License-Identifier: Apache-2.0

import CarrelArchive
import CarrelBytes
import CarrelWorks
import CarrelXML

/// The content of an EPUB's package document (EPUB 3.3 §5, OPF 2.0.1).
struct EPUBPackage {
    private(set) var metadata: TitleMetadata
    /// The entry of its cover, if it names an existing one.
    private(set) var coverName: String?
    private(set) var warnings: [String] = []

    private static let limits = XMLLimits(bytes: 4 << 20, elements: 100_000)
    private static let container = "META-INF/container.xml"

    /// - Throws: ``IngestError`` when there is no container, and when contents are protected.
    init(_ archive: EditionArchive, path: String, untitled: MissingTitlePolicy) throws {
        metadata = TitleMetadata(title: try untitled.title(of: path))
        guard let container = try Self.document(Self.container, of: archive, path) else {
            throw IngestError(.malformed, path, "is an EPUB without \(Self.container)")
        }
        try Self.refuseProtection(archive, path)
        guard let name = container.child("rootfiles")?.child("rootfile")?["full-path"] else {
            throw IngestError(.malformed, path, "is an EPUB whose \(Self.container) names no package document")
        }
        let package: XMLElement?
        do {
            package = try Self.document(name, of: archive, path)
        } catch let error as IngestError {
            // The book may still be usable: readers are more lenient, and the operator can provide the title.
            warnings.append("\(path): \(error.reason); its title is taken from its name")
            return
        }
        guard let package else {
            throw IngestError(.malformed, path, "is an EPUB without its package document \"\(name)\"")
        }
        read(package)
        coverName = Self.cover(package, in: name)
        if let name = coverName, !archive.archive.entries.contains(where: { $0.name == name }) { coverName = nil }
    }

    private static func document(_ name: String, of archive: EditionArchive, _ path: String) throws -> XMLElement? {
        guard let bytes = try archive.content(of: name, limit: limits.bytes) else { return nil }
        do {
            return try XMLElement.parse(bytes.rawSpan, limits: limits, documentType: .skipped)
        } catch {
            throw IngestError(.malformed, path, "entry \"\(name)\" cannot be read: \(error)")
        }
    }

    /// Obscured fonts are not a protection (EPUB 3.3 §4.4); anything else that is encrypted needs its maker's key.
    private static func refuseProtection(_ archive: EditionArchive, _ path: String) throws {
        let fonts: Set<String> = ["http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC"]
        guard let encryption = try document("META-INF/encryption.xml", of: archive, path) else { return }
        for data in encryption.children where data.name.local == "EncryptedData" {
            guard let method = data.child("EncryptionMethod")?["Algorithm"], fonts.contains(method) else {
                let name = data.child("CipherData")?.child("CipherReference")?["URI"] ?? "something"
                throw IngestError(.protected, path, "is protected: \"\(PageHead.words(name, limit: 100))\" in it is encrypted")
            }
        }
    }

    private mutating func read(_ package: XMLElement) {
        let elements = package.child("metadata")?.children ?? []
        func all(_ name: String) -> [String] {
            elements.filter { $0.name.local == name && $0.name.namespace == "http://purl.org/dc/elements/1.1/" }
                .map { PageHead.words($0.text, limit: 5000) }.filter { !$0.isEmpty }
        }
        metadata.title = all("title").first.map { String($0.prefix(300)) } ?? metadata.title
        metadata.authors = all("creator").prefix(20).map { String($0.prefix(300)) }
        metadata.publisher = all("publisher").first
        metadata.language = all("language").first { $0.utf8.count <= 35 }
        metadata.description = all("description").first.map(Self.plain)
        metadata.published = all("date").first { $0.utf8.count <= 40 }
        metadata.isbn =
            all("identifier").lazy.compactMap { text in
                ISBN(text.lowercased().hasPrefix("urn:isbn:") ? String(text.dropFirst(9)) : text)
            }.first
    }

    /// Descriptions are often HTML: without its tags.
    private static func plain(_ text: String) -> String {
        var out = ""
        var isInTag = false
        for character in text {
            if character == "<" {
                isInTag = true
            } else if character == ">", isInTag {
                isInTag = false
                out.append(" ")
            } else if !isInTag {
                out.append(character)
            }
        }
        return PageHead.words(isInTag ? text : out, limit: 2000)
    }

    /// The manifest's cover image (EPUB 3.3 §D.7), or the one of EPUB 2's `meta name="cover"`.
    private static func cover(_ package: XMLElement, in documentName: String) -> String? {
        let items = package.child("manifest")?.children.filter { $0.name.local == "item" } ?? []
        let id = package.child("metadata")?.children.first { $0.name.local == "meta" && $0["name"] == "cover" }?["content"]
        let item =
            items.first { $0["properties"]?.split(separator: " ").contains("cover-image") == true }
            ?? items.first { $0["id"] == id && $0["media-type"]?.hasPrefix("image/") == true }
        guard let address = item?["href"], let path = decoded(address) else { return nil }
        var parts = documentName.split(separator: "/").dropLast().map(String.init)
        for part in path.split(separator: "/") {
            if part == ".." { _ = parts.popLast() } else if part != "." { parts.append(String(part)) }
        }
        return parts.joined(separator: "/")
    }

    private static func decoded(_ address: String) -> String? {
        var out: [UInt8] = []
        var remainder = Array(address.utf8)[...]
        while let byte = remainder.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                out.append(byte)
                continue
            }
            guard remainder.count >= 2, let value = UInt8(String(decoding: remainder.prefix(2), as: UTF8.self), radix: 16) else {
                return nil
            }
            out.append(value)
            remainder = remainder.dropFirst(2)
        }
        return String(validating: out, as: UTF8.self)
    }
}
