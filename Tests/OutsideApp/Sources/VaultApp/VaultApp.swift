// SPDX-License-Identifier: Apache-2.0

import CarrelVault
import CarrelVaultPKCS11
import CarrelVaultSecretService
import CarrelVaultTPM

/// Opens a vault in a file, and three vaults that this machine does not have.
@main
struct VaultApp {
    static func main() async throws {
        let folder = CommandLine.arguments[1]
        let vault = try await Vault.file(folder: folder + "/vault-of-app", passphrase: "correct horse", create: true)
        print(vault.kind.rawValue, vault.level.rawValue)
        await vault.close()
        let missing = folder + "/missing"
        await tell { () async throws(VaultError) in
            try await Vault.pkcs11(module: missing, token: .label("app"), pin: "123456")
        }
        await tell { () async throws(VaultError) in try await Vault.tpm(folder: missing, tcti: "device:\(missing)", create: false)
        }
        await tell { () async throws(VaultError) in try await Vault.secretService(folder: missing, create: false) }
    }

    private static func tell(_ open: @Sendable () async throws(VaultError) -> Vault) async {
        do throws(VaultError) { print(try await open().kind.rawValue) } catch { print(error.code) }
    }
}
