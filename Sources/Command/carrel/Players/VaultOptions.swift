// SPDX-License-Identifier: Apache-2.0

import CLinux
import CarrelFiles
package import CarrelCommandLine
package import CarrelPlayer
package import CarrelVault
import CarrelVaultPKCS11
import CarrelVaultSecretService
import CarrelVaultTPM
import Glibc

extension VaultKind: TextValue {}

/// Options for the vault with a player's keys, and how it is opened.
struct VaultOptions: ParameterGroup, Sendable {
    var kind: VaultKind?

    static var parameters: [Parameter<VaultOptions>] {
        [
            .option(
                \.kind,
                "--vault",
                help:
                    "The vault for the keys; default: the player's; for a new one the first of tpm, pkcs11, secret-service and file that answers.",
                group: "Vault",
                environment: "CARREL_VAULT"
            )
        ]
    }

    /// The variable with the passphrase of a file vault.
    static let passphraseVariable = "CARREL_VAULT_PASSPHRASE"
    /// How the TPM is reached; default: the kernel's resource manager.
    private static let tpmVariable = "CARREL_TPM"
    /// The PKCS#11 module, the label of its token, and the PIN.
    private static let moduleVariable = "CARREL_PKCS11_MODULE"
    private static let tokenVariable = "CARREL_PKCS11_TOKEN"
    private static let pinVariable = "CARREL_PKCS11_PIN"

    /// Opens the vault of a player, or creates it.
    ///
    /// - Parameters:
    ///   - folder: the player's folder.
    ///   - console: shows the passphrase prompt; nil writes it to standard error.
    /// - Returns: the vault.
    /// - Throws: ``VaultProblem`` without a passphrase; the errors of the vault.
    func open(in folder: String, _ console: Console?) async throws -> Vault {
        // The passphrase is in this process's environment.
        clinux_forbid_dumps()
        let known = try PlayerEngine.vaultKind(of: folder)
        let place = "\(folder)/vault"
        // A vault without a player is left from a failed first start, or seals other files of the reader.
        let found = try known ?? Vault.kind(inFolder: place) ?? Self.recorded(in: folder)
        if let found, let kind, found != kind {
            throw UsageError(
                .badValue,
                "the player's keys are in the vault '\(found.rawValue)'; another one is never taken instead"
            )
        }
        if let found { return try await Self.open(found, place, isNew: false, console) }
        if let kind {
            let vault = try await Self.open(kind, place, isNew: true, console)
            try Self.record(kind, in: folder)
            return vault
        }
        let vault = try await Self.first(place, console)
        try Self.record(vault.kind, in: folder)
        console?.note("the keys of this device are in the vault '\(vault.kind.rawValue)', level \(vault.level.rawValue)")
        return vault
    }

    /// The recorded kind of vault for a folder without a player, because a token leaves no file.
    private static func recorded(in folder: String) throws -> VaultKind? {
        let path = "\(folder)/vault-kind"
        guard unsafe access(path, F_OK) == 0 else { return nil }
        let text = String(decoding: try SmallFile.read(path, limit: 100), as: UTF8.self)
        guard let kind = VaultKind(rawValue: String(text.prefix { $0 != "\n" })) else {
            let kinds = VaultKind.allCases.map(\.rawValue).joined(separator: ", ")
            throw UsageError(.badValue, "\(path) names no vault: it must have one of \(kinds)")
        }
        return kind
    }

    private static func record(_ kind: VaultKind, in folder: String) throws {
        try DurableFile.replace("\(folder)/vault-kind", with: Array("\(kind.rawValue)\n".utf8), folderSync: .attempted)
    }

    private static func open(_ kind: VaultKind, _ place: String, isNew: Bool, _ console: Console?) async throws -> Vault {
        switch kind {
        case .file:
            let passphrase = try passphrase(console, isNew: isNew)
            return try await Vault.file(folder: place, passphrase: passphrase, create: isNew)
        case .secretService: return try await Vault.secretService(folder: place, create: isNew)
        case .tpm: return try await Vault.tpm(folder: place, tcti: tpm, create: isNew)
        case .pkcs11: return try await token(console)
        }
    }

    private static var tpm: String { ReaderFolder.variable(tpmVariable) ?? "device:/dev/tpmrm0" }

    /// The first available vault: TPM, the token named by the environment, keyring, file.
    private static func first(_ place: String, _ console: Console?) async throws -> Vault {
        let hasTPM = unsafe access("/dev/tpmrm0", F_OK) == 0
        var kinds: [VaultKind] = hasTPM || ReaderFolder.variable(tpmVariable) != nil ? [.tpm] : []
        if ReaderFolder.variable(moduleVariable) != nil { kinds.append(.pkcs11) }
        if ReaderFolder.variable("DBUS_SESSION_BUS_ADDRESS") != nil { kinds.append(.secretService) }
        return try await Vault.first(
            of: (kinds + [.file]).map { kind in { try await open(kind, place, isNew: true, console) } }
        )
    }

    /// The token named by the environment; its PIN from there, or from the terminal.
    private static func token(_ console: Console?) async throws -> Vault {
        guard let module = ReaderFolder.variable(moduleVariable), let label = ReaderFolder.variable(tokenVariable) else {
            throw UsageError(
                .badValue,
                "the vault 'pkcs11' needs \(moduleVariable) (a path) and \(tokenVariable) (the token's label)"
            )
        }
        let pin = try ReaderFolder.variable(pinVariable) ?? (isatty(STDIN_FILENO) == 1 ? PasswordInput.read(console) : nil)
        return try await Vault.pkcs11(module: module, token: .label(label), pin: pin)
    }

    private static func passphrase(_ console: Console?, isNew: Bool) throws -> String {
        if let text = ReaderFolder.variable(passphraseVariable) { return text }
        guard isatty(STDIN_FILENO) == 1 else { throw VaultProblem() }
        if isNew { console?.note("choose a passphrase for this device's keys; it cannot be recovered") }
        return try PasswordInput.read(console)
    }
}

/// The error for a file vault that needs a passphrase without a terminal.
private struct VaultProblem: ReportableError {
    var message: String { "the vault needs a passphrase" }
    var hint: String? { "set \(VaultOptions.passphraseVariable), or run this command on a terminal" }
    var exitStatus: ExitStatus { .noPermission }
}

extension VaultError: ReportableError {
    package var hint: String? { recommendation }
    package var exitStatus: ExitStatus {
        switch code {
        case .unavailable: .unavailable
        case .pin, .locked, .refused: .noPermission
        case .full: .cannotCreate
        case .absent: .noInput
        default: .badInput
        }
    }
}

extension PlayerError: ReportableError {
    package var hint: String? { recommendation }
    package var exitStatus: ExitStatus {
        switch code {
        case .network, .host: .tryAgain
        case .tls, .untrustedServer, .otherServer: .unavailable
        case .revoked, .rejected, .deviceLimit, .fingerprint, .vault, .notPersonalized: .noPermission
        case .store, .outdated: .inputOutput
        default: .badInput
        }
    }
}
