// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelVault
import Glibc

/// Keys on a token. The session is opened again once when the token was removed and inserted.
final class PKCS11Vault: BlockingVault {
    private let module: PKCS11Module
    private let token: PKCS11Token
    private let pin: Secret?
    private var session: PKCS11Session?

    /// The key that seals bytes. Other keys have the label "carrel key NAME".
    private static let sealing = "carrel seal"
    private static let version: UInt8 = 1
    private static let idByteCount = 8
    private static let headByteCount = 1 + idByteCount + 2 * P256.byteCount

    init(module path: String, token: PKCS11Token, pin: Secret?) throws(VaultError) {
        module = try PKCS11Module.load(path)
        self.token = token
        self.pin = pin
        try run { _ throws(PKCS11Failure) in }
    }

    func makeKey(named name: String, for uses: VaultKeyUses) throws(VaultError) -> P256.PublicKey {
        let requested = (sign: uses.contains(.sign), agree: uses.contains(.agree))
        return try run { [module] session throws(PKCS11Failure) in
            func existingKey() throws(PKCS11Failure) -> P256.PublicKey? {
                guard let key = try session.key(labeled: Self.label(name)) else { return nil }
                guard key.uses == requested else { throw .vault(.wrongUse(name, uses)) }
                return key.publicKey
            }
            if let key = try existingKey() { return key }
            return try module.withLock { () throws(PKCS11Failure) in
                if let key = try existingKey() { return key }
                // An interrupted call may have left a half.
                try session.removeHalves(labeled: Self.label(name))
                return try session.makeKey(labeled: Self.label(name), sign: requested.sign, agree: requested.agree)
            }
        }
    }

    func publicKey(named name: String) throws(VaultError) -> P256.PublicKey? {
        try run { session throws(PKCS11Failure) in try session.key(labeled: Self.label(name))?.publicKey }
    }

    func sign(_ message: [UInt8], withKey name: String) throws(VaultError) -> [UInt8] {
        let digest = SHA256.hash(message.rawSpan)
        return try run { session throws(PKCS11Failure) in
            guard let key = try session.key(labeled: Self.label(name)) else { throw .vault(.noKey(name)) }
            guard key.uses.sign else { throw .vault(.wrongUse(name, .sign)) }
            return try session.sign(digest, with: key)
        }
    }

    func agree(withKey name: String, other: P256.PublicKey) throws(VaultError) -> Secret {
        try run { session throws(PKCS11Failure) in
            guard let key = try session.key(labeled: Self.label(name)) else { throw .vault(.noKey(name)) }
            guard key.uses.agree else { throw .vault(.wrongUse(name, .agree)) }
            return try session.agree(with: key, other)
        }
    }

    func removeKey(named name: String) throws(VaultError) {
        try run { [module] session throws(PKCS11Failure) in
            try module.withLock { () throws(PKCS11Failure) in try session.removeKey(labeled: Self.label(name)) }
        }
    }

    // Bytes are sealed to a key on the token, with a fresh ephemeral key each. The shared secret of the token's key with its own
    // public key is also an input: only the token can compute it, so that bytes sealed by others with the public key do not open.

    func seal(_ plaintext: Secret, associated: [UInt8]) throws(VaultError) -> [UInt8] {
        try run { [module] session throws(PKCS11Failure) in
            var key = try session.key(labeled: Self.sealing)
            if key == nil {
                try module.withLock { () throws(PKCS11Failure) in
                    if try session.key(labeled: Self.sealing) == nil {
                        _ = try session.makeKey(labeled: Self.sealing, sign: false, agree: true)
                    }
                }
                key = try session.key(labeled: Self.sealing)
            }
            guard let key else { throw .vault(.noKey(Self.sealing)) }
            let fresh = P256.PrivateKey()
            let head = [Self.version] + Self.id(key.publicKey) + fresh.publicKey.coordinates
            let secret = Self.key(
                fresh.sharedSecret(with: key.publicKey),
                try session.agree(with: key, key.publicKey),
                head,
                key.publicKey
            )
            return head + VaultBlob.seal(plaintext, key: secret, context: Self.context(associated))
        }
    }

    func open(_ sealed: [UInt8], associated: [UInt8]) throws(VaultError) -> Secret {
        guard sealed.count > Self.headByteCount, sealed[0] == Self.version else { throw .sealedBytes }
        let head = Array(sealed[..<Self.headByteCount])
        let point = head.suffix(2 * P256.byteCount)
        guard let fresh = try? P256.PublicKey(x: Array(point.prefix(32)), y: Array(point.suffix(32))) else { throw .sealedBytes }
        return try run { session throws(PKCS11Failure) in
            guard let key = try session.key(labeled: Self.sealing), Array(head[1...Self.idByteCount]) == Self.id(key.publicKey)
            else {
                throw .vault(VaultError(.absent, "the token does not have the key that sealed these bytes"))
            }
            let secret = Self.key(
                try session.agree(with: key, fresh),
                try session.agree(with: key, key.publicKey),
                head,
                key.publicKey
            )
            do throws(VaultError) {
                return try VaultBlob.open(
                    Array(sealed[Self.headByteCount...]),
                    key: secret,
                    context: Self.context(associated)
                )
            } catch {
                throw .vault(error)
            }
        }
    }

    private static func label(_ name: String) -> String { "carrel key \(name)" }

    private static func id(_ key: P256.PublicKey) -> [UInt8] { Array(SHA256.hash(key.coordinates.rawSpan).prefix(idByteCount)) }

    private static func context(_ associated: [UInt8]) -> [UInt8] {
        VaultBlob.context("carrel vault 1 sealed", Array(VaultKind.pkcs11.rawValue.utf8), associated)
    }

    private static func key(_ first: Secret, _ second: Secret, _ head: [UInt8], _ publicKey: P256.PublicKey) -> Secret {
        // Both are secret: the second keys a function of the first.
        let info = VaultBlob.context("carrel vault 1 pkcs11", head, publicKey.coordinates)
        let inner = HKDF.sha256(secret: first, salt: [], info: info, count: 32)
        var mixed = inner.withBytes { HMACSHA256(key: second).authenticate($0) }
        defer {
            unsafe mixed.withUnsafeMutableBytes { if let start = $0.baseAddress { unsafe SecretMemory.wipe(start, $0.count) } }
        }
        return HKDF.sha256(secret: Secret(mixed), salt: [], info: info, count: AESGCM.keyByteCount)
    }

    /// Runs an operation in the session; repeats it in a new session if the session is lost, and after a moment if the module
    /// fails.
    private func run<Value>(_ work: (PKCS11Session) throws(PKCS11Failure) -> Value) throws(VaultError) -> Value {
        var (isReopened, failures) = (session == nil, 0)
        while true {
            do throws(PKCS11Failure) {
                if let session { return try work(session) }
                let fresh = try module.withLock { () throws(PKCS11Failure) in try PKCS11Session(module, token, pin: pin) }
                session = fresh
                return try work(fresh)
            } catch {
                if error.isLostSession {
                    session = nil
                    guard !isReopened else { throw error.vaultError }
                    isReopened = true
                } else {
                    failures += 1
                    guard error.isPassing, failures < 4 else { throw error.vaultError }
                    usleep(UInt32(failures) * .random(in: 10_000...30_000))
                }
            }
        }
    }
}
