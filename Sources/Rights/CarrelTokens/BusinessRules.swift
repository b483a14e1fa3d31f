// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelCrypto
package import CarrelRights

/// The grant of a token: the bearer's permissions, their validity, and how often the token may be redeemed.
///
/// The portal chooses them, and only the service that redeems the token reads them (``SealedToken``). Names and flags follow the
/// public documents of Marlin's token services for compatibility; the encoding is Carrel's own.
package struct BusinessRules: Sendable, Equatable {
    /// The kind of a token, which its seal protects too.
    package enum Kind: UInt8, Sendable, CaseIterable {
        /// A stream; its response is never stored.
        case ms3 = 1
        /// Joins a device to a user.
        case registration = 2
        /// A license for the store of a device.
        case license = 3
        /// Takes a device from a user.
        case deregistration = 4
    }

    /// A piece of content, and its key.
    package struct Content: Sendable, Equatable {
        /// The content's id: 1 to 255 visible ASCII characters.
        package let contentID: String
        /// The id of its key. Each is once in a token.
        package let keyID: KeyID
        /// The 16-byte key, if the portal supplied it; nil for a key that the service has.
        package let key: Secret?

        package init(contentID: String, keyID: KeyID, key: Secret? = nil) {
            self.contentID = contentID
            self.keyID = keyID
            self.key = key
        }
    }

    /// The term of a grant.
    package enum Rights: Sendable, Hashable {
        /// One session, now; in `ms3` alone.
        case session
        /// Without an end; in `license` alone.
        case buyToOwn
        /// Until the end of a period, and for some seconds from the first play on; in `license`, and in `ms3` for a title.
        case rental(periodEnd: Instant, playDuration: Int)
    }

    /// The user that a device belongs to.
    package struct User: Sendable, Equatable {
        /// The portal's id: 1 to 255 bytes without control characters.
        package let id: String
        /// The user's key: 16 bytes.
        package let key: Secret

        package init(id: String, key: Secret) {
            self.id = id
            self.key = key
        }
    }

    /// The rule for outputs that the player does not know.
    package enum UnknownOutputBehavior: String, Sendable, CaseIterable {
        case allow = "Allow"
        case disallow = "Disallow"
        /// In standard definition only.
        case sdOnly = "SDOnly"
    }

    /// Lifts the default output rule (`wudo`), down to a constraint on the image.
    package struct OutputControlOverride: Sendable, Hashable {
        /// 0 for no constraint; other levels are the operator's.
        package let imageConstraintLevel: UInt8

        package init(imageConstraintLevel: UInt8) {
            self.imageConstraintLevel = imageConstraintLevel
        }
    }

    /// A rule of another specification.
    package struct Extension: Sendable, Hashable {
        /// Four visible ASCII characters, such as `wudo`.
        package let type: String
        /// Whether a player that does not know it must not play.
        package let isCritical: Bool
        /// At most 1,024 bytes.
        package let payload: [UInt8]

        package init(type: String, isCritical: Bool, payload: [UInt8]) {
            self.type = type
            self.isCritical = isCritical
            self.payload = payload
        }
    }

    /// Bytes of a token's id.
    package static let idByteCount = 16
    /// Pieces of content in one token.
    package static let maxContents = 32
    /// Seconds that a rental may be played: ten years.
    package static let maxPlayDuration = 315_360_000

    package var kind: Kind
    /// Random; the number of the token's records. 16 bytes.
    package var id: [UInt8]
    /// From when on the token is not redeemed.
    package var expiresAt: Instant
    /// How many installations may redeem it: 1 to 1,000,000.
    package var redemptions = 1
    /// The contents; empty if the rules name a title whose content the service chooses, and in registrations.
    package var contents: [Content] = []
    /// The rights; nil in registrations and deregistrations.
    package var rights: Rights?
    /// Whether a license may be kept in a store.
    package var isStorable = false
    /// Carrel's own account id; nil for one of the device's own.
    package var account: String?
    package var user: User?
    /// Carrel's own title id, of tokens that `carrel token create` makes.
    package var title: String?
    /// The ID of the back-office API key that requested the token; nil if staff or the operator did.
    package var issuer: String?
    /// The portal's correlation value, which comes back in records: at most 255 bytes without control characters.
    package var cookie: String?
    /// The thumbprint (RFC 7638 with SHA-256, base 64 for URLs) of the one device key that may redeem it.
    package var deviceThumbprint: String?
    /// The issuer's own flags; `0x0000_0001` means that a license may be stored in other variants. Not interpreted.
    package var generalFlags: UInt32 = 0
    /// The meaning of the bits is not public. Not interpreted.
    package var outputControlFlags: UInt32 = 0
    package var outputControlOverride: OutputControlOverride?
    package var unknownOutputBehavior: UnknownOutputBehavior?
    /// At most eight, each type once.
    package var extensions: [Extension] = []
    /// Terms and obligations of the license; of licenses and streams alone.
    package var conditions = LicenseConditions()

    /// - Parameters:
    ///   - kind: the kind of the token.
    ///   - id: 16 bytes; random, except in tests.
    ///   - expiresAt: the end of the redemption period.
    package init(kind: Kind, id: [UInt8] = Random.bytes(idByteCount), expiresAt: Instant) {
        self.kind = kind
        self.id = id
        self.expiresAt = expiresAt
    }

    /// The id as 32 lower-case hexadecimal digits.
    package var idText: String { Hex.encode(id) }
}

// MARK: - Bounds

extension BusinessRules {
    /// Checks every bound, and that the parts are consistent, so that the token can be read again.
    ///
    /// - Throws: `rights.malformed`.
    package func check() throws(RightsError) {
        guard id.count == Self.idByteCount else { throw RightsError(.malformed, "the id of a token has 16 bytes") }
        try check(expiresAt)
        guard 1...1_000_000 ~= redemptions else { throw RightsError(.malformed, "a token is redeemed 1 to 1,000,000 times") }
        try checkContents()
        try checkRights()
        try checkTexts()
        guard extensions.count <= 8, Set(extensions.map(\.type)).count == extensions.count,
            extensions.allSatisfy({ $0.type.utf8.count == 4 && Self.isVisible($0.type) && $0.payload.count <= 1024 })
        else { throw RightsError(.malformed, "the extensions of a token are malformed") }
        try conditions.check()
        guard conditions.isEmpty || kind == .license || (kind == .ms3 && !conditions.needsStore) else {
            throw RightsError(.malformed, "only a license has conditions, and a stream none that need a store")
        }
    }

    private func checkContents() throws(RightsError) {
        guard contents.count <= Self.maxContents, Set(contents.map(\.keyID)).count == contents.count else {
            throw RightsError(.malformed, "a token names too many keys, or one twice")
        }
        for content in contents {
            guard Self.isContentID(content.contentID), content.key?.count ?? 16 == 16 else {
                throw RightsError(.malformed, "a content of a token has a malformed id or key")
            }
        }
        let isGrant = kind == .ms3 || kind == .license
        guard isGrant == !(contents.isEmpty && title == nil) else {
            throw RightsError(.malformed, "a token to play names content, another names none")
        }
    }

    private func checkRights() throws(RightsError) {
        switch (kind, rights) {
        case (.ms3, .session):
            guard !isStorable else { throw RightsError(.malformed, "a stream is not stored") }
        case (.ms3, .rental(let end, let duration)):
            guard title != nil, !isStorable else {
                throw RightsError(.malformed, "only the stream of a title has a rental's end")
            }
            try checkRental(end, duration)
        case (.license, .buyToOwn):
            break
        case (.license, .rental(let end, let duration)):
            try checkRental(end, duration)
        case (.registration, nil), (.deregistration, nil):
            guard user != nil, !isStorable else { throw RightsError(.malformed, "a registration names its user and no license") }
        default:
            throw RightsError(.malformed, "the rights of a token do not go with its kind")
        }
    }

    private func checkRental(_ end: Instant, _ duration: Int) throws(RightsError) {
        try check(end)
        guard 1...Self.maxPlayDuration ~= duration else {
            throw RightsError(.malformed, "a rental is played for 1 s to ten years")
        }
    }

    private func checkTexts() throws(RightsError) {
        for text in [account, title, user?.id, cookie, issuer] {
            guard let text else { continue }
            guard Self.isText(text) else { throw RightsError(.malformed, "an id or a cookie of a token is malformed") }
        }
        guard user?.key.count ?? 16 == 16 else { throw RightsError(.malformed, "a user's key has 16 bytes") }
        if let deviceThumbprint {
            guard Base64URL.decode(deviceThumbprint)?.count == 32 else {
                throw RightsError(.malformed, "a token is bound to a thumbprint of 32 bytes")
            }
        }
    }

    private func check(_ instant: Instant) throws(RightsError) {
        guard 0...253_402_300_799_999 ~= instant.milliseconds else {
            throw RightsError(.malformed, "a time of a token is out of range")
        }
    }

    /// Whether a text may be a content id: 1 to 255 visible ASCII characters.
    package static func isContentID(_ text: String) -> Bool { 1...255 ~= text.utf8.count && isVisible(text) }

    /// Whether a text may be an id or a cookie: not empty, without control characters.
    static func isText(_ text: String, upTo maxByteCount: Int = 255) -> Bool {
        1...maxByteCount ~= text.utf8.count && text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    }

    private static func isVisible(_ text: String) -> Bool { text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f } }
}
