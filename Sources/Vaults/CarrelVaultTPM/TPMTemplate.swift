// SPDX-License-Identifier: Apache-2.0

import CTSS2
import CarrelVault

/// Descriptions of the objects that a vault makes in a TPM (TPM 2.0 Part 2 §12.2).
enum TPMTemplate {
    static let byteCount: UInt16 = 32

    /// The storage key from the owner's seed, the same each time: the ECC P-256 template of the TCG's provisioning guidance.
    static var primary: TPM2B_PUBLIC {
        var object = TPM2B_PUBLIC()
        object.publicArea.type = TPM2_ALG_ECC
        object.publicArea.nameAlg = TPM2_ALG_SHA256
        object.publicArea.objectAttributes =
            TPMA_OBJECT_RESTRICTED | TPMA_OBJECT_DECRYPT | TPMA_OBJECT_FIXEDTPM | TPMA_OBJECT_FIXEDPARENT
            | TPMA_OBJECT_SENSITIVEDATAORIGIN | TPMA_OBJECT_USERWITHAUTH | TPMA_OBJECT_NODA
        var parameters = TPMS_ECC_PARMS()
        parameters.symmetric.algorithm = TPM2_ALG_AES
        unsafe parameters.symmetric.keyBits.aes = 128
        unsafe parameters.symmetric.mode.aes = TPM2_ALG_CFB
        parameters.scheme.scheme = TPM2_ALG_NULL
        parameters.curveID = TPM2_ECC_NIST_P256
        parameters.kdf.scheme = TPM2_ALG_NULL
        unsafe object.publicArea.parameters.eccDetail = parameters
        return object
    }

    /// Returns the template of a key that never leaves the TPM.
    ///
    /// - Parameters:
    ///   - uses: its purposes.
    ///   - hasAuth: whether it has an authorization value. Only then do wrong values count towards the TPM's lockout.
    /// - Returns: the template.
    static func key(_ uses: VaultKeyUses, hasAuth: Bool) -> TPM2B_PUBLIC {
        var object = TPM2B_PUBLIC()
        object.publicArea.type = TPM2_ALG_ECC
        object.publicArea.nameAlg = TPM2_ALG_SHA256
        object.publicArea.objectAttributes =
            TPMA_OBJECT_FIXEDTPM | TPMA_OBJECT_FIXEDPARENT | TPMA_OBJECT_SENSITIVEDATAORIGIN | TPMA_OBJECT_USERWITHAUTH
            | (uses.contains(.sign) ? TPMA_OBJECT_SIGN_ENCRYPT : 0) | (uses.contains(.agree) ? TPMA_OBJECT_DECRYPT : 0)
            | (hasAuth ? 0 : TPMA_OBJECT_NODA)
        var parameters = TPMS_ECC_PARMS()
        parameters.symmetric.algorithm = TPM2_ALG_NULL
        if uses == .sign {
            parameters.scheme.scheme = TPM2_ALG_ECDSA
            unsafe parameters.scheme.details.ecdsa.hashAlg = TPM2_ALG_SHA256
        } else {
            // The scheme comes with each call.
            parameters.scheme.scheme = TPM2_ALG_NULL
        }
        parameters.curveID = TPM2_ECC_NIST_P256
        parameters.kdf.scheme = TPM2_ALG_NULL
        unsafe object.publicArea.parameters.eccDetail = parameters
        return object
    }

    /// Data that only this TPM opens.
    static func sealed(hasAuth: Bool) -> TPM2B_PUBLIC {
        var object = TPM2B_PUBLIC()
        object.publicArea.type = TPM2_ALG_KEYEDHASH
        object.publicArea.nameAlg = TPM2_ALG_SHA256
        object.publicArea.objectAttributes =
            TPMA_OBJECT_FIXEDTPM | TPMA_OBJECT_FIXEDPARENT | TPMA_OBJECT_USERWITHAUTH | (hasAuth ? 0 : TPMA_OBJECT_NODA)
        unsafe object.publicArea.parameters.keyedHashDetail.scheme.scheme = TPM2_ALG_NULL
        return object
    }
}
