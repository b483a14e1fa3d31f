// SPDX-License-Identifier: Apache-2.0

import CarrelVault
import CarrelVaultPKCS11
import CarrelVaultSecretService
import CarrelVaultTPM

/// The vault on a token, found by the label that its owner gave it.
func openToken(_ label: String, module: String, pin: String) async throws -> Vault {
    try await Vault.pkcs11(module: module, token: .label(label), pin: pin)
}

/// The vault in the TPM of this machine, whose keys need no passphrase; the first start makes it.
func openTPM(in folder: String, isFirstStart: Bool, tcti: String = "device:/dev/tpmrm0") async throws -> Vault {
    try await Vault.tpm(folder: "\(folder)/vault", tcti: tcti, create: isFirstStart)
}

/// The vault in the keyring of the signed-in user; the first start makes it. Returns nil if the user does not unlock the keyring.
func openKeyring(in folder: String, isFirstStart: Bool, mayAsk: Bool) async throws -> Vault? {
    do throws(VaultError) {
        return try await Vault.secretService(folder: "\(folder)/vault", create: isFirstStart, allowPrompt: mayAsk)
    } catch {
        guard error.code == .refused || error.code == .locked else { throw error }
        return nil
    }
}
