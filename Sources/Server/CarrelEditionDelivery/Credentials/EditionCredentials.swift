// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
package import CarrelBytes
import CarrelCrypto
package import CarrelHome
import CarrelThreads

/// User names and passwords that open one edition for a limited time, verifiable without a database.
///
/// The user name contains the expiry, the number of previous revocations, and the account as a keyed tag for revocation: all
/// encrypted, so that it reveals nothing
/// ([decision 23](../../../docs/decisions/0023-sealed-user-ids.md)). The password is an HMAC-SHA-256 of it and of the product.
package struct EditionCredentials: Sendable {
    package struct Pair: Sendable, Equatable {
        package let userID: String
        package let password: String

        package init(userID: String, password: String) {
            self.userID = userID
            self.password = password
        }
    }

    /// The contents of a verified pair.
    package struct Verified: Sendable, Equatable {
        package let expiresAt: Instant
        /// The number of the last revocation before issue; later revocations may apply.
        package let serial: UInt32
        /// Whom it was made for; see ``tags(of:)``.
        package let tag: UInt64
    }

    package enum Refusal: String, Error, Sendable, CaseIterable {
        /// Not issued here, issued for another product, or altered.
        case invalid
        case expired
        case revoked
    }

    /// No pair lives longer.
    package static let longestLife = Revocation.longestLife

    private struct Keys: Sendable {
        let password: HMACSHA256
        let tag: HMACSHA256
        let seal: AESCounter

        init(_ secret: Secret) {
            func key(_ purpose: String) -> Secret {
                HKDF.sha256(secret: secret, salt: [], info: "carrel edition \(purpose)", count: 32)
            }
            password = HMACSHA256(key: key("password"))
            tag = HMACSHA256(key: key("tag"))
            guard let seal = try? AESCounter(key: key("seal")) else { preconditionFailure("AES-256 has no memory") }
            self.seal = seal
        }

        /// Encrypts what a user name carries, or decrypts it.
        func sealed(_ bytes: [UInt8], nonce: [UInt8]) -> [UInt8] {
            guard let sealed = try? seal.apply(to: bytes.rawSpan, nonce: nonce) else {
                preconditionFailure("AES-256 has no memory")
            }
            return sealed
        }
    }

    /// Random nonces, read from the system a few at a time, because each reading is a system call. None is given twice.
    private struct Nonces {
        private var bytes: [UInt8] = []

        mutating func take() -> [UInt8] {
            // The maximum of one system call, in whole nonces.
            if bytes.isEmpty { bytes = Random.bytes(252) }
            let nonce = Array(bytes[(bytes.count - 12)...])
            bytes.removeLast(12)
            return nonce
        }
    }

    private let secrets: [SigningSecret]
    private let keys: [UInt8: Keys]
    private let nonces = Locked(Nonces())

    private static let version: UInt8 = 2
    /// Version of user names issued by earlier releases: end, serial and tag unencrypted, then random bytes. Accepted until they expire.
    private static let openVersion: UInt8 = 1
    /// In base 64: version, key id, nonce, then encrypted the end in seconds, serial and tag (1 + 1 + 12 + 4 + 4 + 8); a SHA-256.
    private static let (userIDLength, passwordLength) = (40, 43)

    /// - Parameter secrets: all verify; the last whose time has come makes new pairs.
    package init(secrets: [SigningSecret]) {
        precondition(!secrets.isEmpty, "credentials need a secret")
        self.secrets = secrets
        keys = Dictionary(secrets.map { ($0.id, Keys($0.secret)) }, uniquingKeysWith: { first, _ in first })
    }

    /// Issues a pair that opens a product until a time, in seconds, and that is revoked with its account.
    ///
    /// - Parameters:
    ///   - product: the product that it opens.
    ///   - account: the account.
    ///   - serial: the number of the last revocation, read no later than the account's entitlement to the product.
    ///   - now: the time of issue.
    ///   - life: the lifetime, at most ``longestLife``.
    /// - Returns: the pair, different each time.
    package func issue(
        product: String,
        account: String,
        serial: UInt32,
        at now: Instant,
        life: Duration
    ) -> Pair {
        let signing = SigningSecret.signing(at: now, of: secrets) ?? secrets[0]
        guard let keys = keys[signing.id] else { preconditionFailure("a secret has no keys") }
        let expires = UInt32(clamping: (now + min(life, Self.longestLife)).milliseconds / 1000)
        var content: [UInt8] = []
        content.reserveCapacity(16)
        content.append(bigEndian: expires)
        content.append(bigEndian: serial)
        content.append(bigEndian: Self.tag(of: account, keys))
        let nonce = nonces.withLock { $0.take() }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.userIDLength / 4 * 3)
        bytes.append(Self.version)
        bytes.append(signing.id)
        bytes += nonce
        bytes += keys.sealed(content, nonce: nonce)
        let userID = Base64URL.encode(bytes)
        return Pair(userID: userID, password: Base64URL.encode(password(userID, product, keys)))
    }

    /// The tags of an account under each key, by which its pairs are known.
    package func tags(of account: String) -> [UInt64] {
        keys.values.map { Self.tag(of: account, $0) }
    }

    /// Whether a pair has the form of issued pairs, genuine or not; a reader's own name and password never do.
    package static func hasForm(_ pair: Pair) -> Bool { bytes(of: pair) != nil }

    /// The bytes of a pair; nil for another form.
    private static func bytes(of pair: Pair) -> (userID: [UInt8], password: [UInt8])? {
        guard pair.userID.utf8.count == userIDLength, pair.password.utf8.count == passwordLength,
            let userID = Base64URL.decode(pair.userID), let password = Base64URL.decode(pair.password),
            userID[0] == version || userID[0] == openVersion
        else { return nil }
        return (userID, password)
    }

    /// Verifies a pair, except for revocation. Needs no database, and takes the same time for wrong and right passwords.
    ///
    /// The product must come from the route, never from the client's credentials.
    package func verify(
        _ pair: Pair,
        product: String,
        at now: Instant
    ) throws(Refusal) -> Verified {
        guard let (bytes, given) = Self.bytes(of: pair), let keys = keys[bytes[1]] else { throw .invalid }
        let expected = password(pair.userID, product, keys)
        guard constantTimeEqual(given.rawSpan, expected.rawSpan) else { throw .invalid }
        let content =
            bytes[0] == Self.openVersion
            ? Array(bytes[2..<18]) : keys.sealed(Array(bytes[14...]), nonce: Array(bytes[2..<14]))
        let expires = Instant(milliseconds: Int64(UInt64(bigEndian: content[0..<4])) * 1000)
        guard now < expires else { throw .expired }
        return Verified(
            expiresAt: expires,
            serial: UInt32(UInt64(bigEndian: content[4..<8])),
            tag: UInt64(bigEndian: content[8..<16])
        )
    }

    private func password(_ userID: String, _ product: String, _ keys: Keys) -> [UInt8] {
        var message: [UInt8] = []
        message.reserveCapacity(20 + product.utf8.count + userID.utf8.count)
        message.append(contentsOf: "edition-cred".utf8)
        for field in [product, userID] {
            message.append(bigEndian: UInt32(field.utf8.count))
            unsafe message.append(copying: field.utf8Span.span.bytes)
        }
        return keys.password.authenticate(message.rawSpan)
    }

    private static func tag(of account: String, _ keys: Keys) -> UInt64 {
        unsafe UInt64(bigEndian: keys.tag.authenticate(account.utf8Span.span.bytes)[..<8])
    }
}

extension UInt64 {
    fileprivate init(bigEndian bytes: ArraySlice<UInt8>) {
        self = bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }
}
