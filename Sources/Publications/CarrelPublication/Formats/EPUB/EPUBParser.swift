// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelXML

/// Opens EPUB 2 and EPUB 3 publications, zipped or unpacked.
struct EPUBParser: PublicationParser {
    private static let containerPath: ResourcePath = "META-INF/container.xml"
    private static let mimetype: ResourcePath = "mimetype"

    func parse(
        _ asset: PublicationAsset,
        format: Format,
        fetcher: any Fetcher,
        warnings: (any WarningLogger)?
    ) async throws(Publication.OpeningError) -> Publication.Builder? {
        guard format.conforms(to: .epub) else { return nil }
        let warnings = Warnings(warnings)
        do throws(ResourceError) {
            let package = try await Self.package(fetcher, warnings)
            let document = try await fetcher.document(EncryptionDocument.self)
            if let fault = document.fault { warnings.add(.major, fault.message) }
            for warning in document.warnings { warnings.logger?.log(warning) }
            let encryption = document.fault == nil ? document.resources : [:]
            var links = EPUBManifest(package, encryption, warnings)
            var manifest = links.manifest(untitled: asset.name)
            if package.majorVersion < 3, manifest.metadata.layout == nil {
                try await DisplayOptions.add(to: &manifest.metadata, fetcher, warnings)
            }
            try await Self.addNavigation(to: &manifest, package, fetcher, warnings)
            if fetcher.get(Link(Self.mimetype)) is FailingResource {
                warnings.add(.minor, "\"\(Self.mimetype)\" is not there")
            }
            if warnings.logger != nil { Self.checkReadingOrder(of: manifest, fetcher, warnings) }
            try await LockedDocuments.refuse(in: manifest, fetcher, warnings)
            let identifier = package.uniqueIdentifier
            let cleared = TransformingFetcher(fetcher) { resource in
                guard let path = resource.link.path, let algorithm = encryption[path]?.algorithm,
                    let font = FontObfuscation(algorithm: algorithm, identifier: identifier)
                else { return resource }
                return font.clear(resource)
            }
            return Publication.Builder(manifest: manifest, format: format, fetcher: cleared)
        } catch {
            // a container without its documents is a broken publication, not a missing file
            throw error.code == .notFound
                ? Publication.OpeningError(.parsingFailed, error.message) : Publication.OpeningError(error)
        }
    }

    private static func checkReadingOrder(of manifest: Manifest, _ fetcher: any Fetcher, _ warnings: Warnings) {
        for link in manifest.readingOrder
        where fetcher.storedLength(of: link) == nil && link.path != nil && fetcher.get(link) is FailingResource {
            warnings.add(.major, "\"\(link.href)\" of the reading order is not in the container")
        }
    }

    private static func package(_ fetcher: any Fetcher, _ warnings: Warnings) async throws(ResourceError) -> PackageDocument {
        let container = try await EPUBDocument.read(containerPath, fetcher)
        let roots = container.child("rootfiles")?.all("rootfile") ?? []
        let root = roots.first { $0["media-type"] == "application/oebps-package+xml" } ?? roots.first
        // full-path is a path, and some write it as an address
        guard let text = root?["full-path"], let path = ResourcePath(decoded: text) else {
            throw ResourceError(.malformed, "\"\(containerPath)\" names no package document")
        }
        if roots.count > 1 { warnings.add(.minor, "\"\(containerPath)\" names \(roots.count) renditions; the first is opened") }
        do throws(ResourceError) {
            return try await PackageDocument.read(path, fetcher, warnings)
        } catch  where error.code == .notFound {
            guard let other = ResourcePath(href: text), other != path else { throw error }
            return try await PackageDocument.read(other, fetcher, warnings)
        }
    }

    /// Table of contents, page list, landmarks and further lists, from the navigation document or else the NCX.
    private static func addNavigation(
        to manifest: inout Manifest,
        _ package: PackageDocument,
        _ fetcher: any Fetcher,
        _ warnings: Warnings
    ) async throws(ResourceError) {
        if let path = package.items.first(where: { $0.properties.contains("nav") })?.path {
            let lists = try await lists(path, fetcher, warnings)
            manifest.tableOfContents = lists["toc"] ?? []
            let names = ["page-list": "pageList"]
            for (type, links) in lists where !links.isEmpty && !Manifest.members.contains(type) {
                manifest.subcollections[names[type] ?? type] = [PublicationCollection(links: links)]
            }
        }
        if manifest.tableOfContents.isEmpty, let path = ncx(package), let document = try await contents(path, fetcher, warnings) {
            manifest.tableOfContents = document.contents
            if manifest.pageList.isEmpty, !document.pages.isEmpty {
                manifest.subcollections["pageList"] = [PublicationCollection(links: document.pages)]
            }
            manifest.subcollections.merge(document.lists) { mine, _ in mine }
        }
        if manifest.landmarks.isEmpty, !package.guide.isEmpty {
            manifest.subcollections["landmarks"] = [PublicationCollection(links: package.guide)]
        }
        if manifest.tableOfContents.isEmpty { warnings.add(.moderate, "the publication has no table of contents") }
    }

    /// The path of the NCX: the item that the spine names, or else the first of its type.
    private static func ncx(_ package: PackageDocument) -> ResourcePath? {
        let item =
            package.items.first { $0.id == package.ncxID }
            ?? package.items.first { $0.mediaType?.essence == "application/x-dtbncx+xml" }
        return item?.path
    }

    /// Reads the NCX; returns nil if it is unreadable.
    private static func contents(
        _ path: ResourcePath,
        _ fetcher: any Fetcher,
        _ warnings: Warnings
    ) async throws(ResourceError) -> NCXDocument? {
        var cutOff: Malformed?
        let root = try await EPUBDocument.optional(warnings) { () async throws(ResourceError) in
            let beginning = try await EPUBDocument.readBeginning(of: path, fetcher)
            cutOff = beginning.cutOff
            return beginning.root
        }
        if let cutOff { warnings.add(.moderate, Self.cutOff(path, cutOff)) }
        return root.map { NCXDocument($0, at: path) }
    }

    private static func cutOff(_ path: ResourcePath, _ limit: Malformed) -> String {
        "the end of the contents in \"\(path)\" is left out: \(limit)"
    }

    /// Reads the lists of a navigation document; returns none if it is unreadable.
    private static func lists(
        _ path: ResourcePath,
        _ fetcher: any Fetcher,
        _ warnings: Warnings
    ) async throws(ResourceError) -> [String: [Link]] {
        do throws(ResourceError) {
            let document = try await NavigationDocument.read(path, fetcher)
            if let limit = document.cutOff { warnings.add(.moderate, cutOff(path, limit)) }
            return document.lists
        } catch {
            guard error.code != .unavailable, error.code != .cancelled else { throw error }
            warnings.add(.moderate, error.message)
            return [:]
        }
    }
}
