import CarrelBytes
import CarrelXML

/// Opens EPUB 2 and EPUB 3 publications, zipped or unpacked.
struct EPUBParser: PublicationParser {
    private static let containerPath: ResourcePath = "META-INF/container.xml"

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
            let document = try await fetcher.containerDocuments.encryption(fetcher)
            if let fault = document.fault { warnings.add(.major, fault.message) }
            for warning in document.warnings { warnings.logger?.log(warning) }
            let encryption = document.fault == nil ? document.resources : [:]
            var manifest = EPUBManifest(package, encryption, warnings).manifest(untitled: asset.name)
            try await Self.addNavigation(to: &manifest, package, fetcher, warnings)
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

    private static func package(_ fetcher: any Fetcher, _ warnings: Warnings) async throws(ResourceError) -> PackageDocument {
        let container = try await EPUBDocument.read(containerPath, fetcher)
        let roots = container.child("rootfiles")?.all("rootfile") ?? []
        let root = roots.first { $0["media-type"] == "application/oebps-package+xml" } ?? roots.first
        // full-path is a path, and some write it as an address
        guard let text = root?["full-path"], let path = ResourcePath(decoded: text) else {
            throw ResourceError(.malformed, "\"\(containerPath)\" names no package document")
        }
        if roots.count > 1 { warnings.add(.minor, "the publication has several renditions; the first is opened") }
        do throws(ResourceError) {
            return try PackageDocument(try await EPUBDocument.read(path, fetcher), at: path, warnings)
        } catch  where error.code == .notFound {
            guard let other = ResourcePath(href: text), other != path else { throw error }
            return try PackageDocument(try await EPUBDocument.read(other, fetcher), at: other, warnings)
        }
    }

    /// A document that may be missing, and whose faults a reader can do without.
    private static func optional(
        _ path: ResourcePath,
        _ fetcher: any Fetcher,
        _ warnings: Warnings
    ) async throws(ResourceError) -> XMLElement? {
        do throws(ResourceError) {
            return try await EPUBDocument.read(path, fetcher)
        } catch {
            switch error.code {
            case .notFound: return nil
            case .malformed, .tooLarge, .forbidden, .decryption:
                warnings.add(.major, error.message)
                return nil
            default: throw error
            }
        }
    }

    /// Table of contents, page list, landmarks and further lists, from the navigation document or else the NCX.
    private static func addNavigation(
        to manifest: inout Manifest,
        _ package: PackageDocument,
        _ fetcher: any Fetcher,
        _ warnings: Warnings
    ) async throws(ResourceError) {
        if let path = package.items.first(where: { $0.properties.contains("nav") })?.path,
            let bytes = try await bytes(path, fetcher, warnings)
        {
            do throws(Malformed) {
                let lists = try NavigationDocument(bytes.rawSpan, at: path).lists
                manifest.tableOfContents = lists["toc"] ?? []
                let names = ["page-list": "pageList"]
                for (type, links) in lists where type != "toc" && !links.isEmpty {
                    manifest.subcollections[names[type] ?? type] = [PublicationCollection(links: links)]
                }
            } catch {
                warnings.add(.moderate, "\"\(path)\" cannot be read: \(error)")
            }
        }
        let ncx =
            package.items.first { $0.id == package.ncxID }
            ?? package.items.first { $0.mediaType?.essence == "application/x-dtbncx+xml" }
        if manifest.tableOfContents.isEmpty, let path = ncx?.path, let root = try await optional(path, fetcher, warnings) {
            let document = NCXDocument(root, at: path)
            manifest.tableOfContents = document.contents
            if manifest.pageList.isEmpty, !document.pages.isEmpty {
                manifest.subcollections["pageList"] = [PublicationCollection(links: document.pages)]
            }
        }
        if manifest.landmarks.isEmpty, !package.guide.isEmpty {
            manifest.subcollections["landmarks"] = [PublicationCollection(links: package.guide)]
        }
        if manifest.tableOfContents.isEmpty { warnings.add(.moderate, "the publication has no table of contents") }
    }

    private static func bytes(
        _ path: ResourcePath,
        _ fetcher: any Fetcher,
        _ warnings: Warnings
    ) async throws(ResourceError) -> [UInt8]? {
        do throws(ResourceError) {
            return try await fetcher.get(Link(path)).read(upTo: EPUBDocument.limits.bytes)
        } catch {
            guard error.code != .unavailable, error.code != .cancelled else { throw error }
            warnings.add(.moderate, error.message)
            return nil
        }
    }
}
