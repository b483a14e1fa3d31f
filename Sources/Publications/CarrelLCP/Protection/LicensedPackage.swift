// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelPublication

/// The license's place in a package, and the package without it.
enum LicensedPackage {
    /// Reads the license document in a package.
    ///
    /// - Parameter fetcher: a fetcher of the package.
    /// - Returns: nil for a package without one.
    /// - Throws: errors of reading.
    static func document(in fetcher: any Fetcher) async throws(ResourceError) -> [UInt8]? {
        let location = LicenseLocation(in: try await fetcher.paths())
        guard location.isTaken else { return nil }
        return try await fetcher.get(Link(location.path)).read(upTo: LicenseDocument.sizeLimit)
    }

    /// Whether a package declares encryption by Readium LCP.
    ///
    /// - Parameter fetcher: a fetcher of the package.
    /// - Returns: false also if its declarations cannot be read.
    /// - Throws: `resource.unavailable`, `resource.cancelled`.
    static func isEncrypted(_ fetcher: any Fetcher) async throws(ResourceError) -> Bool {
        guard !(fetcher is SingleResourceFetcher) else { return false }
        do throws(ResourceError) {
            return try await fetcher.encryptedResources().values.contains { $0.scheme == Encryption.lcpScheme }
        } catch {
            if error.code == .unavailable || error.code == .cancelled { throw error }
            return false
        }
    }

    /// Reads a standalone license document.
    ///
    /// - Parameters:
    ///   - asset: the asset being opened.
    ///   - fetcher: a fetcher of the asset.
    /// - Returns: nil if it is something else.
    /// - Throws: errors of reading.
    static func document(alone asset: PublicationAsset, _ fetcher: any Fetcher) async throws(ResourceError) -> [UInt8]? {
        guard fetcher is SingleResourceFetcher, let link = try await fetcher.links().first else { return nil }
        let isNamed = asset.mediaType?.essence == LicenseDocument.mediaType || asset.name.lowercased().hasSuffix(".lcpl")
        let resource = fetcher.get(link)
        let head: [UInt8]
        do throws(ResourceError) { head = try await resource.read(0..<64) } catch  where error.code == .forbidden {
            // whatever it is, its server refuses it to this reader: another protection may know
            return nil
        }
        guard head.first(where: { $0 > 0x20 }) == UInt8(ascii: "{") else { return nil }
        guard try await resource.length() <= Int64(LicenseDocument.sizeLimit) else { return nil }
        let bytes = try await resource.read(upTo: LicenseDocument.sizeLimit)
        return isNamed || (try? LicenseDocument(bytes)) != nil ? bytes : nil
    }

    /// The mismatch between a license and the package that it leads to. Of a package that is read by ranges the length is known
    /// and costs nothing; its hash would take all of it.
    static func warnings(of license: [UInt8], _ fetcher: any Fetcher) async -> [Warning] {
        guard let link = (try? LicenseDocument(license))?.links.first(withRelation: "publication"),
            let declared = link.length?.byteCount, let length = await (fetcher as? LicensedFetcher)?.packageLength(),
            length != declared
        else { return [] }
        return [
            Warning(.moderate, "the publication has \(length) bytes, and its license says \(declared): it may be another one")
        ]
    }

    /// The format of a package without its protection; nil if its content does not show it.
    static func mediaType(of asset: PublicationAsset, _ fetcher: any Fetcher) async throws(ResourceError) -> MediaType? {
        let format = try await AssetOpener.sniff(asset, fetcher)
        return format.conforms(to: .epub) || format.conforms(to: .rwp) ? format.withoutLCP.mediaType : nil
    }
}
