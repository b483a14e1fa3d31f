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
            let href = isPackage ? "publication.json" : try await fetcher.links().first?.href ?? ""
            let bytes = try await fetcher.get(href).read(upTo: Manifest.limits.byteCount)
            let json: JSON
            do throws(Malformed) { json = try JSON.parse(bytes.rawSpan, limits: Manifest.limits) } catch {
                throw ResourceError(.malformed, "\"\(href)\" cannot be read: \(error)")
            }
            guard let object = json.object else { throw ResourceError(.malformed, "\"\(href)\" is no publication manifest") }
            let manifest = try W3CManifest(object, warnings).manifest(untitled: ContainerTitle.of([], in: asset))
            if isPackage { return Publication.Builder(manifest: manifest, format: format, fetcher: fetcher) }
            let base: String? = if case .remote(let url) = asset.location { url } else { object["url"]?.string }
            return Publication.Builder(manifest: manifest, format: format, fetcher: HTTPFetcher(base: base, client: client))
        } catch {
            throw error.code == .notFound
                ? Publication.OpeningError(.parsingFailed, error.message) : Publication.OpeningError(error)
        }
    }
}
