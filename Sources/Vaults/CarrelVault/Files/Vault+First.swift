// SPDX-License-Identifier: Apache-2.0

import Glibc

extension Vault {
    /// Opens or creates the first available vault, for the first start of an app.
    ///
    /// The next vault is tried only if one is unavailable (`vault.unavailable`): a locked keyring, a wrong PIN and a dismissed
    /// prompt are errors, not a reason for a weaker vault. Later starts open the same kind of vault again (``kind(inFolder:)``),
    /// never another one.
    ///
    /// - Parameter openings: the strongest vault first.
    /// - Returns: the vault; the app tells the user its ``kind`` and ``level``.
    /// - Throws: the error of the first available vault; `vault.unavailable` if none is available.
    public static func first(of openings: [@Sendable () async throws -> Vault]) async throws -> Vault {
        var last = VaultError(.unavailable, "there is no vault on this device")
        for open in openings {
            do {
                return try await open()
            } catch let error as VaultError where error.code == .unavailable {
                last = error
            }
        }
        throw last
    }

    /// The kind of vault whose file is in a folder; nil if there is none. A token has no folder.
    ///
    /// - Parameter path: the folder's path.
    /// - Returns: the kind, or nil.
    /// - Throws: `vault.damaged`, `vault.unavailable`.
    public static func kind(inFolder path: String) throws(VaultError) -> VaultKind? {
        guard unsafe access("\(path)/vault.json", F_OK) == 0 else { return nil }
        for kind in VaultKind.allCases {
            do throws(VaultError) {
                return try VaultFolder(path, kind: kind).load().kind
            } catch {
                guard error.code == .absent else { throw error }
            }
        }
        return nil
    }
}
