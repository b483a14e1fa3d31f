// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelVault
import CarrelVaultPKCS11
import CarrelVaultSecretService
import CarrelVaultTPM
import Glibc
import ProgramArguments

/// Uses a vault in a process of its own, which a test may limit or kill.
///
/// `VaultProgram [create] [no-prompt] [file-size=BYTES] KIND WHERE… -- COMMAND…` with `file FOLDER PASSPHRASE`, `pkcs11 MODULE LABEL PIN`,
/// `tpm FOLDER TCTI` or `secret-service FOLDER`, and the commands `open`, `make NAME`, `use NAME` (every call once), `fill PREFIX` (keys until
/// it is killed or fails).
/// It writes a line for each answer, and the code of an error.
@main
struct VaultProgram {
    static func main() async throws {
        let arguments = ProgramArguments(options: ["create", "no-prompt"])
        let words = arguments.words
        let place = words.prefix { $0 != "--" }.map(\.self)
        let command = words.drop { $0 != "--" }.dropFirst().map(\.self)
        do throws(VaultError) {
            let vault = try await open(place, arguments)
            switch command.first {
            case "make": ProgramArguments.say(Hex.encode(try await vault.makeKey(named: command[1]).coordinates))
            case "use":
                let key = try await vault.makeKey(named: command[1])
                let isValid = key.isValid(try await vault.sign([1], withKey: command[1]), for: [1].rawSpan)
                let secret = try await vault.agree(withKey: command[1], other: key)
                let isSame = try await vault.open(vault.seal(secret, associated: [2]), associated: [2]) == secret
                try await vault.removeKey(named: command[1])
                ProgramArguments.say("\(isValid) \(isSame)")
            case "fill":
                for number in 0... {
                    let name = "\(command[1])\(number)"
                    let key = try await vault.makeKey(named: name)
                    ProgramArguments.say("\(name) \(Hex.encode(key.coordinates))")
                }
            default: ProgramArguments.say(vault.description)
            }
            // The generators that OpenSSL has for each thread are freed with the threads, or not at all.
            if vault.kind == .pkcs11 { _exit(0) }
        } catch {
            ProgramArguments.say("\(error.code)")
            exit(1)
        }
    }

    private static func open(_ place: [String], _ arguments: ProgramArguments) async throws(VaultError) -> Vault {
        let create = arguments.has("create")
        switch (place.first, place.count) {
        case ("file", 3):
            let passphrase = Secret(Array(place[2].utf8))
            guard let scrypt = try? Scrypt(cost: 16, blockSize: 8, parallelism: 1) else { exit(64) }
            return try await Vault.file(folder: place[1], passphrase: passphrase, create: create, scrypt: scrypt)
        case ("pkcs11", 4): return try await Vault.pkcs11(module: place[1], token: .label(place[2]), pin: place[3])
        case ("tpm", 3): return try await Vault.tpm(folder: place[1], tcti: place[2], create: create)
        case ("secret-service", 2):
            return try await Vault.secretService(
                folder: place[1],
                create: create,
                allowPrompt: !arguments.has("no-prompt"),
                timeout: .seconds(2),
                promptTimeout: .seconds(5)
            )
        default:
            ProgramArguments.say("usage: see the source")
            exit(64)
        }
    }
}
