// SPDX-License-Identifier: Apache-2.0

import CPKCS11
import CarrelCrypto
import CarrelFiles
import CarrelThreads
import CarrelVault
import Glibc

/// A PKCS#11 module. It is loaded once and never unloaded, because its other users in this process may need it.
@safe
final class PKCS11Module: @unchecked Sendable {  // the list of functions never changes; modules lock for themselves
    let path: String
    let functions: UnsafeMutablePointer<CK_FUNCTION_LIST>
    /// The PINs that opened tokens, by slot: a process is signed in as a whole, so a later PIN is compared with the first.
    private let pins = Locked<[CK_SLOT_ID: Secret]>([:])

    /// Held while a module is loaded: two threads must not initialize one at the same time.
    private static let modules = Locked<[String: PKCS11Module]>([:])

    /// The module of a path.
    ///
    /// - Throws: `vault.unavailable`.
    static func load(_ path: String) throws(VaultError) -> PKCS11Module {
        guard path.hasPrefix("/") else {
            throw VaultError(.unavailable, "the path of a PKCS#11 module is absolute", recommendation: "give the whole path")
        }
        return try modules.withLock { modules throws(VaultError) in
            if let module = modules[path] { return module }
            let module = try PKCS11Module(path)
            modules[path] = module
            return module
        }
    }

    private init(_ path: String) throws(VaultError) {
        self.path = path
        guard let library = unsafe dlopen(path, RTLD_NOW | RTLD_LOCAL) else {
            let reason = unsafe dlerror().map { unsafe String(cString: $0) } ?? "no reason"
            throw VaultError(
                .unavailable,
                "the PKCS#11 module cannot be loaded: \(reason)",
                recommendation: "install the token's module and give its path"
            )
        }
        typealias GetFunctionList = @convention(c) (UnsafeMutablePointer<UnsafeMutablePointer<CK_FUNCTION_LIST>?>) -> CK_RV
        var list: UnsafeMutablePointer<CK_FUNCTION_LIST>?
        guard let symbol = unsafe dlsym(library, "C_GetFunctionList"),
            unsafe unsafeBitCast(symbol, to: GetFunctionList.self)(&list) == CKR_OK, let list = unsafe list
        else {
            unsafe dlclose(library)
            throw VaultError(.unavailable, "\(path) is not a PKCS#11 module", recommendation: "give the path of a PKCS#11 module")
        }
        unsafe functions = list
        var arguments = unsafe CK_C_INITIALIZE_ARGS()
        unsafe arguments.flags = CK_FLAGS(CKF_OS_LOCKING_OK)
        let value = try Self.withFileLock(path) { () throws(VaultError) in unsafe list.pointee.C_Initialize(&arguments) }
        guard value == CKR_OK || value == CKR_CRYPTOKI_ALREADY_INITIALIZED else {
            throw VaultError(
                .unavailable,
                "the PKCS#11 module cannot be used: C_Initialize returned 0x\(String(value, radix: 16))"
            )
        }
    }

    /// The slot of a token.
    ///
    /// - Throws: `vault.absent` if it is not inserted; `vault.unavailable` if several have the label.
    func slot(of token: PKCS11Token) throws(PKCS11Failure) -> CK_SLOT_ID {
        var count: CK_ULONG = 0
        try check(unsafe functions.pointee.C_GetSlotList(1, nil, &count), "C_GetSlotList")
        var slots = [CK_SLOT_ID](repeating: 0, count: Int(count) + 8)
        count = CK_ULONG(slots.count)
        try check(unsafe functions.pointee.C_GetSlotList(1, &slots, &count), "C_GetSlotList")
        let matches = slots.prefix(Int(count)).filter { slot in
            var info = CK_TOKEN_INFO()
            guard unsafe functions.pointee.C_GetTokenInfo(slot, &info) == CKR_OK,
                info.flags & CK_FLAGS(CKF_TOKEN_INITIALIZED) != 0
            else { return false }
            return switch token {
            case .label(let label): unsafe withUnsafeBytes(of: info.label) { unsafe Self.text($0) } == label
            case .serial(let serial): unsafe withUnsafeBytes(of: info.serialNumber) { unsafe Self.text($0) } == serial
            }
        }
        guard let slot = matches.first else {
            throw .vault(VaultError(.absent, "there is no token \(token)", recommendation: "insert the token"))
        }
        guard matches.count == 1 else {
            throw .vault(
                VaultError(
                    .unavailable,
                    "there are \(matches.count) tokens \(token)",
                    recommendation: "name the token by its serial number"
                )
            )
        }
        return slot
    }

    /// Logs the user in to a session.
    ///
    /// - Parameters:
    ///   - pin: nil if the token has its own key pad.
    ///   - session: a new session.
    ///   - slot: the session's slot.
    /// - Throws: the errors that map to `vault.pin` and `vault.locked`.
    func signIn(_ pin: Secret?, _ session: CK_SESSION_HANDLE, _ slot: CK_SLOT_ID) throws(PKCS11Failure) {
        let value: CK_RV
        if let pin {
            value = pin.withBytes { bytes in
                unsafe bytes.withUnsafeBytes { bytes in
                    let start = unsafe UnsafeMutablePointer(mutating: bytes.baseAddress?.assumingMemoryBound(to: UInt8.self))
                    return unsafe functions.pointee.C_Login(session, CK_USER_TYPE(CKU_USER), start, CK_ULONG(bytes.count))
                }
            }
        } else {
            value = unsafe functions.pointee.C_Login(session, CK_USER_TYPE(CKU_USER), nil, 0)
        }
        switch value {
        case CKR_OK:
            pins.withLock { $0[slot] = pin }
        case CKR_USER_ALREADY_LOGGED_IN:
            // The token does not compare the PIN then.
            guard let pin, let first = pins.withLock({ $0[slot] }) else { return }
            guard pin == first else { throw .call(CKR_PIN_INCORRECT, "C_Login") }
        case CKR_PIN_INCORRECT, CKR_PIN_LOCKED:
            throw .vault(wrongPIN(value, slot))
        default:
            throw .call(value, "C_Login")
        }
    }

    /// Runs a closure under the module's lock.
    func withLock<Value>(_ body: () throws(PKCS11Failure) -> Value) throws(PKCS11Failure) -> Value {
        var failure: PKCS11Failure?
        do throws(VaultError) {
            let value = try Self.withFileLock(path) { () throws(VaultError) -> Value? in
                do throws(PKCS11Failure) { return try body() } catch { failure = error }
                return nil
            }
            if let value { return value }
        } catch {
            throw .vault(error)
        }
        throw failure ?? .odd("a call had no result")
    }

    /// Runs a closure under a lock on the module's file, alone among all processes that open or change tokens of this module:
    /// modules such as SoftHSM show a token without its label while another process signs in.
    private static func withFileLock<Value>(
        _ path: String,
        _ body: () throws(VaultError) -> Value
    ) throws(VaultError) -> Value {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw VaultError(.unavailable, "\(path) cannot be locked: \(systemReason())") }
        // closing it ends the lock
        defer { close(descriptor) }
        try VaultLock.take(descriptor, patience: .seconds(30))
        return try body()
    }

    /// Ends all sessions of this process at a token, as its removal does.
    func closeAllSessions(_ token: PKCS11Token) throws(PKCS11Failure) {
        try check(unsafe functions.pointee.C_CloseAllSessions(slot(of: token)), "C_CloseAllSessions")
    }

    private func wrongPIN(_ value: CK_RV, _ slot: CK_SLOT_ID) -> VaultError {
        let error = PKCS11Failure.call(value, "C_Login").vaultError
        var info = CK_TOKEN_INFO()
        guard value == CKR_PIN_INCORRECT, unsafe functions.pointee.C_GetTokenInfo(slot, &info) == CKR_OK else { return error }
        if info.flags & CK_FLAGS(CKF_USER_PIN_LOCKED) != 0 { return PKCS11Failure.call(CKR_PIN_LOCKED, "C_Login").vaultError }
        if info.flags & CK_FLAGS(CKF_USER_PIN_FINAL_TRY) != 0 {
            return VaultError(.pin, "the PIN is wrong, and the next wrong one locks the token")
        }
        return error
    }

    /// The text of a field that is filled up with spaces.
    private static func text(_ field: UnsafeRawBufferPointer) -> String {
        var bytes = unsafe Array(field)
        while let last = bytes.last, last == UInt8(ascii: " ") || last == 0 { bytes.removeLast() }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// Throws the return value of a call, unless it is success.
func check(_ value: CK_RV, _ function: StaticString) throws(PKCS11Failure) {
    guard value == CKR_OK else { throw .call(value, function) }
}
