// SPDX-License-Identifier: Apache-2.0

import CPKCS11
import CarrelVault

/// Why work at a token ended.
enum PKCS11Failure: Error {
    /// A call of the module returned this value.
    case call(CK_RV, StaticString)
    /// The token returned something impossible.
    case odd(String)
    /// The vault's own reason.
    case vault(VaultError)

    /// Whether the session was lost, so that a new one may help.
    var isLostSession: Bool {
        guard case .call(let value, _) = self else { return false }
        return [
            CKR_SESSION_HANDLE_INVALID, CKR_SESSION_CLOSED, CKR_DEVICE_REMOVED, CKR_TOKEN_NOT_PRESENT, CKR_USER_NOT_LOGGED_IN,
            CKR_SLOT_ID_INVALID, CKR_CRYPTOKI_NOT_INITIALIZED,
        ].contains(value)
    }

    /// Whether the same call may succeed a moment later: modules such as SoftHSM fail if another process changes the token during
    /// the call. A PIN is never retried.
    var isPassing: Bool {
        if case .odd = self { return true }
        guard case .call(let value, let function) = self else { return false }
        return function.description != "C_Login" && [CKR_GENERAL_ERROR, CKR_FUNCTION_FAILED].contains(value)
    }

    /// The failure for the caller of the vault.
    var vaultError: VaultError {
        switch self {
        case .vault(let error): error
        case .odd(let reason): VaultError(.damaged, reason, recommendation: "use another token, or register the device again")
        case .call(let value, let function):
            switch value {
            case CKR_PIN_INCORRECT, CKR_PIN_INVALID, CKR_PIN_LEN_RANGE: VaultError(.pin, "the PIN is wrong")
            case CKR_PIN_LOCKED:
                VaultError(
                    .locked,
                    "the token is locked after too many wrong PINs",
                    recommendation: "unlock the token with its PUK or security officer's PIN"
                )
            case CKR_PIN_EXPIRED:
                VaultError(.locked, "the PIN has expired", recommendation: "change the PIN with the token's own program")
            case CKR_USER_PIN_NOT_INITIALIZED:
                VaultError(.locked, "the token has no PIN yet", recommendation: "set a PIN with the token's own program")
            case CKR_TOKEN_NOT_PRESENT, CKR_DEVICE_REMOVED, CKR_SLOT_ID_INVALID, CKR_TOKEN_NOT_RECOGNIZED:
                VaultError(.absent, "the token was removed", recommendation: "insert the token again")
            case CKR_DEVICE_MEMORY:
                VaultError(.full, "the token is full", recommendation: "remove keys that are not needed from the token")
            case CKR_TOKEN_WRITE_PROTECTED, CKR_SESSION_READ_ONLY: VaultError(.unavailable, "the token is write-protected")
            case CKR_FUNCTION_CANCELED, CKR_FUNCTION_REJECTED, CKR_CANCEL: VaultError(.refused, "the token's user refused")
            case CKR_MECHANISM_INVALID, CKR_CURVE_NOT_SUPPORTED, CKR_DOMAIN_PARAMS_INVALID:
                VaultError(
                    .unavailable,
                    "the token has no keys on the curve P-256, or cannot use them (\(function))",
                    recommendation: "use another token"
                )
            default:
                VaultError(.unavailable, "the token failed: \(function) returned 0x\(String(value, radix: 16))")
            }
        }
    }
}
