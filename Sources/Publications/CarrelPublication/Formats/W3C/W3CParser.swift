// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTPClient
import CarrelJSON

/// Opens W3C publications: packages (LPF) with `publication.json`, and manifests standing alone.
struct W3CParser: PublicationParser {
    let client: HTTPClient

    func parse(
        _ asset: PublicationAsset,
        format: Format,
        fetcher: any Fetcher,
        warnings: (any WarningLogger)?
    ) async throws(Publication.OpeningError) -> Publication.Builder? {
        guard format.conforms(to: .lpf) || format.conforms(to: .w3cPublicationManifest) else { return nil }
        let warnings = Warnings(warnings)
        do throws(ResourceError) {
            let isPackage = format.conforms(to: .lpf)
            let found = isPackage ? try await Self.packaged(fetcher) : try await Self.alone(fetcher)
            let json: JSON
            do throws(Malformed) { json = try JSON.parse(found.bytes.rawSpan, limits: Manifest.limits) } catch {
                throw ResourceError(.malformed, "\"\(found.place)\" cannot be read: \(error)")
            }
            guard var object = json.object else {
                throw ResourceError(.malformed, "\"\(found.place)\" is not a publication manifest")
            }
            var name = ContainerTitle.of([], in: asset)
            if let page = found.page {
                // the defaults are the page itself, and its title (Publication Manifest §4.4.2)
                if object["readingOrder"] == nil { object["readingOrder"] = .string(EntryPage.path.href) }
                if let title = page.title { name = LocalizedString(title) }
            }
            var manifest = try W3CManifest(object, at: isPackage ? found.place : nil, warnings).manifest(untitled: name)
            if isPackage { try await LockedDocuments.refuse(in: manifest, fetcher, warnings) }
            let base: String? = if case .remote(let url) = asset.location { url } else { object["url"]?.string }
            let content: any Fetcher = isPackage ? fetcher : HTTPFetcher(base: base, client: client)
            // opening a file sends no requests to servers that the file names
            if isPackage || asset.isRemote { try await Self.addContents(to: &manifest, content, isPackage: isPackage, warnings) }
            return Publication.Builder(manifest: manifest, format: format, fetcher: content)
        } catch {
            throw error.code == .notFound
                ? Publication.OpeningError(.parsingFailed, error.message) : Publication.OpeningError(error)
        }
    }

    /// Table of contents and page list: from the manifest's contents document, or else from the page of the package (Publication
    /// Manifest §4.8.1).
    private static func addContents(
        to manifest: inout Manifest,
        _ fetcher: any Fetcher,
        isPackage: Bool,
        _ warnings: Warnings
    ) async throws(ResourceError) {
        let named = (manifest.readingOrder + manifest.resources + manifest.links).first(withRelation: "contents")
        guard let link = named ?? (isPackage ? Link(EntryPage.path) : nil), let path = link.path else { return }
        do throws(ResourceError) {
            let text = String(decoding: try await fetcher.get(link).read(upTo: EntryPage.limit), as: UTF8.self)
            let document = NavigationDocument(html: text, at: path)
            let lists = document.lists
            if let limit = document.cutOff {
                warnings.add(.moderate, "the end of the contents in \"\(path)\" is left out: \(limit.what)")
            }
            manifest.tableOfContents = lists["toc"] ?? []
            if let pages = lists["page-list"], !pages.isEmpty {
                manifest.subcollections["pageList"] = [PublicationCollection(links: pages)]
            }
            if named != nil, manifest.tableOfContents.isEmpty { warnings.add(.moderate, "\"\(path)\" has no table of contents") }
        } catch {
            if error.code == .cancelled || isPackage && error.code == .unavailable { throw error }
            if named != nil { warnings.add(.moderate, error.message) }
        }
    }

    /// A manifest and its place.
    private struct Found {
        let bytes: [UInt8]
        let place: ResourcePath
        /// The page that led to it.
        var page: EntryPage?
    }

    private static let name: ResourcePath = "publication.json"

    private static func alone(_ fetcher: any Fetcher) async throws(ResourceError) -> Found {
        let link = try await fetcher.links().first ?? Link(name)
        return Found(bytes: try await fetcher.get(link).read(upTo: Manifest.limits.byteCount), place: link.path ?? name)
    }

    /// Finds the manifest of a package: by its name, or through the primary entry page (LPF §4.2).
    private static func packaged(_ fetcher: any Fetcher) async throws(ResourceError) -> Found {
        do throws(ResourceError) {
            let bytes = try await fetcher.get(Link(name)).read(upTo: Manifest.limits.byteCount)
            // a separate page is part of such a publication too, and need not be read
            return Found(bytes: bytes, place: name)
        } catch  where error.code == .notFound {
            let text = String(decoding: try await fetcher.get(Link(EntryPage.path)).read(upTo: EntryPage.limit), as: UTF8.self)
            let page = EntryPage(text)
            if let embedded = page.embedded { return Found(bytes: Array(embedded.utf8), place: EntryPage.path, page: page) }
            guard let href = page.manifest, let place = ResourcePath(href: href, relativeTo: EntryPage.path),
                place != EntryPage.path
            else { throw ResourceError(.malformed, "\"\(EntryPage.path)\" leads to no publication manifest") }
            let bytes = try await fetcher.get(Link(place)).read(upTo: Manifest.limits.byteCount)
            return Found(bytes: bytes, place: place, page: page)
        }
    }
}
