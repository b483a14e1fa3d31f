// SPDX-License-Identifier: Apache-2.0

import CTSS2
import CarrelVault

/// A response code of the TPM or its software stack, or the vault's own reason.
struct TPMFailure: Error {
    let code: TSS2_RC
    let function: StaticString
    /// The vault's own reason.
    private let reason: VaultError?

    init(code: TSS2_RC, function: StaticString) {
        (self.code, self.function, reason) = (code, function, nil)
    }

    init(_ reason: VaultError) {
        (code, function, self.reason) = (0, "", reason)
    }

    /// The TPM's own code without the number of the parameter, session or handle (TPM 2.0 Part 2 §6.6); nil for codes of the
    /// stack.
    private var response: TSS2_RC? {
        let layer = code >> 16
        // the TPM itself, or the same by way of a resource manager
        guard layer == 0 || layer == 12 else { return nil }
        let response = code & 0xffff
        return response & 0x80 != 0 ? response & 0xbf : response
    }

    /// A response that lacks something (TPM_RC_FAILURE).
    static func unreadable(_ function: StaticString) -> TPMFailure { TPMFailure(code: 0x101, function: function) }

    /// An object that cannot be read (TPM_RC_INTEGRITY).
    static let altered = TPMFailure(code: 0x9f, function: "Esys_Load")

    /// Whether the TPM has no room or no time now, because other programs use it without a resource manager.
    var isBusy: Bool { response.map { [0x902, 0x903, 0x904, 0x905, 0x906, 0x908, 0x90a, 0x922].contains($0) } ?? false }

    var vaultError: VaultError {
        if let reason { return reason }
        return switch response {
        case 0x8e, 0xa2: VaultError(.pin, "the TPM refused the authorization value", recommendation: "enter the right passphrase")
        case 0x921:
            VaultError(
                .locked,
                "the TPM is locked after too many wrong authorization values",
                recommendation:
                    "wait, or clear the lockout with the TPM's lockout authorization (tpm2_dictionarylockout --clear-lockout)"
            )
        case 0x9f: VaultError(.damaged, "the TPM refused a key: it was altered")
        case 0x902, 0x903, 0x904, 0x905, 0x906:
            VaultError(
                .unavailable,
                "the TPM has no room for another object",
                recommendation: "use a resource manager, such as /dev/tpmrm0, or end programs that use the TPM"
            )
        case 0x100: VaultError(.unavailable, "the TPM was not started", recommendation: "start the TPM (TPM2_Startup)")
        case let response?: VaultError(.unavailable, "the TPM failed: \(function) returned 0x\(String(response, radix: 16))")
        case nil:
            VaultError(
                .unavailable,
                "the TPM does not answer (\(function), 0x\(String(code, radix: 16)))",
                recommendation: "check that there is a TPM 2.0, that it is switched on, and that this user may use it (group tss)"
            )
        }
    }
}

/// Throws the return value of a call, unless it is success.
func check(_ code: TSS2_RC, _ function: StaticString) throws(TPMFailure) {
    guard code == 0 else { throw TPMFailure(code: code, function: function) }
}
