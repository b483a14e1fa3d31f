// SPDX-License-Identifier: Apache-2.0

import CTSS2
import CarrelBytes
import CarrelCrypto

/// Values of the TPM's interface from and to bytes.
enum TPMBytes {
    /// Room for the encoding of a public and a private area.
    private static let room = 4096

    /// The concatenated encodings of an object's two areas.
    static func object(
        _ publicArea: UnsafePointer<TPM2B_PUBLIC>,
        _ privateArea: UnsafePointer<TPM2B_PRIVATE>
    ) throws(TPMFailure) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: room)
        var offset = 0
        try check(unsafe Tss2_MU_TPM2B_PUBLIC_Marshal(publicArea, &bytes, room, &offset), "Tss2_MU_TPM2B_PUBLIC_Marshal")
        try check(unsafe Tss2_MU_TPM2B_PRIVATE_Marshal(privateArea, &bytes, room, &offset), "Tss2_MU_TPM2B_PRIVATE_Marshal")
        return Array(bytes.prefix(offset))
    }

    /// An object's two areas; nil for bytes that ``object(_:_:)`` did not return.
    static func areas(_ bytes: [UInt8]) -> (TPM2B_PUBLIC, TPM2B_PRIVATE)? {
        var offset = 0
        var publicArea = TPM2B_PUBLIC()
        var privateArea = TPM2B_PRIVATE()
        guard unsafe Tss2_MU_TPM2B_PUBLIC_Unmarshal(bytes, bytes.count, &offset, &publicArea) == 0,
            unsafe Tss2_MU_TPM2B_PRIVATE_Unmarshal(bytes, bytes.count, &offset, &privateArea) == 0, offset == bytes.count
        else { return nil }
        return (publicArea, privateArea)
    }

    /// A coordinate or half of a signature, 32 bytes, from which some TPMs leave leading zeros out.
    static func number(_ parameter: TPM2B_ECC_PARAMETER) -> [UInt8]? {
        let count = Int(parameter.size)
        guard count <= P256.byteCount else { return nil }
        let bytes = unsafe withUnsafeBytes(of: parameter.buffer) { unsafe Array($0.prefix(count)) }
        return [UInt8](repeating: 0, count: P256.byteCount - count) + bytes
    }

    /// A number of 32 bytes for the TPM.
    static func parameter(_ number: some Collection<UInt8>) -> TPM2B_ECC_PARAMETER {
        var parameter = TPM2B_ECC_PARAMETER()
        parameter.size = UInt16(number.count)
        unsafe withUnsafeMutableBytes(of: &parameter.buffer) { unsafe $0.copyBytes(from: number) }
        return parameter
    }

    /// The key of a public area on P-256.
    static func publicKey(_ area: UnsafePointer<TPM2B_PUBLIC>) -> P256.PublicKey? {
        let point = unsafe area.pointee.publicArea.unique.ecc
        guard unsafe area.pointee.publicArea.type == TPM2_ALG_ECC, let x = number(point.x), let y = number(point.y) else {
            return nil
        }
        return try? P256.PublicKey(x: x, y: y)
    }
}
