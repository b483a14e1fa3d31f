// SPDX-License-Identifier: Apache-2.0

import CTSS2
import CarrelBytes
import CarrelCrypto
import CarrelVault

/// A connection to a TPM for one operation. When it ends, every object and session it made is flushed.
///
/// Authorization values and secrets are encrypted on the way by a session that is salted for the storage key, so that a listener on the bus
/// does not see them. An active attacker on the bus can pose as the TPM: the storage key is not checked against a certificate.
@safe
final class TPMConnection {
    private var transport: OpaquePointer?
    private var context: OpaquePointer?
    private var handles: [ESYS_TR] = []
    private let auth: Secret?
    private var session: ESYS_TR = 0xfff
    private var primary: ESYS_TR = 0xfff
    /// The public half of the storage key: another TPM, or a cleared one, has another.
    private(set) var storageKey: [UInt8] = []

    private static let none: ESYS_TR = 0xfff
    private static let password: ESYS_TR = 0xff
    private static let owner: ESYS_TR = 0x101

    /// - Parameters:
    ///   - tcti: how the TPM is reached, in tpm2-tools syntax.
    ///   - auth: the authorization value of the vault's objects; nil for none.
    /// - Throws: ``TPMFailure`` if no TPM is available, or it is full.
    init(tcti: String, auth: Secret?) throws(TPMFailure) {
        self.auth = auth
        try check(unsafe Tss2_TctiLdr_Initialize(tcti, &transport), "Tss2_TctiLdr_Initialize")
        try check(unsafe Esys_Initialize(&context, transport, nil), "Esys_Initialize")
        try makePrimary()
        try startSession()
    }

    deinit {
        for handle in handles.reversed() { _ = unsafe Esys_FlushContext(context, handle) }
        if unsafe context != nil { unsafe Esys_Finalize(&context) }
        if unsafe transport != nil { unsafe Tss2_TctiLdr_Finalize(&transport) }
    }

    /// Makes a key.
    ///
    /// - Returns: its public half, and the object to be kept.
    func makeKey(_ uses: VaultKeyUses) throws(TPMFailure) -> (publicKey: P256.PublicKey, object: [UInt8]) {
        let (publicKey, object) = try create(TPMTemplate.key(uses, hasAuth: auth != nil), data: nil)
        guard let publicKey else { throw TPMFailure.unreadable("Esys_Create") }
        return (publicKey, object)
    }

    /// Makes an object that holds data, up to 128 bytes.
    func seal(_ data: Secret) throws(TPMFailure) -> [UInt8] {
        try create(TPMTemplate.sealed(hasAuth: auth != nil), data: data).object
    }

    /// The data of an object that ``seal(_:)`` made.
    func unseal(_ object: [UInt8]) throws(TPMFailure) -> Secret {
        let handle = try load(object)
        try protect(response: true, request: false)
        var data: UnsafeMutablePointer<TPM2B_SENSITIVE_DATA>?
        try check(unsafe Esys_Unseal(context, handle, session, Self.none, Self.none, &data), "Esys_Unseal")
        guard let data = unsafe data else { throw TPMFailure.unreadable("Esys_Unseal") }
        defer { unsafe wipeAndFree(data) }
        return unsafe withUnsafeBytes(of: data.pointee.buffer) { bytes in
            unsafe Secret(copying: RawSpan(_unsafeBytes: bytes.prefix(Int(data.pointee.size))))
        }
    }

    /// Signs a digest with ECDSA.
    ///
    /// - Returns: R and S, 64 bytes.
    func sign(_ digest: [UInt8], with object: [UInt8]) throws(TPMFailure) -> [UInt8] {
        let handle = try load(object)
        try protect(response: false, request: true)
        var hash = TPM2B_DIGEST()
        hash.size = UInt16(digest.count)
        unsafe withUnsafeMutableBytes(of: &hash.buffer) { unsafe $0.copyBytes(from: digest) }
        var scheme = TPMT_SIG_SCHEME()
        scheme.scheme = TPM2_ALG_ECDSA
        unsafe scheme.details.ecdsa.hashAlg = TPM2_ALG_SHA256
        var ticket = TPMT_TK_HASHCHECK()
        ticket.tag = TPM2_ST_HASHCHECK
        ticket.hierarchy = TPM2_RH_NULL
        var signature: UnsafeMutablePointer<TPMT_SIGNATURE>?
        try check(
            unsafe Esys_Sign(context, handle, session, Self.none, Self.none, &hash, &scheme, &ticket, &signature),
            "Esys_Sign"
        )
        defer { unsafe Esys_Free(signature) }
        guard let signature = unsafe signature, unsafe signature.pointee.sigAlg == TPM2_ALG_ECDSA,
            let r = unsafe TPMBytes.number(signature.pointee.signature.ecdsa.signatureR),
            let s = unsafe TPMBytes.number(signature.pointee.signature.ecdsa.signatureS)
        else { throw TPMFailure.unreadable("Esys_Sign") }
        return r + s
    }

    /// The secret that a key shares with another.
    func agree(with object: [UInt8], _ other: P256.PublicKey) throws(TPMFailure) -> Secret {
        let handle = try load(object)
        try protect(response: true, request: true)
        var point = TPM2B_ECC_POINT()
        point.point.x = TPMBytes.parameter(other.coordinates.prefix(P256.byteCount))
        point.point.y = TPMBytes.parameter(other.coordinates.suffix(P256.byteCount))
        var product: UnsafeMutablePointer<TPM2B_ECC_POINT>?
        try check(
            unsafe Esys_ECDH_ZGen(context, handle, session, Self.none, Self.none, &point, &product),
            "Esys_ECDH_ZGen"
        )
        guard let product = unsafe product else { throw TPMFailure.unreadable("Esys_ECDH_ZGen") }
        defer { unsafe wipeAndFree(product) }
        guard var x = unsafe TPMBytes.number(product.pointee.point.x) else {
            throw TPMFailure.unreadable("Esys_ECDH_ZGen")
        }
        defer { unsafe x.withUnsafeMutableBytes { unsafe wipe($0) } }
        return Secret(copying: x.rawSpan)
    }

    private func makePrimary() throws(TPMFailure) {
        var template = TPMTemplate.primary
        var sensitive = TPM2B_SENSITIVE_CREATE()
        var (outside, registers) = (TPM2B_DATA(), TPML_PCR_SELECTION())
        var area: UnsafeMutablePointer<TPM2B_PUBLIC>?
        let code = unsafe Esys_CreatePrimary(
            context,
            Self.owner,
            Self.password,
            Self.none,
            Self.none,
            &sensitive,
            &template,
            &outside,
            &registers,
            &primary,
            &area,
            nil,
            nil,
            nil
        )
        try check(code, "Esys_CreatePrimary")
        handles.append(primary)
        defer { unsafe Esys_Free(area) }
        guard let key = unsafe area.flatMap({ unsafe TPMBytes.publicKey($0) }) else {
            throw TPMFailure.unreadable("Esys_CreatePrimary")
        }
        storageKey = key.coordinates
    }

    private func startSession() throws(TPMFailure) {
        var symmetric = TPMT_SYM_DEF()
        symmetric.algorithm = TPM2_ALG_AES
        unsafe symmetric.keyBits.aes = 128
        unsafe symmetric.mode.aes = TPM2_ALG_CFB
        let code = unsafe Esys_StartAuthSession(
            context,
            primary,
            Self.none,
            Self.none,
            Self.none,
            Self.none,
            nil,
            TPM2_SE_HMAC,
            &symmetric,
            TPM2_ALG_SHA256,
            &session
        )
        try check(code, "Esys_StartAuthSession")
        handles.append(session)
    }

    /// Chooses what the next command encrypts: its first parameter, and the first of its response.
    private func protect(response: Bool, request: Bool) throws(TPMFailure) {
        let flags =
            TPMA_SESSION_CONTINUESESSION | (request ? TPMA_SESSION_DECRYPT : 0) | (response ? TPMA_SESSION_ENCRYPT : 0)
        try check(unsafe Esys_TRSess_SetAttributes(context, session, flags, 0xff), "Esys_TRSess_SetAttributes")
    }

    private func create(
        _ template: TPM2B_PUBLIC,
        data: Secret?
    ) throws(TPMFailure) -> (publicKey: P256.PublicKey?, object: [UInt8]) {
        var template = template
        var sensitive = TPM2B_SENSITIVE_CREATE()
        defer { unsafe withUnsafeMutableBytes(of: &sensitive) { unsafe wipe($0) } }
        if let auth { sensitive.sensitive.userAuth = Self.value(auth) }
        if let data {
            sensitive.sensitive.data.size = UInt16(data.count)
            data.withBytes { data in
                unsafe withUnsafeMutableBytes(of: &sensitive.sensitive.data.buffer) { buffer in
                    unsafe data.withUnsafeBytes { unsafe buffer.copyMemory(from: $0) }
                }
            }
        }
        try protect(response: true, request: true)
        var (outside, registers) = (TPM2B_DATA(), TPML_PCR_SELECTION())
        var privateArea: UnsafeMutablePointer<TPM2B_PRIVATE>?
        var publicArea: UnsafeMutablePointer<TPM2B_PUBLIC>?
        let code = unsafe Esys_Create(
            context,
            primary,
            session,
            Self.none,
            Self.none,
            &sensitive,
            &template,
            &outside,
            &registers,
            &privateArea,
            &publicArea,
            nil,
            nil,
            nil
        )
        try check(code, "Esys_Create")
        defer {
            unsafe Esys_Free(privateArea)
            unsafe Esys_Free(publicArea)
        }
        guard let privateArea = unsafe privateArea, let publicArea = unsafe publicArea else {
            throw TPMFailure.unreadable("Esys_Create")
        }
        return unsafe (TPMBytes.publicKey(publicArea), try TPMBytes.object(publicArea, privateArea))
    }

    private func load(_ object: [UInt8]) throws(TPMFailure) -> ESYS_TR {
        guard var (publicArea, privateArea) = TPMBytes.areas(object) else {
            throw TPMFailure.altered
        }
        try protect(response: false, request: true)
        var handle = Self.none
        try check(
            unsafe Esys_Load(context, primary, session, Self.none, Self.none, &privateArea, &publicArea, &handle),
            "Esys_Load"
        )
        handles.append(handle)
        if let auth {
            var value = Self.value(auth)
            defer { unsafe withUnsafeMutableBytes(of: &value) { unsafe wipe($0) } }
            try check(unsafe Esys_TR_SetAuth(context, handle, &value), "Esys_TR_SetAuth")
        }
        return handle
    }

    private static func value(_ auth: Secret) -> TPM2B_AUTH {
        var value = TPM2B_AUTH()
        value.size = UInt16(auth.count)
        auth.withBytes { auth in
            unsafe withUnsafeMutableBytes(of: &value.buffer) { buffer in
                unsafe auth.withUnsafeBytes { unsafe buffer.copyMemory(from: $0) }
            }
        }
        return value
    }

    private func wipeAndFree<Value>(_ value: UnsafeMutablePointer<Value>) {
        unsafe SecretMemory.wipe(value, MemoryLayout<Value>.size)
        unsafe Esys_Free(value)
    }

    private func wipe(_ bytes: UnsafeMutableRawBufferPointer) {
        if let start = bytes.baseAddress { unsafe SecretMemory.wipe(start, bytes.count) }
    }
}
