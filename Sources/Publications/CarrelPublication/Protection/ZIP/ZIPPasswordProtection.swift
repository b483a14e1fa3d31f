// SPDX-License-Identifier: Apache-2.0

import CarrelCrypto

/// Archives whose entries need a password: traditional encryption and AES-128, -192 and -256.
///
/// Nothing is read without the password, not even metadata.
struct ZIPPasswordProtection: ContentProtection {
    func open(
        _ asset: PublicationAsset,
        fetcher: any Fetcher,
        allowUserInteraction: Bool,
        credentials: String?,
        sender: (any Sendable)?,
        onAskCredentials: OnAskCredentialsCallback?
    ) async throws(Publication.OpeningError) -> ProtectedAsset? {
        guard let archive = fetcher as? ArchiveFetcher, archive.isEncrypted else { return nil }
        let prompt = PasswordPrompt(name: asset.name, sender: sender, ask: allowUserInteraction ? onAskCredentials : nil)
        let (password, unlocked) = try await prompt.unlock(credentials) { (password) async throws(ResourceError) in
            let unlocked = UnlockedArchive(archive, password: Secret(Array(password.utf8)))
            return try await unlocked.isRight() ? unlocked : nil
        }
        return ProtectedAsset(asset: asset, fetcher: unlocked) { builder in
            builder.services.set((any ContentProtectionService).self) { _ in
                PasswordProtectionService(credentials: password, rights: UnrestrictedUserRights())
            }
        }
    }
}
