// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
package import CarrelCrypto
import CarrelJSON
import CarrelThreads

extension Vault {
    /// Opens or creates a vault in a file: `vault.json`, readable by its owner only.
    ///
    /// A random master key seals the private keys (AES-256-GCM); a key from the passphrase seals the master key (scrypt with N =
    /// 2¹⁷, r = 8, p = 1: 128 MiB and about half a second). An attacker with the file can guess passphrases without limit.
    /// Several processes may use the folder.
    ///
    /// - Parameters:
    ///   - folder: path of the vault's folder. With `create`, missing folders on the path are created for their owner only.
    ///   - passphrase: one or more characters, used verbatim in UTF-8; the caller normalizes it.
    ///   - create: creates a vault, and never replaces one; without it, a missing file is an error.
    /// - Returns: a vault of the level ``VaultLevel/passphrase``.
    /// - Throws: ``VaultError``: `vault.absent` if there is none to open, `vault.exists` if there is one already, `vault.pin`,
    ///   `vault.damaged`, `vault.full`, `vault.unavailable`.
    public static func file(folder: String, passphrase: String, create: Bool = false) async throws(VaultError) -> Vault {
        try await file(folder: folder, passphrase: Secret(Array(passphrase.utf8)), create: create, scrypt: .interactive)
    }

    /// Replaces the passphrase of a vault in a file. The master key and the keys are unchanged, also in vaults that are open.
    ///
    /// A copy of the old file can still be opened with the old passphrase.
    ///
    /// - Parameters:
    ///   - folder: path of the vault's folder.
    ///   - old: the current passphrase.
    ///   - new: one or more characters.
    /// - Throws: ``VaultError``: `vault.pin` for a wrong old or an empty new passphrase, `vault.absent`, `vault.damaged`,
    ///   `vault.full`, `vault.unavailable`. The old passphrase then remains valid.
    public static func changeFilePassphrase(folder: String, from old: String, to new: String) async throws(VaultError) {
        try await changeFilePassphrase(
            folder: folder,
            from: Secret(Array(old.utf8)),
            to: Secret(Array(new.utf8)),
            scrypt: .interactive
        )
    }

    /// Opens or creates a vault in a file, with other scrypt parameters for a new one.
    package static func file(
        folder path: String,
        passphrase: Secret,
        create: Bool,
        scrypt: Scrypt
    ) async throws(VaultError) -> Vault {
        let promises = VaultPromises(
            isNonExportable: false,
            isBoundToDevice: false,
            needsUnlock: true,
            survivesReinstall: false
        )
        return try await ThreadedVault.open(.file, level: .passphrase, promises: promises) { () throws(VaultError) in
            let folder = VaultFolder(path, kind: .file)
            guard create else {
                return try SoftwareVault(folder, master: PassphraseMaster.open(folder.load(), passphrase: passphrase))
            }
            let master = Secret.random(count: 32)
            try folder.create { () throws(VaultError) in
                var file = VaultFile(.file, master: [:])
                file.master = try PassphraseMaster.seal(master, passphrase: passphrase, scrypt: scrypt, id: file.id)
                return (file, VaultKeys(master: master).file)
            }
            return try SoftwareVault(folder, master: master)
        }
    }

    package static func changeFilePassphrase(
        folder path: String,
        from old: Secret,
        to new: Secret,
        scrypt: Scrypt
    ) async throws(VaultError) {
        let threads = BlockingThreadPool(name: "vault-file", count: 1)
        try await threads.runVault { () throws(VaultError) in
            let folder = VaultFolder(path, kind: .file)
            try folder.withLock { () throws(VaultError) in
                var file = try folder.load()
                let master = try PassphraseMaster.open(file, passphrase: old)
                let key = VaultKeys(master: master).file
                try file.check(with: key)
                file.master = try PassphraseMaster.seal(master, passphrase: new, scrypt: scrypt, id: file.id)
                try folder.save(file, authenticatedBy: key)
            }
        }
    }
}
