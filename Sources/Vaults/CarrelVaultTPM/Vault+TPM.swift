// SPDX-License-Identifier: Apache-2.0

import CarrelCrypto
public import CarrelVault

extension Vault {
    /// Opens or creates a vault in a TPM 2.0.
    ///
    /// Private keys are created in the TPM, and only that TPM can use them (fixedTPM, fixedParent, sensitiveDataOrigin). The file
    /// `vault.json` in the folder has them encrypted by the TPM, under a storage key derived from the owner's seed; nothing is
    /// stored in the TPM itself, and each operation leaves it unchanged. Sealed bytes are encrypted in this process with a key
    /// that the TPM seals. The owner hierarchy must have no password, as is usual. libtss2 writes its own messages to standard
    /// error, unless the environment has `TSS2_LOG=all+none`.
    ///
    /// - Parameters:
    ///   - folder: path of the vault's folder; its parent exists.
    ///   - passphrase: authorizes each use of the keys; wrong ones count towards the TPM's own lockout. nil: every program of
    ///     this user may use the keys.
    ///   - tcti: how the TPM is reached (tpm2-tss, `Tss2_TctiLdr_Initialize`); the default is the kernel's resource manager.
    ///   - create: creates a vault, and never replaces one; without it, a missing file is an error.
    /// - Returns: a vault of the level `hardware`. A simulator cannot be distinguished from a TPM.
    /// - Throws: `VaultError`: `vault.unavailable` without a TPM, `vault.absent` if there is no vault or it is from another TPM,
    ///   `vault.exists`, `vault.pin`, `vault.locked` in a lockout, `vault.damaged`, `vault.full`.
    public static func tpm(
        folder: String,
        passphrase: String? = nil,
        tcti: String = "device:/dev/tpmrm0",
        create: Bool = false
    ) async throws(VaultError) -> Vault {
        let auth = passphrase.map { Secret(Array($0.utf8)) }
        let promises = VaultPromises(
            isNonExportable: true,
            isBoundToDevice: true,
            needsUnlock: auth != nil,
            survivesReinstall: false
        )
        return try await ThreadedVault.open(.tpm, level: .hardware, promises: promises) { () throws(VaultError) in
            let folder = VaultFolder(folder, kind: .tpm, patience: .seconds(30))
            return try TPMVault(folder, tcti: tcti, auth: auth, create: create)
        }
    }
}
