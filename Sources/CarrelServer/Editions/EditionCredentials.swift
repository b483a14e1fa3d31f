package import CarrelBytes
package import CarrelCrypto

/// User names and passwords that open one edition for a time, and that can be checked without asking anybody.
///
/// The user name carries when it ends and under which key it was made; the password is an HMAC-SHA-256 of it and of the product.
/// Neither says anything about who it was made for: the account is in it as a keyed tag, by which it can be revoked.
package struct EditionCredentials: Sendable {
    package struct Pair: Sendable, Equatable {
        package let userID: String
        package let password: String

        package init(userID: String, password: String) {
            self.userID = userID
            self.password = password
        }
    }

    /// What is known of a pair that is genuine.
    package struct Verified: Sendable, Equatable {
        package let issuedAt: Instant
        package let expiresAt: Instant
        /// Whom it was made for; see ``tag(of:)``.
        package let tag: UInt64
    }

    package enum Refusal: String, Error, Sendable {
        /// Not made here, or made for something else, or altered.
        case invalid
        case expired
        case revoked
    }

    private struct Keys: Sendable {
        let password: HMACSHA256
        let tag: HMACSHA256
        let feed: HMACSHA256

        init(_ secret: Secret) {
            func key(_ purpose: String) -> HMACSHA256 {
                HMACSHA256(key: HKDF.sha256(secret: secret, salt: [], info: "carrel edition \(purpose)", count: 32))
            }
            password = key("password")
            tag = key("tag")
            feed = key("feed")
        }
    }

    private let keys: [UInt8: Keys]
    private let current: Keys
    private let currentID: UInt8

    private static let version: UInt8 = 1
    /// Version, key id, end and beginning in seconds, tag, random bytes.
    private static let byteCount = 1 + 1 + 4 + 4 + 8 + 12

    /// - Parameter secrets: 32 bytes each, by key id; the greatest id makes new pairs.
    package init(secrets: [UInt8: Secret]) {
        guard let newest = secrets.max(by: { $0.key < $1.key }) else { preconditionFailure("credentials need a secret") }
        keys = secrets.mapValues { Keys($0) }
        current = Keys(newest.value)
        currentID = newest.key
    }

    /// Makes a pair that opens a product for a time, to the second, and that is revoked with its account.
    package func issue(
        product: String,
        account: String,
        at now: Instant,
        life: Duration
    ) -> Pair {
        let issued = UInt32(clamping: now.milliseconds / 1000)
        let expires = UInt32(clamping: (now + life).milliseconds / 1000)
        var bytes: [UInt8] = [Self.version, currentID]
        bytes += expires.bigEndianBytes
        bytes += issued.bigEndianBytes
        bytes += Self.tag(of: account, current).bigEndianBytes
        bytes += Random.bytes(12)
        let userID = Base64URL.encode(bytes)
        return Pair(userID: userID, password: Base64URL.encode(password(userID, product, current)))
    }

    /// The tags of an account under each key, by which its pairs are known.
    package func tags(of account: String) -> [UInt64] {
        keys.values.map { Self.tag(of: account, $0) }
    }

    /// Checks a pair. Asks nobody, and takes as long for a wrong password as for a right one.
    ///
    /// The product is what the route says is asked for, never what the client says it is.
    package func verify(
        _ pair: Pair,
        product: String,
        at now: Instant
    ) throws(Refusal) -> Verified {
        guard pair.userID.utf8.count <= 64, pair.password.utf8.count <= 64,
            let bytes = Base64URL.decode(pair.userID), bytes.count == Self.byteCount, bytes[0] == Self.version,
            let keys = keys[bytes[1]],
            let given = Base64URL.decode(pair.password)
        else { throw .invalid }
        let expected = password(pair.userID, product, keys)
        guard constantTimeEqual(given.rawSpan, expected.rawSpan) else { throw .invalid }
        let expires = Instant(milliseconds: Int64(UInt64(bigEndian: bytes[2..<6])) * 1000)
        guard now < expires else { throw .expired }
        return Verified(
            issuedAt: Instant(milliseconds: Int64(UInt64(bigEndian: bytes[6..<10])) * 1000),
            expiresAt: expires,
            tag: UInt64(bigEndian: bytes[10..<18])
        )
    }

    /// The password that opens the feeds together with a token as the user name.
    package func feedPassword(of token: String) -> String {
        Base64URL.encode(current.feed.authenticate(Array(token.utf8).rawSpan))
    }

    /// Whether the password is one that ``feedPassword(of:)`` made, under any key.
    package func isFeedPassword(_ password: String, of token: String) -> Bool {
        guard let given = Base64URL.decode(password) else { return false }
        return keys.values.contains { $0.feed.isValid(given.rawSpan, for: Array(token.utf8).rawSpan) }
    }

    private func password(_ userID: String, _ product: String, _ keys: Keys) -> [UInt8] {
        var message = Array("edition-cred".utf8)
        for field in [product, userID] {
            message += UInt32(field.utf8.count).bigEndianBytes
            message += field.utf8
        }
        return keys.password.authenticate(message.rawSpan)
    }

    private static func tag(of account: String, _ keys: Keys) -> UInt64 {
        UInt64(bigEndian: keys.tag.authenticate(Array(account.utf8).rawSpan)[..<8])
    }
}

extension FixedWidthInteger {
    fileprivate var bigEndianBytes: [UInt8] {
        stride(from: bitWidth - 8, through: 0, by: -8).map { UInt8(truncatingIfNeeded: self >> Self($0)) }
    }
}

extension UInt64 {
    fileprivate init(bigEndian bytes: ArraySlice<UInt8>) {
        self = bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }
}
