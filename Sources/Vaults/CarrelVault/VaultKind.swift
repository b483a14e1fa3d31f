// SPDX-License-Identifier: Apache-2.0

/// A place that keeps keys.
public enum VaultKind: String, Sendable, Hashable, CaseIterable {
    /// A file, sealed under a passphrase.
    case file
    /// The desktop's keyring (freedesktop.org Secret Service), which is unlocked by signing in.
    case secretService = "secret-service"
    /// A smart card, a USB token or a module that emulates one (PKCS#11 2.40).
    case pkcs11
    /// The machine's security chip (TPM 2.0).
    case tpm
}
