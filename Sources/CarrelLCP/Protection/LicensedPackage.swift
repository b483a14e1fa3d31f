import CarrelBytes
import CarrelPublication

/// Where the license of a package is, and what the package is without it.
enum LicensedPackage {
    /// The license document in a package, and where it is.
    ///
    /// - Parameter fetcher: over the package.
    /// - Returns: nil for a package without one.
    /// - Throws: what reading throws.
    static func document(in fetcher: any Fetcher) async throws(ResourceError) -> (bytes: [UInt8], isInEPUB: Bool)? {
        let place = LicensePlace(in: try await fetcher.paths())
        guard place.isTaken else { return nil }
        return (try await fetcher.get(Link(place.path)).read(upTo: LicenseDocument.sizeLimit), place.isInEPUB)
    }

    /// A license document that stands alone.
    ///
    /// - Parameters:
    ///   - asset: what is being opened.
    ///   - fetcher: over it.
    /// - Returns: nil where it is something else.
    /// - Throws: what reading throws.
    static func document(alone asset: PublicationAsset, _ fetcher: any Fetcher) async throws(ResourceError) -> [UInt8]? {
        guard fetcher is SingleResourceFetcher, let link = try await fetcher.links().first else { return nil }
        let isNamed = asset.mediaType?.essence == LicenseDocument.mediaType || asset.name.lowercased().hasSuffix(".lcpl")
        let resource = fetcher.get(link)
        let head: [UInt8]
        do throws(ResourceError) { head = try await resource.read(0..<64) } catch  where error.code == .forbidden {
            // whatever it is, its server gives it to somebody else: another protection may know
            return nil
        }
        guard head.first(where: { $0 > 0x20 }) == UInt8(ascii: "{") else { return nil }
        guard try await resource.length() <= Int64(LicenseDocument.sizeLimit) else { return nil }
        let bytes = try await resource.read(upTo: LicenseDocument.sizeLimit)
        return isNamed || (try? LicenseDocument(bytes)) != nil ? bytes : nil
    }

    /// What a package is without its protection.
    static func mediaType(_ fetcher: any Fetcher, isEPUB: Bool) async throws(ResourceError) -> MediaType? {
        if isEPUB { return Format.epub.mediaType }
        let bytes: [UInt8]
        do throws(ResourceError) {
            bytes = try await fetcher.get("manifest.json").read(upTo: 16 << 20)
        } catch  where error.code == .notFound {
            return nil
        }
        guard let manifest = try? Manifest(bytes.rawSpan) else { return nil }
        let profiles = manifest.metadata.conformsTo
        if profiles.contains(.audiobook) || manifest.metadata.type?.hasSuffix("schema.org/Audiobook") == true {
            return Format.audiobookPackage.mediaType
        }
        return (profiles.contains(.divina) ? Format.divinaPackage : Format.webPublicationPackage).mediaType
    }
}
