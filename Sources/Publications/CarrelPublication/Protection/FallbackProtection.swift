// SPDX-License-Identifier: Apache-2.0

import CarrelBytes

/// Recognises a protection that no other opened: names it, and opens the publication restricted.
///
/// Asked last. Obscured fonts do not count as a protection.
struct FallbackProtection: ContentProtection {
    private static let licenses: [ResourcePath] = ["META-INF/license.lcpl", "license.lcpl"]
    private static let rights: ResourcePath = "META-INF/rights.xml"
    private static let limit = 16 << 20

    func open(
        _ asset: PublicationAsset,
        fetcher: any Fetcher,
        allowUserInteraction: Bool,
        credentials: String?,
        sender: (any Sendable)?,
        onAskCredentials: OnAskCredentialsCallback?
    ) async throws(Publication.OpeningError) -> ProtectedAsset? {
        let name: String?
        do throws(ResourceError) {
            name = try await Self.name(fetcher)
        } catch {
            throw Publication.OpeningError(error)
        }
        guard let name else { return nil }
        let error = Publication.OpeningError(.forbidden, "it is protected by \(name), which cannot be opened here")
        return ProtectedAsset(asset: asset, fetcher: fetcher) { builder in
            builder.services.set((any ContentProtectionService).self) { _ in
                RestrictedProtectionService(name: LocalizedString(name), error: error)
            }
        }
    }

    /// The name of the technology; nil if nothing is protected.
    private static func name(_ fetcher: any Fetcher) async throws(ResourceError) -> String? {
        let paths = try await fetcher.paths()
        if licenses.contains(where: paths.contains) { return "Readium LCP" }
        if paths.contains(rights), try await text(rights, fetcher).contains(EncryptionDocument.adept) { return "Adobe ADEPT" }
        if paths.contains(EncryptionDocument.path) {
            let document = try await fetcher.document(EncryptionDocument.self)
            if document.isADEPT { return "Adobe ADEPT" }
            if document.isLCP { return "Readium LCP" }
            let isProtected = document.resources.values.contains { !FontObfuscation.algorithms.contains($0.algorithm) }
            if document.fault == nil, isProtected { return "an unknown technology" }
        }
        if paths.contains(ManifestDocument.path), try await fetcher.document(ManifestDocument.self).isLCP {
            return "Readium LCP"
        }
        return nil
    }

    private static func text(_ path: ResourcePath, _ fetcher: any Fetcher) async throws(ResourceError) -> String {
        String(decoding: try await fetcher.get(Link(path)).read(0..<Int64(limit)), as: UTF8.self)
    }
}

/// The protection of a publication that stays closed.
final class RestrictedProtectionService: ContentProtectionService {
    let isRestricted = true
    let name: LocalizedString?
    let error: (any Error)?

    init(name: LocalizedString?, error: (any Error)?) {
        self.name = name
        self.error = error
    }
}
