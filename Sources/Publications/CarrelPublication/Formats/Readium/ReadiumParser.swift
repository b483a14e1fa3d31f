// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTPClient
import CarrelJSON

/// Opens packages with a Readium manifest (`.webpub`, `.audiobook`, `.divina`, `.lcpdf`, `.lcpa`, `.lcpdi`) and such a manifest
/// standing alone.
struct ReadiumParser: PublicationParser {
    let client: HTTPClient

    func parse(
        _ asset: PublicationAsset,
        format: Format,
        fetcher: any Fetcher,
        warnings: (any WarningLogger)?
    ) async throws(Publication.OpeningError) -> Publication.Builder? {
        guard format.conforms(to: .rwp) || format.conforms(to: .rwpm) else { return nil }
        let isPackage = format.conforms(to: .rwp)
        let warnings = Warnings(warnings)
        do throws(ResourceError) {
            let listed = try await fetcher.links()
            let json: JSON
            switch try await fetcher.document(ManifestDocument.self) {
            case .json(let found): json = found
            case .missing: throw ResourceError(.notFound, "the package has no \"\(ManifestDocument.path)\"")
            case .broken(let fault): throw fault
            }
            var manifest: Manifest
            do throws(Malformed) { manifest = try Manifest(json, warnings) } catch {
                throw ResourceError(.malformed, "the manifest cannot be read: \(error)")
            }
            guard isPackage else {
                return Publication.Builder(manifest: manifest, format: format, fetcher: remote(asset, manifest))
            }
            Self.settle(&manifest, in: Set(listed.compactMap(\.path)), warnings)
            try await LockedDocuments.refuse(in: manifest, fetcher, warnings)
            return Publication.Builder(manifest: manifest, format: format, fetcher: fetcher)
        } catch {
            throw error.code == .notFound
                ? Publication.OpeningError(.parsingFailed, error.message) : Publication.OpeningError(error)
        }
    }

    /// The resources of a standalone manifest are relative to its address, or to its declared address.
    private func remote(_ asset: PublicationAsset, _ manifest: Manifest) -> any Fetcher {
        if case .remote(let url) = asset.location { return HTTPFetcher(base: url, client: client) }
        let own = manifest.links.first(withRelation: "self")?.href
        return HTTPFetcher(base: own.flatMap { ResourcePath.hasScheme($0) ? $0 : nil }, client: client)
    }

    /// Some packages have absolute addresses of what lies in them.
    private static func settle(_ manifest: inout Manifest, in entries: Set<ResourcePath>, _ warnings: Warnings) {
        func settled(_ link: Link) -> Link {
            var link = link
            link.alternates = link.alternates.map(settled)
            guard let path = ResourcePath(absolute: link.href, in: entries) else { return link }
            warnings.add(.minor, "the absolute address \"\(link.href)\" is taken for an entry of the package")
            link.href = path.href
            return link
        }
        manifest.readingOrder = manifest.readingOrder.map(settled)
        manifest.resources = manifest.resources.map(settled)
        for link in manifest.readingOrder {
            guard let path = link.path, !entries.contains(path) else { continue }
            warnings.add(.major, "\"\(link.href)\" of the reading order is not in the package")
        }
    }
}
