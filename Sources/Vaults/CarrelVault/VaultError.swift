// SPDX-License-Identifier: Apache-2.0

public import CarrelBytes

/// The reason for a failure of a vault. It never contains a key, a passphrase or a PIN.
public struct VaultError: CodedError {
    /// The kinds of this failure.
    public typealias Code = ErrorCode<VaultError>

    /// The kind of failure; errors with the same code are equal.
    public let code: Code
    /// A lower-case sentence without a period.
    public let message: String
    /// Advice for the user: a lower-case sentence without a period.
    public let recommendation: String

    package init(_ code: Code, _ message: String, recommendation: String? = nil) {
        self.code = code
        self.message = message
        self.recommendation = recommendation ?? Self.recommendations[code] ?? "try again"
    }

    private static let recommendations: [Code: String] = [
        .unavailable: "check that the device or service runs and that this user may use it, then try again",
        .locked: "unlock the vault, then try again",
        .absent: "insert the token or restore the vault that was used before; if it is lost, register the device again",
        .exists: "open the existing vault, or choose another folder",
        .pin: "enter the right passphrase or PIN; a token locks itself after a few wrong ones",
        .refused: "try again and allow access when the prompt appears",
        .damaged: "restore the vault's files from a backup, or register the device again",
        .full: "free some space, then try again",
        .use: "use a key that was made for this purpose",
    ]
}

extension ErrorCode where Failure == VaultError {
    /// Nothing is available: no device, no service, no module, or the files cannot be read or written.
    public static var unavailable: Self { Self("vault.unavailable") }
    /// The vault is locked.
    public static var locked: Self { Self("vault.locked") }
    /// The vault or the key does not exist, or was deleted.
    public static var absent: Self { Self("vault.absent") }
    /// A vault already exists, although one was to be created.
    public static var exists: Self { Self("vault.exists") }
    /// The passphrase or PIN is wrong.
    public static var pin: Self { Self("vault.pin") }
    /// The user dismissed the prompt.
    public static var refused: Self { Self("vault.refused") }
    /// The vault's files or sealed bytes were altered, or belong to something else.
    public static var damaged: Self { Self("vault.damaged") }
    /// There is no space left on the disk or the token.
    public static var full: Self { Self("vault.full") }
    /// The key was not made for this purpose.
    public static var use: Self { Self("vault.use") }
}

extension VaultError {
    /// A vault that was closed.
    package static let closed = VaultError(.unavailable, "the vault is closed", recommendation: "open the vault again")

    /// Sealed bytes that do not open.
    package static let sealedBytes = VaultError(
        .damaged,
        "the sealed bytes were altered, are for another purpose, or are from another vault"
    )

    /// A key that is not in the vault.
    package static func noKey(_ name: String) -> VaultError {
        VaultError(.absent, "the vault has no key '\(name)'", recommendation: "register the device again")
    }

    /// The error for a key with another purpose.
    package static func wrongUse(_ name: String, _ use: VaultKeyUses) -> VaultError {
        VaultError(.use, "the key '\(name)' was not made to \(use.words.joined(separator: " or "))")
    }
}
