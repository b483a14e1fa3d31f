// SPDX-License-Identifier: Apache-2.0

import CSecret
import CarrelVault

/// Why a call of libsecret failed.
enum SecretFailure: Error {
    /// It took too long.
    case timeout
    /// The keyring is locked.
    case locked
    /// GLib's words.
    case failed(String)
    /// The vault's own reason.
    case vault(VaultError)

    /// Reads and frees an error.
    init(_ error: UnsafeMutablePointer<GError>?) {
        guard let error = unsafe error else {
            self = .failed("no reason was given")
            return
        }
        defer { unsafe g_error_free(error) }
        if unsafe g_error_matches(error, g_io_error_quark(), CInt(csecret_io_error_cancelled)) != 0 {
            self = .timeout
        } else if unsafe g_error_matches(error, secret_error_get_quark(), CInt(csecret_error_is_locked)) != 0 {
            self = .locked
        } else {
            self = unsafe .failed(String(cString: error.pointee.message))
        }
    }

    var vaultError: VaultError {
        let advice = "sign in to a desktop session with a keyring, or use another vault"
        return switch self {
        case .timeout: VaultError(.unavailable, "the keyring does not answer in time", recommendation: advice)
        case .locked: .lockedKeyring
        case .failed(let reason): VaultError(.unavailable, "the keyring cannot be used: \(reason)", recommendation: advice)
        case .vault(let error): error
        }
    }
}

extension VaultError {
    static let lockedKeyring = VaultError(.locked, "the keyring is locked", recommendation: "unlock the keyring, then try again")
}
