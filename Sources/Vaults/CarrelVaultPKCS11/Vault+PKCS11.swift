// SPDX-License-Identifier: Apache-2.0

import CarrelCrypto
public import CarrelVault

extension Vault {
    /// Opens a vault on a smart card, a USB token or anything else with a PKCS#11 module (OASIS PKCS#11 2.40).
    ///
    /// Private keys are created on the token as sensitive and not extractable, and this is verified. Bytes are sealed to a key of
    /// the token (ECDH on P-256, then AES-256-GCM in this process), because every token that supports the other keys can do that.
    /// The module is loaded once and stays loaded until the process ends. After a token was removed and inserted, the next call
    /// opens it again; for that, the PIN stays in memory, excluded from core dumps. A token is opened with its PIN once per
    /// process: later PINs are compared only with the first one.
    ///
    /// - Parameters:
    ///   - module: absolute path of the module, such as `/usr/lib/x86_64-linux-gnu/opensc-pkcs11.so`. It is loaded into the
    ///     process and must be trusted.
    ///   - token: selects one of the module's tokens.
    ///   - pin: the user's PIN; nil if the reader has a key pad. It is tried once: tokens lock themselves after a few wrong ones.
    ///   - level: `hardware`, unless the module is known to be software, such as SoftHSM; a module cannot prove what it is.
    /// - Returns: the vault.
    /// - Throws: `VaultError`: `vault.absent` if the token is not inserted, `vault.pin`, `vault.locked` for a locked PIN,
    ///   `vault.unavailable` if the module cannot be loaded or fails.
    public static func pkcs11(
        module: String,
        token: PKCS11Token,
        pin: String?,
        level: VaultLevel = .hardware
    ) async throws(VaultError) -> Vault {
        let pin = pin.map { Secret(Array($0.utf8)) }
        let promises = VaultPromises(isNonExportable: true, isBoundToDevice: true, needsUnlock: true, survivesReinstall: true)
        return try await ThreadedVault.open(.pkcs11, level: level, promises: promises) { () throws(VaultError) in
            try PKCS11Vault(module: module, token: token, pin: pin)
        }
    }
}
