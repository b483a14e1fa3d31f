// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelJSON
public import CarrelVault

extension Vault {
    /// Opens or creates a vault unlocked by the desktop's keyring (freedesktop.org Secret Service: GNOME Keyring, KWallet,
    /// KeePassXC).
    ///
    /// The default keyring has one item with a random master key; the file `vault.json` in the folder has the private keys sealed
    /// with it (AES-256-GCM). Every program of the signed-in user can read the keyring. The master key stays in memory, excluded
    /// from core dumps, until the vault is closed: locking the keyring does not close it.
    ///
    /// - Parameters:
    ///   - folder: path of the vault's folder; its parent exists.
    ///   - create: creates a vault, and never replaces one; without it, a missing file is an error.
    ///   - allowPrompt: whether the service may show its own prompt to unlock the keyring, for two minutes at most.
    /// - Returns: a vault of the level `os`.
    /// - Throws: `VaultError`: `vault.unavailable` within 5 seconds if there is no session bus or no service, `vault.locked` for
    ///   a locked keyring without a prompt, `vault.refused` for a dismissed prompt, `vault.absent` if there is no vault or its
    ///   item was deleted, `vault.exists`, `vault.damaged`, `vault.full`.
    public static func secretService(
        folder: String,
        create: Bool = false,
        allowPrompt: Bool = true
    ) async throws(VaultError) -> Vault {
        try await secretService(
            folder: folder,
            create: create,
            allowPrompt: allowPrompt,
            timeout: .seconds(5),
            promptTimeout: .seconds(120)
        )
    }

    package static func secretService(
        folder path: String,
        create: Bool,
        allowPrompt: Bool,
        timeout: Duration,
        promptTimeout: Duration
    ) async throws(VaultError) -> Vault {
        let promises = VaultPromises(
            isNonExportable: false,
            isBoundToDevice: false,
            needsUnlock: true,
            survivesReinstall: false
        )
        return try await ThreadedVault.open(.secretService, level: .os, promises: promises) { () throws(VaultError) in
            let folder = VaultFolder(path, kind: .secretService)
            let connect = { () throws(SecretFailure) in
                try SecretServiceClient(allowsPrompt: allowPrompt, timeout: timeout, promptTimeout: promptTimeout)
            }
            if create {
                let master = Secret.random(count: 32)
                try folder.create { () throws(VaultError) in
                    let file = VaultFile(.secretService, master: JSONObject())
                    // The item first: a vault without its item would be lost, an item without its vault is only litter.
                    do throws(SecretFailure) { try connect().store(master, of: file.id) } catch { throw error.vaultError }
                    return (file, VaultKeys(master: master).file)
                }
                return try SoftwareVault(folder, master: master)
            }
            let id = try folder.load().id
            let master: Secret?
            do throws(SecretFailure) { master = try connect().secret(of: id) } catch { throw error.vaultError }
            guard let master, master.count == 32 else {
                throw VaultError(
                    .absent,
                    "the keyring does not have the vault's key",
                    recommendation: "sign in as the user who made the vault, or register this device again"
                )
            }
            return try SoftwareVault(folder, master: master)
        }
    }
}
