// SPDX-License-Identifier: Apache-2.0

import CPKCS11
import CarrelBytes
import CarrelCrypto

/// A signed-in session at a token. One thread at a time.
@safe
final class PKCS11Session {
    private let module: PKCS11Module
    private let handle: CK_SESSION_HANDLE

    private var functions: CK_FUNCTION_LIST { unsafe module.functions.pointee }

    /// The object identifier of the curve P-256, in DER.
    private static let curve: [UInt8] = [0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07]

    init(_ module: PKCS11Module, _ token: PKCS11Token, pin: Secret?) throws(PKCS11Failure) {
        self.module = module
        let slot = try module.slot(of: token)
        var handle: CK_SESSION_HANDLE = 0
        let flags = CK_FLAGS(CKF_SERIAL_SESSION) | CK_FLAGS(CKF_RW_SESSION)
        try check(unsafe module.functions.pointee.C_OpenSession(slot, flags, nil, nil, &handle), "C_OpenSession")
        self.handle = handle
        try module.signIn(pin, handle, slot)
    }

    deinit {
        _ = functions.C_CloseSession(handle)
    }

    /// A key's private half, and what the token has on it.
    struct Key {
        fileprivate let handle: CK_OBJECT_HANDLE
        let uses: (sign: Bool, agree: Bool)
        let publicKey: P256.PublicKey
    }

    /// Finds the key of a label.
    func key(labeled label: String) throws(PKCS11Failure) -> Key? {
        let handles = try find(objects(label, CK_ULONG(CKO_PRIVATE_KEY)))
        guard let handle = handles.first else { return nil }
        guard handles.count == 1 else { throw .odd("several keys are called '\(label)'") }
        let id = try attribute(CK_ATTRIBUTE_TYPE(CKA_ID), of: handle)
        let publics = try find(objects(label, CK_ULONG(CKO_PUBLIC_KEY)).with(CK_ATTRIBUTE_TYPE(CKA_ID), id))
        // A half alone is left of an interrupted call.
        guard let publicHandle = publics.first else { return nil }
        return Key(
            handle: handle,
            uses: (try flag(CK_ATTRIBUTE_TYPE(CKA_SIGN), of: handle), try flag(CK_ATTRIBUTE_TYPE(CKA_DERIVE), of: handle)),
            publicKey: try point(of: publicHandle)
        )
    }

    /// Creates a key that the token never exports.
    func makeKey(labeled label: String, sign: Bool, agree: Bool) throws(PKCS11Failure) -> P256.PublicKey {
        let id = Random.bytes(16)
        func half(_ attributes: PKCS11Attributes) -> PKCS11Attributes {
            attributes.with(CK_ATTRIBUTE_TYPE(CKA_TOKEN), true).with(CK_ATTRIBUTE_TYPE(CKA_PRIVATE), true)
                .with(CK_ATTRIBUTE_TYPE(CKA_LABEL), Array(label.utf8)).with(CK_ATTRIBUTE_TYPE(CKA_ID), id)
        }
        let publicHalf = half(PKCS11Attributes().with(CK_ATTRIBUTE_TYPE(CKA_EC_PARAMS), Self.curve))
            .with(CK_ATTRIBUTE_TYPE(CKA_VERIFY), sign)
        let privateHalf = half(PKCS11Attributes()).with(CK_ATTRIBUTE_TYPE(CKA_SENSITIVE), true)
            .with(CK_ATTRIBUTE_TYPE(CKA_EXTRACTABLE), false).with(CK_ATTRIBUTE_TYPE(CKA_SIGN), sign)
            .with(CK_ATTRIBUTE_TYPE(CKA_DERIVE), agree).with(CK_ATTRIBUTE_TYPE(CKA_DECRYPT), false)
            .with(CK_ATTRIBUTE_TYPE(CKA_UNWRAP), false)
        var mechanism = unsafe CK_MECHANISM(mechanism: CK_MECHANISM_TYPE(CKM_EC_KEY_PAIR_GEN), pParameter: nil, ulParameterLen: 0)
        var (publicHandle, privateHandle): (CK_OBJECT_HANDLE, CK_OBJECT_HANDLE) = (0, 0)
        let value = unsafe publicHalf.lend { first, firstCount in
            unsafe privateHalf.lend { second, secondCount in
                unsafe functions.C_GenerateKeyPair(
                    handle,
                    &mechanism,
                    first,
                    firstCount,
                    second,
                    secondCount,
                    &publicHandle,
                    &privateHandle
                )
            }
        }
        try check(value, "C_GenerateKeyPair")
        guard try flag(CK_ATTRIBUTE_TYPE(CKA_SENSITIVE), of: privateHandle),
            try !flag(CK_ATTRIBUTE_TYPE(CKA_EXTRACTABLE), of: privateHandle)
        else {
            try destroy([publicHandle, privateHandle])
            throw .odd("the token made a key that can be exported")
        }
        return try point(of: publicHandle)
    }

    /// Removes halves of keys of a label, of which there is no whole one.
    func removeHalves(labeled label: String) throws(PKCS11Failure) {
        if try key(labeled: label) == nil { try removeKey(labeled: label) }
    }

    /// Removes the key of a label.
    func removeKey(labeled label: String) throws(PKCS11Failure) {
        // The private half last, so that an interrupted removal can be repeated.
        try destroy(find(objects(label, CK_ULONG(CKO_PUBLIC_KEY))))
        try destroy(find(objects(label, CK_ULONG(CKO_PRIVATE_KEY))))
    }

    /// Signs a digest.
    ///
    /// - Returns: R and S, 64 bytes.
    func sign(_ digest: [UInt8], with key: Key) throws(PKCS11Failure) -> [UInt8] {
        var mechanism = unsafe CK_MECHANISM(mechanism: CK_MECHANISM_TYPE(CKM_ECDSA), pParameter: nil, ulParameterLen: 0)
        try check(unsafe functions.C_SignInit(handle, &mechanism, key.handle), "C_SignInit")
        var (digest, signature) = (digest, [UInt8](repeating: 0, count: 2 * P256.byteCount))
        var count = CK_ULONG(signature.count)
        try check(unsafe functions.C_Sign(handle, &digest, CK_ULONG(digest.count), &signature, &count), "C_Sign")
        guard count == CK_ULONG(signature.count) else { throw .odd("the token made a signature of \(count) bytes") }
        return signature
    }

    /// The secret that a key shares with another.
    func agree(with key: Key, _ other: P256.PublicKey) throws(PKCS11Failure) -> Secret {
        let point = [0x04] + other.coordinates
        let derived: CK_OBJECT_HANDLE
        do throws(PKCS11Failure) {
            derived = try derive(key, point)
        } catch .call(let value, _) where value == CKR_MECHANISM_PARAM_INVALID || value == CKR_ARGUMENTS_BAD {
            // PKCS#11 2.40 §2.3.6 allows both encodings, and some modules accept only DER.
            derived = try derive(key, [0x04, UInt8(point.count)] + point)
        }
        defer { _ = functions.C_DestroyObject(handle, derived) }
        var value = try attribute(CK_ATTRIBUTE_TYPE(CKA_VALUE), of: derived)
        defer { unsafe value.withUnsafeMutableBytes { unsafe wipe($0) } }
        guard value.count == P256.byteCount else { throw .odd("the token derived \(value.count) bytes") }
        return Secret(copying: value.rawSpan)
    }

    private func derive(_ key: Key, _ point: [UInt8]) throws(PKCS11Failure) -> CK_OBJECT_HANDLE {
        let template = PKCS11Attributes().with(CK_ATTRIBUTE_TYPE(CKA_CLASS), CK_ULONG(CKO_SECRET_KEY))
            .with(CK_ATTRIBUTE_TYPE(CKA_KEY_TYPE), CK_ULONG(CKK_GENERIC_SECRET)).with(CK_ATTRIBUTE_TYPE(CKA_TOKEN), false)
            .with(CK_ATTRIBUTE_TYPE(CKA_SENSITIVE), false).with(CK_ATTRIBUTE_TYPE(CKA_EXTRACTABLE), true)
            .with(CK_ATTRIBUTE_TYPE(CKA_VALUE_LEN), CK_ULONG(P256.byteCount))
        var point = point
        var derived: CK_OBJECT_HANDLE = 0
        let value = unsafe point.withUnsafeMutableBufferPointer { point in
            var parameters = unsafe CK_ECDH1_DERIVE_PARAMS(
                kdf: CK_ULONG(CKD_NULL),
                ulSharedDataLen: 0,
                pSharedData: nil,
                ulPublicDataLen: CK_ULONG(point.count),
                pPublicData: point.baseAddress
            )
            return unsafe withUnsafeMutablePointer(to: &parameters) { parameters in
                var mechanism = unsafe CK_MECHANISM(
                    mechanism: CK_MECHANISM_TYPE(CKM_ECDH1_DERIVE),
                    pParameter: parameters,
                    ulParameterLen: CK_ULONG(MemoryLayout<CK_ECDH1_DERIVE_PARAMS>.size)
                )
                return unsafe template.lend { attributes, count in
                    unsafe functions.C_DeriveKey(handle, &mechanism, key.handle, attributes, count, &derived)
                }
            }
        }
        try check(value, "C_DeriveKey")
        return derived
    }

    private func objects(_ label: String, _ class: CK_ULONG) -> PKCS11Attributes {
        PKCS11Attributes().with(CK_ATTRIBUTE_TYPE(CKA_CLASS), `class`).with(CK_ATTRIBUTE_TYPE(CKA_KEY_TYPE), CK_ULONG(CKK_EC))
            .with(CK_ATTRIBUTE_TYPE(CKA_TOKEN), true).with(CK_ATTRIBUTE_TYPE(CKA_PRIVATE), true)
            .with(CK_ATTRIBUTE_TYPE(CKA_LABEL), Array(label.utf8))
    }

    private func find(_ attributes: PKCS11Attributes) throws(PKCS11Failure) -> [CK_OBJECT_HANDLE] {
        let status = unsafe attributes.lend { list, count in unsafe functions.C_FindObjectsInit(handle, list, count) }
        try check(status, "C_FindObjectsInit")
        var handles = [CK_OBJECT_HANDLE](repeating: 0, count: 16)
        var count: CK_ULONG = 0
        let value = unsafe functions.C_FindObjects(handle, &handles, CK_ULONG(handles.count), &count)
        _ = functions.C_FindObjectsFinal(handle)
        try check(value, "C_FindObjects")
        return Array(handles.prefix(Int(count)))
    }

    private func attribute(_ type: CK_ATTRIBUTE_TYPE, of object: CK_OBJECT_HANDLE) throws(PKCS11Failure) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 256)
        var count = 0
        let value = unsafe bytes.withUnsafeMutableBytes { bytes in
            var attribute = unsafe CK_ATTRIBUTE(type: type, pValue: bytes.baseAddress, ulValueLen: CK_ULONG(bytes.count))
            let value = unsafe functions.C_GetAttributeValue(handle, object, &attribute, 1)
            count = unsafe Int(truncatingIfNeeded: attribute.ulValueLen)
            return value
        }
        defer { unsafe bytes.withUnsafeMutableBytes { unsafe wipe($0) } }
        try check(value, "C_GetAttributeValue")
        guard 0...bytes.count ~= count else { throw .odd("an attribute has no length") }
        return Array(bytes.prefix(count))
    }

    private func flag(_ type: CK_ATTRIBUTE_TYPE, of object: CK_OBJECT_HANDLE) throws(PKCS11Failure) -> Bool {
        try attribute(type, of: object) == [1]
    }

    /// The point of a public key, which modules return with or without a DER octet string around it.
    private func point(of object: CK_OBJECT_HANDLE) throws(PKCS11Failure) -> P256.PublicKey {
        var point = try attribute(CK_ATTRIBUTE_TYPE(CKA_EC_POINT), of: object)
        if point.count == 67, point[0] == 0x04, point[1] == 65 { point.removeFirst(2) }
        guard point.count == 65, point[0] == 0x04,
            let key = try? P256.PublicKey(x: Array(point[1...32]), y: Array(point[33...64]))
        else { throw .odd("a public key is not on the curve P-256") }
        return key
    }

    private func destroy(_ objects: [CK_OBJECT_HANDLE]) throws(PKCS11Failure) {
        for object in objects {
            let value = functions.C_DestroyObject(handle, object)
            // another process may have been faster
            if value != CKR_OBJECT_HANDLE_INVALID { try check(value, "C_DestroyObject") }
        }
    }

    private func wipe(_ bytes: UnsafeMutableRawBufferPointer) {
        if let start = bytes.baseAddress { unsafe SecretMemory.wipe(start, bytes.count) }
    }
}
