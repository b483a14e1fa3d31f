// SPDX-License-Identifier: Apache-2.0

import CarrelTesting
import CarrelVault
import Testing

@Suite("The examples of the hardware vaults")
struct HardwareVaultExampleTests {
    private let directory = TemporaryDirectory()

    @Test func `open a token`() async throws {
        let token = try await SoftToken.shared()
        let vault = try await openToken(SoftToken.label, module: token.module, pin: SoftToken.pin)
        #expect(vault.kind == .pkcs11 && vault.level == .hardware)
        await vault.close()
    }

    @Test func `make a vault in a TPM, and open it again`() async throws {
        let chip = try await SoftTPM.shared()
        for isFirstStart in [true, false] {
            let vault = try await openTPM(in: directory.path, isFirstStart: isFirstStart, tcti: chip.tcti)
            #expect(vault.kind == .tpm)
            await vault.close()
        }
    }

    @Test func `make a vault in the keyring, and open it again`() async throws {
        _ = try await Keyring.shared()
        for isFirstStart in [true, false] {
            let vault = try #require(try await openKeyring(in: directory.path, isFirstStart: isFirstStart, mayAsk: false))
            #expect(vault.kind == .secretService)
            await vault.close()
        }
    }
}
