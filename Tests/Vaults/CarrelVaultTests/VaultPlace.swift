// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelTesting
import CarrelVault
import CarrelVaultPKCS11
import CarrelVaultSecretService
import CarrelVaultTPM
import Glibc
import Testing

/// The place of a test's vault: its own folder, or its own names on the shared token.
struct VaultPlace: Sendable {
    let kind: VaultKind
    let directory = TemporaryDirectory()
    var passphrase = "correct horse"
    /// A folder between the directory and the vault.
    var below = ""
    private let peer: Peer

    private enum Peer: Sendable {
        case none
        case token(SoftToken)
        case chip(SoftTPM)
        case keyring(Keyring)
    }

    static let scrypt = try? Scrypt(cost: 16, blockSize: 8, parallelism: 1)

    /// A place for a vault of a kind, with the peer it needs; `isAlone` is for tests that kill processes, which leave their
    /// objects in a TPM without a resource manager.
    init(_ kind: VaultKind, isAlone: Bool = false) async throws {
        self.kind = kind
        switch kind {
        case .file: peer = .none
        case .pkcs11: peer = .token(try await SoftToken.shared())
        case .tpm: peer = .chip(isAlone ? try await SoftTPM() : try await SoftTPM.shared())
        case .secretService: peer = .keyring(try await Keyring.shared())
        }
    }

    var folder: String { directory.file("\(below)vault") }

    /// A name that no other test has.
    func name(_ name: String) -> String {
        "\(directory.path.suffix(6).lowercased().filter { $0.isLetter || $0.isNumber })-\(name)"
    }

    /// The vault, made by the first call.
    func create() async throws(VaultError) -> Vault { try await open(create: true) }

    func open(create: Bool = false) async throws(VaultError) -> Vault {
        switch peer {
        case .none:
            guard let scrypt = Self.scrypt else { fatalError("the parameters are out of range") }
            return try await Vault.file(
                folder: folder,
                passphrase: Secret(Array(passphrase.utf8)),
                create: create,
                scrypt: scrypt
            )
        case .token(let token):
            return try await Vault.pkcs11(module: token.module, token: .label(SoftToken.label), pin: SoftToken.pin)
        case .chip(let chip): return try await Vault.tpm(folder: folder, tcti: chip.tcti, create: create)
        case .keyring: return try await Vault.secretService(folder: folder, create: create, allowPrompt: false)
        }
    }

    /// The arguments that open the vault in `VaultProgram`.
    var arguments: [String] {
        switch peer {
        case .none: ["file", folder, passphrase]
        case .token(let token): ["pkcs11", token.module, SoftToken.label, SoftToken.pin]
        case .chip(let chip): ["tpm", folder, chip.tcti]
        case .keyring: ["secret-service", folder]
        }
    }

    /// Removes what a killed process left in a TPM, as a resource manager does.
    func sweep() async throws {
        guard case .chip(let chip) = peer else { return }
        for option in ["--transient-object", "--loaded-session"] { _ = try await chip.run(["tpm2_flushcontext", option]) }
    }

    /// Whether the vault has a file.
    var hasFile: Bool { kind != .pkcs11 }
}

/// The program, built next to the test's own, that uses a vault.
func vaultProgram() throws -> String {
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = unsafe readlink("/proc/self/exe", &buffer, buffer.count)
    let own = String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
    let path = own.prefix(upTo: own.lastIndex(of: "/") ?? own.startIndex) + "/VaultProgram"
    try #require(unsafe access(String(path), X_OK) == 0, "\(path) was not built")
    return String(path)
}

/// The code of the error that a call throws; nil if it throws none.
func code<Value>(_ call: () async throws(VaultError) -> Value) async -> VaultError.Code? {
    do throws(VaultError) {
        _ = try await call()
        return nil
    } catch {
        return error.code
    }
}

/// Whether bytes occur in a list.
func contains(_ bytes: [UInt8], _ part: [UInt8]) -> Bool {
    guard !part.isEmpty, bytes.count >= part.count else { return false }
    return (0...(bytes.count - part.count)).contains { bytes[$0] == part[0] && Array(bytes[$0..<($0 + part.count)]) == part }
}

extension P256.PublicKey {
    /// Whether a signature was made over a message.
    func verifies(_ signature: [UInt8], _ message: [UInt8]) -> Bool { isValid(signature, for: message.rawSpan) }
}
