// SPDX-License-Identifier: Apache-2.0

import CarrelJSON

extension Fetcher {
    /// The resources that a container declares encrypted: in `META-INF/encryption.xml` (EPUB 3.3 §4.2.6.3.2), or else by the
    /// `encrypted` property of the links in its `manifest.json` (Readium Web Publication Manifest, Encryption module). Obscured
    /// fonts are among them.
    ///
    /// The document is parsed only once while a publication is opened.
    ///
    /// - Parameter warnings: receives omitted entries.
    /// - Returns: the encryption of each resource, by its path, independent of the escaping of its address.
    /// - Throws: `resource.malformed` for an unreadable document; errors of reading.
    public func encryptedResources(
        warnings: (any WarningLogger)? = nil
    ) async throws(ResourceError) -> [ResourcePath: Encryption] {
        let document = try await self.document(EncryptionDocument.self)
        if let fault = document.fault { throw fault }
        for warning in document.warnings { warnings?.log(warning) }
        if !document.resources.isEmpty { return document.resources }
        switch try await self.document(ManifestDocument.self) {
        case .missing: return [:]
        case .broken(let fault): throw fault
        case .json(let json):
            let entries = Set(try await paths())
            var found: [ResourcePath: Encryption] = [:]
            for role in ["readingOrder", "spine", "resources", "links"] {
                Self.add(json[role]?.array ?? [], in: entries, to: &found)
            }
            return found
        }
    }

    private static func add(_ links: [JSON], in entries: Set<ResourcePath>, to found: inout [ResourcePath: Encryption]) {
        for link in links {
            if let href = link["href"]?.string, let object = link["properties"]?["encrypted"]?.object,
                let encryption = Encryption(object),
                let path = ResourcePath(href: href) ?? ResourcePath(absolute: href, in: entries)
            {
                found[path] = encryption
            }
            // the JSON reader limits how deep they nest
            for inner in ["alternate", "children"] { add(link[inner]?.array ?? [], in: entries, to: &found) }
        }
    }
}

extension ResourcePath {
    /// Creates a path from an absolute address of a resource in the package, which some packages contain.
    ///
    /// - Parameters:
    ///   - href: an address that begins with `http://` or `https://`.
    ///   - entries: the package's entries. Nil if the address's path is not one of them.
    init?(absolute href: String, in entries: Set<ResourcePath>) {
        guard href.hasPrefix("http://") || href.hasPrefix("https://") else { return nil }
        let authority = href.drop { $0 != ":" }.dropFirst(3)
        guard let slash = authority.firstIndex(of: "/"), let path = ResourcePath(href: authority[slash...]),
            entries.contains(path)
        else { return nil }
        self = path
    }
}
