// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelPublication

/// Opens packages whose `encryption.xml` names AES-256 in CBC mode, with a key that the app has. LCP packages are such packages too: in the
/// list of protections this one comes after LCP's.
struct VaultProtection: ContentProtection {
    let key: ContentKey

    func open(
        _ asset: PublicationAsset,
        fetcher: any Fetcher,
        allowUserInteraction: Bool,
        credentials: String?,
        sender: (any Sendable)?,
        onAskCredentials: OnAskCredentialsCallback?
    ) async throws(Publication.OpeningError) -> ProtectedAsset? {
        do throws(ResourceError) {
            let encrypted = try await fetcher.encryptedResources()
            guard encrypted.values.contains(where: \.isLCP) else { return nil }
            let decrypting = TransformingFetcher.decrypting(with: key, properties: encrypted)
            return ProtectedAsset(asset: asset, fetcher: TransformingFetcher(fetcher, decrypting)) { builder in
                builder.services.set((any ContentProtectionService).self) { _ in VaultProtectionService() }
            }
        } catch { throw Publication.OpeningError(error) }
    }
}

final class VaultProtectionService: ContentProtectionService {
    let isRestricted = false
    let name: LocalizedString? = "Vault"
}
