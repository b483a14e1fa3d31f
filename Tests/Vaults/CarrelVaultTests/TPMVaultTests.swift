// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelJSON
import CarrelTesting
import CarrelVault
import CarrelVaultTPM
import Testing

struct `A vault in a TPM` {
    @Test func `leaves nothing in the TPM, not even after errors`() async throws {
        let chip = try await SoftTPM()
        #expect(try await chip.handles() == "")
        let directory = TemporaryDirectory()
        let vault = try await Vault.tpm(folder: directory.file("vault"), passphrase: "1234", tcti: chip.tcti, create: true)
        let key = try await vault.makeKey(named: "device")
        _ = try await vault.sign([], withKey: "device")
        _ = try await vault.agree(withKey: "device", other: key)
        _ = try await vault.open(vault.seal(Secret([1]), associated: []), associated: [])
        let folder = directory.file("vault")
        #expect(
            await code { () throws(VaultError) in try await Vault.tpm(folder: folder, passphrase: "1", tcti: chip.tcti) } == .pin
        )
        #expect(await code { () throws(VaultError) in try await vault.sign([], withKey: "other") } == .absent)
        #expect(try await chip.handles() == "")
    }

    @Test func `opens with its passphrase only, and names the lockout of the TPM`() async throws {
        let chip = try await SoftTPM()
        let setup = try await chip.run([
            "tpm2_dictionarylockout", "--setup-parameters", "--max-tries=4", "--recovery-time=1000",
            "--lockout-recovery-time=1000",
        ])
        #expect(setup.status.isSuccess, "\(setup.errorText)")
        let directory = TemporaryDirectory()
        let folder = directory.file("vault")
        let vault = try await Vault.tpm(folder: folder, passphrase: "1234", tcti: chip.tcti, create: true)
        let key = try await vault.makeKey(named: "device")
        #expect(vault.promises.needsUnlock)
        let open = directory.file("open")
        let without = try await Vault.tpm(folder: open, tcti: chip.tcti, create: true)
        #expect(!without.promises.needsUnlock)
        for wrong in [nil, "", "12345", "0"] {
            #expect(
                await code { () throws(VaultError) in try await Vault.tpm(folder: folder, passphrase: wrong, tcti: chip.tcti) }
                    == .pin
            )
        }
        #expect(await code { () throws(VaultError) in try await vault.sign([], withKey: "device") } == .locked)
        #expect(
            await code { () throws(VaultError) in try await Vault.tpm(folder: folder, passphrase: "1234", tcti: chip.tcti) }
                == .locked
        )
        // a vault without a passphrase is not affected
        _ = try await without.makeKey(named: "device")
        let clear = try await chip.run(["tpm2_dictionarylockout", "--clear-lockout"])
        #expect(clear.status.isSuccess, "\(clear.errorText)")
        #expect(key.verifies(try await vault.sign([7], withKey: "device"), [7]))
    }

    @Test func `works with its own TPM only, and not after that was cleared`() async throws {
        let (chip, other) = (try await SoftTPM(), try await SoftTPM())
        let directory = TemporaryDirectory()
        let folder = directory.file("vault")
        let vault = try await Vault.tpm(folder: folder, tcti: chip.tcti, create: true)
        _ = try await vault.makeKey(named: "device")
        let sealed = try await vault.seal(Secret([1]), associated: [])
        #expect(await code { () throws(VaultError) in try await Vault.tpm(folder: folder, tcti: other.tcti) } == .absent)
        let clear = try await chip.run(["tpm2_clear"])
        #expect(clear.status.isSuccess, "\(clear.errorText)")
        #expect(await code { () throws(VaultError) in try await Vault.tpm(folder: folder, tcti: chip.tcti) } == .absent)
        #expect(await code { () throws(VaultError) in try await vault.sign([], withKey: "device") } == .absent)
        #expect(await code { () throws(VaultError) in try await vault.open(sealed, associated: []) } == .absent)
        #expect(await code { () throws(VaultError) in try await vault.makeKey(named: "new") } == .absent)
    }

    @Test(arguments: ["device:/nowhere/tpm", "swtpm:host=127.0.0.1,port=1", "nonsense", "device:/dev/null"])
    func `needs a TPM`(tcti: String) async throws {
        _ = try await SoftTPM.shared()
        let directory = TemporaryDirectory()
        let folder = directory.file("vault")
        let found = await code { () throws(VaultError) in try await Vault.tpm(folder: folder, tcti: tcti, create: true) }
        #expect(found == .unavailable)
        #expect(directory.read("vault/vault.json") == nil)
    }

    @Test func `has a file that cannot be altered`() async throws {
        let place = try await VaultPlace(.tpm)
        let vault = try await place.create()
        _ = try await vault.makeKey(named: "device")
        let bytes = try #require(place.directory.read("vault/vault.json"))
        for index in bytes.indices where index % 3 == 0 {
            var altered = bytes
            altered[index] ^= 1
            place.directory.write("vault/vault.json", altered)
            #expect(
                await code { () throws(VaultError) in try await vault.publicKey(named: "device") } == .damaged,
                "byte \(index)"
            )
        }
    }

    @Test func `refuses an object that was altered, though the file is unchanged`() async throws {
        let place = try await VaultPlace(.tpm)
        let vault = try await place.create()
        _ = try await vault.makeKey(named: "device")
        let folder = VaultFolder(place.folder, kind: .tpm)
        let file = try folder.load()
        let attacker = HMACSHA256(key: Secret.random(count: 32))
        let sealed = try #require(file.master["sealed"]?.string.flatMap { Base64URL.decode($0) })
        for index in stride(from: 0, to: sealed.count, by: 29) {
            var altered = sealed
            altered[index] ^= 1
            var changed = file
            changed.master["sealed"] = .string(Base64URL.encode(altered))
            try folder.save(changed, authenticatedBy: attacker)
            let found = await code { () throws(VaultError) in try await place.open() }
            #expect(found == .damaged || found == .unavailable, "byte \(index)")
        }
        try folder.save(file, authenticatedBy: attacker)
        #expect(await code { () throws(VaultError) in try await place.open() } == .damaged)
    }
}
