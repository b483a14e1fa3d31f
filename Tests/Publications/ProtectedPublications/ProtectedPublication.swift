// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelZlib

/// A publication of any size that this makes: encrypted as Readium LCP says (§2, §3), with its license in it; or the same in the
/// clear.
package struct ProtectedPublication: Sendable {
    package let path: String
    /// Nil if it is not protected.
    package let license: [UInt8]?
    /// 32 bytes.
    package let contentKey: [UInt8]

    /// Whether it is encrypted, and by whom.
    package enum Protection: Sendable {
        case none
        case lcp(LicenseProvider, LicenseProvider.Terms)
    }

    /// An EPUB 3 with chapters in its spine.
    ///
    /// - Parameters:
    ///   - path: where to.
    ///   - chapters: how many.
    ///   - names: of further chapters, as their entries are called.
    ///   - protection: chapters are deflated before they are encrypted.
    /// - Returns: the publication.
    /// - Throws: what writing and signing throw.
    package static func epub(
        at path: String,
        chapters: Int,
        names: [String] = [],
        _ protection: Protection = .none
    ) async throws -> ProtectedPublication {
        let made = Maker(path, protection)
        let writer = try PackageWriter(path: path)
        try writer.add("mimetype", Array("application/epub+zip".utf8))
        try writer.add("META-INF/container.xml", EPUBText.container)
        let all = (0..<chapters).map { "chapter-\($0).xhtml" } + names
        try writer.add("OEBPS/content.opf", EPUBText.package(all))
        try writer.add("OEBPS/nav.xhtml", EPUBText.navigation(all))
        var encryption = EPUBText.encryptionStart
        for (number, name) in all.enumerated() {
            let text = chapter(number)
            guard made.isProtected else {
                try writer.add("OEBPS/\(name)", text)
                continue
            }
            try writer.add("OEBPS/\(name)", under: made.key, [deflated(text)])
            encryption += EPUBText.encryption(of: "OEBPS/\(name)", length: text.count)
        }
        if made.isProtected {
            try writer.add("META-INF/encryption.xml", Array((encryption + "</encryption>").utf8))
        }
        return try await made.finish(writer, "META-INF/license.lcpl", "application/epub+zip")
    }

    /// A PDF in a package (`.lcpdf`), whose bytes are ``content(_:)``.
    package static func pdf(at path: String, byteCount: Int64, _ protection: Protection) async throws -> ProtectedPublication {
        try await package(
            at: path,
            entries: [Entry(name: "publication.pdf", mediaType: "application/pdf", byteCount: byteCount)],
            profile: "https://readium.org/webpub-manifest/profiles/pdf",
            type: "application/pdf+lcp",
            protection
        )
    }

    /// An audiobook (`.lcpa`), the bytes of whose tracks are ``content(_:)``.
    package static func audiobook(
        at path: String,
        tracks: Int,
        byteCount: Int64,
        _ protection: Protection
    ) async throws -> ProtectedPublication {
        try await package(
            at: path,
            entries: (0..<tracks).map { Entry(name: "track \($0).mp3", mediaType: "audio/mpeg", byteCount: byteCount) },
            profile: "https://readium.org/webpub-manifest/profiles/audiobook",
            type: "application/audiobook+lcp",
            protection
        )
    }

    /// A web publication (`.webpub`) of chapters that are deflated before they are encrypted.
    package static func webpub(at path: String, chapters: Int, _ protection: Protection) async throws -> ProtectedPublication {
        try await package(
            at: path,
            entries: (0..<chapters).map { Entry(name: "chapter \($0).html", mediaType: "text/html", byteCount: nil) },
            profile: "https://readium.org/webpub-manifest/profiles/epub",
            type: "application/webpub+zip",
            protection
        )
    }

    /// The bytes of a range of a PDF or a track; the same for all.
    package static func content(_ range: Range<Int64>) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Int(range.upperBound - range.lowerBound))
        var at = range.lowerBound
        while at < range.upperBound {
            let start = Int(at % Int64(pattern.count))
            let end = min(pattern.count, start + Int(range.upperBound - at))
            bytes += pattern[start..<end]
            at += Int64(end - start)
        }
        return bytes
    }

    /// The text of a chapter.
    package static func chapter(_ number: Int) -> [UInt8] {
        let words = (0..<40).map { "<p>Sentence \($0) of chapter \(number), and some words that come again.</p>" }.joined()
        return Array(
            ("<html xmlns=\"http://www.w3.org/1999/xhtml\"><head><title>\(number)</title></head><body>\(words)</body></html>")
                .utf8
        )
    }

    /// A pattern of prime length, so that a range that is off by a block or a piece is detected.
    private static let pattern: [UInt8] = {
        var state: UInt64 = 11
        return Array("%PDF-1.7\n".utf8)
            + (9..<65_521).map { _ in
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return UInt8(truncatingIfNeeded: state >> 33)
            }
    }()

    private struct Entry {
        let name: String
        let mediaType: String
        /// Nil for a chapter.
        let byteCount: Int64?
    }

    private static func package(
        at path: String,
        entries: [Entry],
        profile: String,
        type: String,
        _ protection: Protection
    ) async throws -> ProtectedPublication {
        let made = Maker(path, protection)
        let writer = try PackageWriter(path: path)
        var links: [String] = []
        for (number, entry) in entries.enumerated() {
            let text = entry.byteCount == nil ? chapter(number) : []
            let length = entry.byteCount ?? Int64(text.count)
            let key = made.isProtected ? made.key : nil
            if entry.byteCount == nil {
                try writer.add(entry.name, under: key, [key == nil ? text : deflated(text)])
            } else {
                let starts = stride(from: 0, to: length, by: 1 << 20)
                try writer.add(entry.name, under: key, starts.lazy.map { content($0..<min(length, $0 + 1 << 20)) })
            }
            let compression = entry.byteCount == nil ? #","compression":"deflate""# : ""
            let properties =
                made.isProtected
                ? #","properties":{"encrypted":{"scheme":"http://readium.org/2014/01/lcp","profile":"\#(LicenseProvider.profile)","#
                    + #""algorithm":"\#(LicenseProvider.cipher)"\#(compression),"originalLength":\#(length)}}"# : ""
            links.append(
                #"{"href":"\#(entry.name.split(separator: " ").joined(separator: "%20"))","type":"\#(entry.mediaType)"\#(properties)}"#
            )
        }
        let manifest =
            #"{"@context":"https://readium.org/webpub-manifest/context.jsonld","metadata":{"title":"A protected one","#
            + #""conformsTo":"\#(profile)"},"readingOrder":[\#(links.joined(separator: ","))]}"#
        try writer.add("manifest.json", Array(manifest.utf8))
        return try await made.finish(writer, "license.lcpl", type)
    }

    /// Raw deflate (RFC 1951): what is in a gzip member (RFC 1952 §2.3).
    private static func deflated(_ bytes: [UInt8]) -> [UInt8] {
        guard let member = Gzip.compress(bytes, level: 9) else { preconditionFailure("the text is too short to be deflated") }
        return Array(member[10..<member.count - 8])
    }

    /// The common parts of all kinds.
    private struct Maker {
        let path: String
        let protection: Protection
        let bytes: [UInt8]
        let key: Secret

        init(_ path: String, _ protection: Protection) {
            self.path = path
            self.protection = protection
            bytes = Secret.random(count: 32).withBytes { [UInt8](copying: $0) }
            key = Secret(bytes)
        }

        var isProtected: Bool { if case .none = protection { false } else { true } }

        func finish(_ writer: PackageWriter, _ name: String, _ type: String) async throws -> ProtectedPublication {
            var license: [UInt8]?
            if case .lcp(let provider, let terms) = protection {
                let document = try await provider.license(terms, key: bytes, type: type)
                try writer.add(name, document)
                license = document
            }
            try writer.finish()
            return ProtectedPublication(path: path, license: license, contentKey: bytes)
        }
    }
}
