import CarrelBytes
import CarrelHTTPClient

/// Opens packages with a Readium manifest (`.webpub`, `.audiobook`, `.divina`, `.lcpdf`, `.lcpa`, `.lcpdi`) and such a manifest
/// standing alone.
struct ReadiumParser: PublicationParser {
    let client: HTTPClient
    /// PDF documents of a package that are looked at.
    private static let documentLimit = 100

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
            let href = isPackage ? "manifest.json" : listed.first?.href ?? ""
            let bytes = try await fetcher.get(href).read(upTo: Manifest.sizeLimit)
            var manifest: Manifest
            do throws(Malformed) { manifest = try Manifest(bytes.rawSpan, warnings: warnings.logger) } catch {
                throw ResourceError(.malformed, "\"\(href)\" cannot be read: \(error)")
            }
            guard isPackage else {
                return Publication.Builder(manifest: manifest, format: format, fetcher: remote(asset, manifest))
            }
            Self.settle(&manifest, in: Set(listed.compactMap(\.path)), warnings)
            try await Self.refuseLockedDocuments(of: manifest, fetcher)
            return Publication.Builder(manifest: manifest, format: format, fetcher: fetcher)
        } catch {
            throw error.code == .notFound
                ? Publication.OpeningError(.parsingFailed, error.message) : Publication.OpeningError(error)
        }
    }

    /// One protection a publication: nobody could be asked for the password of a PDF document in a package.
    private static func refuseLockedDocuments(of manifest: Manifest, _ fetcher: any Fetcher) async throws(ResourceError) {
        for link in manifest.readingOrder.prefix(documentLimit) where link.mediaType?.matches(Format.pdf.mediaType) == true {
            let isLocked: Bool
            do throws(ResourceError) {
                isLocked = try await PDFTail.needsPassword(fetcher.get(link))
            } catch {
                // one that is missing, damaged or closed by a protection is found out when it is read
                if error.code == .cancelled { throw error }
                continue
            }
            if isLocked {
                throw ResourceError(
                    .forbidden,
                    "\"\(link.href)\" in the package needs a password of its own, which is not supported"
                )
            }
        }
    }

    /// The resources of a manifest that stands alone are where it came from, or says that it comes from.
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
            guard link.href.hasPrefix("http://") || link.href.hasPrefix("https://") else { return link }
            let authority = link.href.drop { $0 != ":" }.dropFirst(3)
            guard let slash = authority.firstIndex(of: "/"), let path = ResourcePath(href: authority[slash...]),
                entries.contains(path)
            else { return link }
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
