// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelCrypto
package import CarrelRights

/// A business token: rules that only the service that redeems it can read, and that nothing can alter.
///
/// Its bytes are a version (1), the id of the key, the kind, a nonce of 96 bits, and the rules in AES-256-GCM, the first three
/// bytes associated. The shape around it (`/hms/ms3/rights/?b=`, action tokens) is Marlin's; the token is Carrel's own and not
/// certified.
package struct SealedToken: Sendable, Hashable {
    /// The most characters that a token has: 4 KiB.
    package static let maxByteCount = 4096
    /// The first byte.
    private static let version: UInt8 = 1
    private static let headByteCount = 3
    private static let leastByteCount = headByteCount + AESGCM.nonceByteCount + AESGCM.tagByteCount
    /// Bytes of rules that fit.
    static let maxRulesByteCount = maxByteCount / 4 * 3 - leastByteCount

    /// A key of the service, by its number. With random nonces it seals at most 2^32 tokens (NIST SP 800-38D §8.3): rotate it
    /// before.
    package struct Key: Sendable, Equatable {
        package let id: UInt8
        /// 32 bytes.
        package let secret: Secret

        package init(id: UInt8, secret: Secret) {
            precondition(secret.count == AESGCM.keyByteCount, "a key of tokens has 32 bytes")
            self.id = id
            self.secret = secret
        }
    }

    /// The token as bytes.
    package let bytes: [UInt8]

    /// The token in base 64 for URLs, its one text.
    package var text: String { Base64URL.encode(bytes) }

    /// Reads the form alone: nothing is trusted before ``open(as:keys:at:)``.
    ///
    /// - Parameter text: base 64 for URLs without padding, at most 4 KiB.
    /// - Throws: `rights.token`.
    package init(_ text: some StringProtocol) throws(RightsError) {
        guard text.utf8.count <= Self.maxByteCount, let bytes = Base64URL.decode(text) else {
            throw RightsError(.token, "the token is not base 64, or longer than 4 KiB")
        }
        try self.init(bytes: bytes)
    }

    /// Reads the form alone, of a token that was not text.
    ///
    /// - Parameter bytes: at most 3 KiB.
    /// - Throws: `rights.token`.
    package init(bytes: [UInt8]) throws(RightsError) {
        guard Self.leastByteCount...(Self.maxByteCount / 4 * 3) ~= bytes.count, bytes[0] == Self.version else {
            throw RightsError(.token, "the token is of another version, or has an impossible length")
        }
        self.bytes = bytes
    }

    /// Seals rules.
    ///
    /// - Parameters:
    ///   - rules: the grant.
    ///   - key: the key that seals new tokens.
    /// - Returns: the token, which differs each time.
    /// - Throws: `rights.malformed` for rules that break a bound or do not fit into 4 KiB.
    package static func seal(_ rules: BusinessRules, under key: Key) throws(RightsError) -> SealedToken {
        let plaintext = try rules.encode()
        let head = [version, key.id, rules.kind.rawValue]
        let nonce = Random.bytes(AESGCM.nonceByteCount)
        let sealed = plaintext.withBytes { try? AESGCM.seal($0, key: key.secret, nonce: nonce, associated: head) }
        guard let sealed else { throw RightsError(.malformed, "the token cannot be sealed") }
        return try SealedToken(bytes: head + nonce + sealed)
    }

    /// Opens the token. Its seal is checked before any of it is read.
    ///
    /// - Parameters:
    ///   - kind: the expected kind.
    ///   - keys: the service's keys by number, including keys of earlier tokens.
    ///   - now: the service's time.
    /// - Returns: the grant.
    /// - Throws: `rights.token` for a forged or altered token, or one of another kind or service; `rights.expired`.
    package func open(as kind: BusinessRules.Kind, keys: [UInt8: Secret], at now: Instant) throws(RightsError) -> BusinessRules {
        guard bytes[2] == kind.rawValue else { throw RightsError(.token, "the token is of another kind") }
        guard let key = keys[bytes[1]] else {
            throw RightsError(.token, "the token is of another service, or its key is retired")
        }
        let sealed = Array(bytes[(Self.headByteCount + AESGCM.nonceByteCount)...])
        let nonce = Array(bytes[Self.headByteCount..<Self.headByteCount + AESGCM.nonceByteCount])
        let head = Array(bytes[..<Self.headByteCount])
        guard let plaintext = try? AESGCM.open(sealed.rawSpan, key: key, nonce: nonce, associated: head) else {
            throw RightsError(.token, "the token is forged or was altered")
        }
        let rules = try BusinessRules.decode(plaintext)
        guard rules.kind == kind else { throw RightsError(.token, "the token is of another kind") }
        guard now < rules.expiresAt else { throw RightsError(.expired, "the token has expired") }
        return rules
    }

    /// Reads and opens a token.
    ///
    /// - Parameters:
    ///   - text: base 64 for URLs without padding, at most 4 KiB.
    ///   - kind: the kind that is expected.
    ///   - keys: the service's keys by their number.
    ///   - now: the service's time.
    /// - Returns: the grant.
    /// - Throws: `rights.token`, `rights.expired`.
    package static func open(
        _ text: some StringProtocol,
        as kind: BusinessRules.Kind,
        keys: [UInt8: Secret],
        at now: Instant
    ) throws(RightsError) -> BusinessRules {
        try SealedToken(text).open(as: kind, keys: keys, at: now)
    }
}

extension SealedToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The number of bytes: a token is as valuable as its grant, so it does not print itself.
    package var description: String { "SealedToken(\(bytes.count) bytes)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
