// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON

/// Detects the format of a file.
///
/// The name and the media type are hints. The content decides if it is conclusive; otherwise the hints do.
struct FormatSniffer {
    private let asset: PublicationAsset
    private let fetcher: any Fetcher

    /// Bytes that are looked at in one file.
    private static let headSize = 4096
    /// Bytes of a page that is looked through.
    private static let pageSize = 1 << 20

    init(_ asset: PublicationAsset, _ fetcher: any Fetcher) {
        self.asset = asset
        self.fetcher = fetcher
    }

    func sniff() async throws(ResourceError) -> Format {
        if let single = fetcher as? SingleResourceFetcher {
            return try await sniff(single.resource)
        }
        let isFolder = fetcher is FolderFetcher
        var format = try await container()
        // the password protects the content of entries, not their names
        if let archive = fetcher as? ArchiveFetcher, archive.isEncrypted { format.specifications.insert(.zipPassword) }
        if isFolder {
            format.specifications.remove(.zip)
            format.specifications.insert(.folder)
        }
        return format
    }

    /// The format by the name or the media type.
    private var hint: Format? {
        asset.mediaType.flatMap { Format(mediaType: $0) }
            ?? ResourcePath(decoded: asset.name)?.fileExtension.flatMap { Format(fileExtension: $0) }
    }

    // MARK: containers

    private func container() async throws(ResourceError) -> Format {
        let paths = try await fetcher.paths()
        let isEPUB = try await isEPUBByName(paths)
        if isEPUB || paths.contains("META-INF/container.xml") {
            var format = Format.epub
            if try await hasLCP(paths) {
                format.specifications.insert(.lcp)
            }
            if paths.contains("META-INF/rights.xml"), try await text("META-INF/rights.xml").contains("http://ns.adobe.com/adept")
            {
                format.specifications.insert(.adept)
            }
            return format
        }
        if paths.contains("manifest.json"), let format = try await package(paths) { return format }
        let hasManifest = try await hasLinkedManifest(paths)
        if hasManifest || paths.contains("publication.json") { return .lpf }
        if let format = Self.informal(paths) { return format }
        // an encrypted archive shows nothing; its name may
        if let hint, hint.conforms(to: .zip) { return hint }
        return .zip
    }

    private func isEPUBByName(_ paths: [ResourcePath]) async throws(ResourceError) -> Bool {
        guard paths.contains("mimetype") else { return false }
        return try await text("mimetype").hasPrefix("application/epub+zip")
    }

    private func hasLCP(_ paths: [ResourcePath]) async throws(ResourceError) -> Bool {
        if LicenseLocation(in: paths).isTaken { return true }
        guard paths.contains(EncryptionDocument.path) else { return false }
        return try await fetcher.document(EncryptionDocument.self).isLCP
    }

    /// A package with a Readium manifest (`manifest.json`).
    private func package(_ paths: [ResourcePath]) async throws(ResourceError) -> Format? {
        let document = try await fetcher.document(ManifestDocument.self)
        guard let json = document.json, var format = Self.manifest(json) else { return nil }
        let isProtected = LicenseLocation(in: paths).isTaken || document.isLCP
        if Self.conforms(json, to: .pdf) || Self.types(json).allSatisfy({ $0 == "application/pdf" }) && isProtected {
            format = isProtected ? .lcpProtectedPDF : Format.webPublicationPackage
        } else if format == .audiobookManifest {
            format = isProtected ? .lcpProtectedAudiobook : .audiobookPackage
        } else if format == .divinaManifest {
            format = isProtected ? .lcpProtectedDivina : .divinaPackage
        } else {
            format = .webPublicationPackage
            if isProtected { format.specifications.insert(.lcp) }
        }
        return format
    }

    /// A W3C audiobook or publication in an LPF archive may have its manifest in its primary entry page (LPF §4.2).
    private func hasLinkedManifest(_ paths: [ResourcePath]) async throws(ResourceError) -> Bool {
        guard paths.contains("index.html") else { return false }
        if paths.count == 1 { return true }
        return EntryPage(try await text("index.html")).manifest != nil
    }

    /// Detects an archive of only images, or only audio, with accompanying files.
    private static func informal(_ paths: [ResourcePath]) -> Format? {
        let visible = paths.filter { path in
            !path.string.split(separator: "/").contains { $0.hasPrefix(".") || $0 == "__MACOSX" }
                && path.name.lowercased() != "thumbs.db"
        }
        let extensions = visible.map { $0.fileExtension ?? "" }
        func isAll(_ main: Set<String>, _ others: Set<String>) -> Bool {
            extensions.contains(where: main.contains) && extensions.allSatisfy { main.contains($0) || others.contains($0) }
        }
        if isAll(pictures, ["acbf", "xml", "txt", "json"]) { return .cbz }
        if isAll(sounds, pictures.union(playlists).union(["txt", "nfo", "cue", "json"])) { return .zab }
        return nil
    }

    private static let pictures: Set<String> = ["avif", "bmp", "gif", "jpeg", "jpg", "jxl", "png", "tif", "tiff", "webp"]
    private static let sounds: Set<String> = [
        "aac", "aif", "aiff", "alac", "flac", "m4a", "m4b", "mp3", "mp4", "mka", "mogg", "oga", "ogg", "opus", "wav", "webm",
        "wma",
    ]
    private static let playlists: Set<String> = ["asx", "bio", "m3u", "m3u8", "pla", "pls", "smil", "vlc", "wpl", "xspf", "zpl"]

    // MARK: single files

    private func sniff(_ resource: any Resource) async throws(ResourceError) -> Format {
        let head = try await resource.read(0..<Int64(Self.headSize))
        if let format = Format.recognized(by: head) { return format }
        let text = String(decoding: head, as: UTF8.self).drop { $0.isWhitespace || $0 == "\u{feff}" }
        if text.hasPrefix("{"), let format = try await document(resource) { return format }
        if text.hasPrefix("<"), let format = Self.markup(text) { return format }
        return hint ?? .unknown
    }

    /// A JSON document by its members.
    private func document(_ resource: any Resource) async throws(ResourceError) -> Format? {
        guard let json = try await fetcher.document(ManifestDocument.self).json else {
            let head = try await resource.read(0..<Int64(Self.headSize))
            return Self.broken(String(decoding: head, as: UTF8.self)) ?? hint
        }
        let object = json.object
        func has(_ names: String...) -> Bool { names.allSatisfy { object?[$0] != nil } }
        let contexts = object?["@context"].map(Link.strings) ?? []
        if contexts.contains(where: {
            $0.hasPrefix("https://www.w3.org/ns/wp-context") || $0.hasPrefix("https://www.w3.org/ns/pub-context")
        }) {
            return .w3cPublicationManifest
        }
        let kinds = object?["conformsTo"].map(Link.strings) ?? []
        if has("readingOrder"), !has("metadata"),
            kinds.contains(where: { $0.contains("/TR/audiobooks") || $0.contains("/TR/pub-manifest") })
        {
            return .w3cPublicationManifest
        }
        if has("id", "issued", "provider", "encryption") { return .lcpLicense }
        if has("id", "authentication"), has("title") { return .opdsAuthentication }
        let relations = (object?["links"]?.array ?? []).flatMap { $0["rel"].map(Link.strings) ?? [] }
        if has("metadata"), relations.contains(where: { $0.hasPrefix("http://opds-spec.org/acquisition") }) {
            return .opds2Publication
        }
        if let format = Self.manifest(json) { return format }
        if has("metadata"), has("publications") || has("navigation") || has("groups") { return .opds2Catalog }
        return hint ?? .json
    }

    /// A JSON document that is too long or not well-formed, by the addresses that it names.
    private static func broken(_ text: String) -> Format? {
        if text.contains("https://www.w3.org/ns/wp-context") || text.contains("https://www.w3.org/ns/pub-context") {
            return .w3cPublicationManifest
        }
        return text.contains("http://opds-spec.org/auth/") ? .opdsAuthentication : nil
    }

    /// HTML, XHTML or an OPDS document by its first element.
    private static func markup(_ text: Substring) -> Format? {
        var rest = text
        while rest.hasPrefix("<?") || rest.hasPrefix("<!--") || rest.hasPrefix("<!") {
            guard let end = rest.firstRange(of: rest.hasPrefix("<!--") ? "-->" : ">") else { return nil }
            rest = rest[end.upperBound...].drop(while: \.isWhitespace)
        }
        let tag = rest.prefix { $0 != ">" }
        let name = tag.dropFirst().prefix { !$0.isWhitespace && $0 != "/" }.lowercased()
        let local = name.split(separator: ":").last.map(String.init) ?? name
        let isAtom = tag.contains("http://www.w3.org/2005/Atom")
        switch local {
        // XML says so at its beginning, or names its name space
        case "html": return text.hasPrefix("<?xml") || tag.contains("xmlns") ? .xhtml : .html
        case "feed" where isAtom: return .opds1Catalog
        case "entry" where isAtom: return .opds1Entry
        default: return nil
        }
    }

    // MARK: Readium manifests

    /// Detects the format of a Readium manifest by its declared type, or else by its links.
    private static func manifest(_ json: JSON) -> Format? {
        guard json["metadata"]?.object != nil, (json["readingOrder"] ?? json["spine"])?.array != nil else { return nil }
        let types = types(json).compactMap { MediaType($0) }
        let kind = json["metadata"]?["@type"]?.string ?? ""
        if conforms(json, to: .audiobook) || kind.hasSuffix("schema.org/Audiobook") { return .audiobookManifest }
        if conforms(json, to: .divina) { return .divinaManifest }
        if !types.isEmpty, types.allSatisfy(\.isAudio) { return .audiobookManifest }
        if !types.isEmpty, types.allSatisfy(\.isBitmap) { return .divinaManifest }
        return .webPublication
    }

    private static func conforms(_ json: JSON, to profile: Metadata.Profile) -> Bool {
        (json["metadata"]?["conformsTo"].map(Link.strings) ?? []).contains(profile.rawValue)
    }

    private static func types(_ json: JSON) -> [String] {
        ((json["readingOrder"] ?? json["spine"])?.array ?? []).compactMap { $0["type"]?.string }
    }

    // MARK: small documents in a container

    private func text(_ path: String) async throws(ResourceError) -> String {
        guard let bytes = try await small(path, Self.pageSize) else { return "" }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Reads an entry; returns nil if it is too long, damaged, or needs a password.
    private func small(_ path: String, _ limit: Int) async throws(ResourceError) -> [UInt8]? {
        guard let path = ResourcePath(decoded: path) else { return nil }
        do throws(ResourceError) {
            return try await fetcher.get(Link(path)).read(upTo: limit)
        } catch {
            if error.code == .unavailable || error.code == .cancelled { throw error }
            return nil
        }
    }
}
