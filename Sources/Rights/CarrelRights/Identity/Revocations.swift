// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelCrypto
package import CarrelJOSE
package import CarrelJSON

/// A numbered list of revocations, signed by the service. A player rejects a list with a smaller number than its current one.
package struct Revocations: Sendable, Equatable {
    /// Larger in every later list.
    package let number: Int
    /// Serial numbers of players' certificates, in lower-case hexadecimal digits.
    package let serials: Set<String>
    /// Ids of players that are revoked for good, whatever certificate they have.
    package let players: Set<String>
    /// Ids of licenses.
    package let licenses: Set<String>
    /// Ids of content keys, in lower-case hexadecimal digits.
    package let keyIDs: Set<String>
    /// When it was signed, and until when it is current.
    package let validity: ClosedRange<Instant>

    /// The most entries of all kinds.
    package static let maxEntries = 100_000
    /// The version that this program reads: 1 has serial numbers, licenses and keys; 2 has players too. Readers of version 1 ignore them.
    package static let version = 2

    package init(
        number: Int,
        serials: Set<String>,
        players: Set<String> = [],
        licenses: Set<String>,
        keyIDs: Set<String>,
        validity: ClosedRange<Instant>
    ) {
        self.number = number
        self.serials = serials
        self.players = players
        self.licenses = licenses
        self.keyIDs = keyIDs
        self.validity = validity
    }

    package func signed(by key: Ed25519.PrivateKey) -> String {
        func list(_ ids: Set<String>) -> JSON { .array(ids.sorted().map { .string($0) }) }
        let payload: JSON = [
            "number": .integer(number), "iat": validity.lowerBound.numericDate, "exp": validity.upperBound.numericDate,
            "serials": list(serials), "players": list(players), "licenses": list(licenses), "kids": list(keyIDs),
        ]
        return TypedJWS.sign(payload.write(), as: RightsMessage.revocations, with: key)
    }

    /// Reads a list that a key of the service signed.
    ///
    /// - Parameters:
    ///   - text: the signed list.
    ///   - keys: the keys of the service.
    /// - Throws: `rights.signature`, `rights.malformed`.
    package init(_ text: String, keys: ServiceKeys) throws(RightsError) {
        let (json, _) = try keys.payload(of: text, as: RightsMessage.revocations, use: .revocation)
        func list(_ name: String) -> Set<String>? {
            guard let array = json[name]?.array else { return nil }
            let ids = array.compactMap(\.string)
            return ids.count == array.count ? Set(ids) : nil
        }
        guard let number = json["number"]?.int, number >= 0, let validity = json.validity("iat", "exp"),
            let serials = list("serials"), let licenses = list("licenses"), let keyIDs = list("kids"),
            // a service of version 1 has no such member
            let players = json["players"] == nil ? [] : list("players"),
            serials.count + players.count + licenses.count + keyIDs.count <= Self.maxEntries
        else { throw RightsError(.malformed, "the list of what is revoked cannot be read") }
        self.init(
            number: number,
            serials: serials,
            players: players,
            licenses: licenses,
            keyIDs: keyIDs,
            validity: validity
        )
    }
}

/// The time of the service, signed.
package struct TrustedTime: Sendable, Equatable {
    package let instant: Instant
    /// The nonce of the request, so that a player accepts no earlier response; empty without a nonce.
    package let nonce: String

    package init(instant: Instant, nonce: String = "") {
        self.instant = instant
        self.nonce = nonce
    }

    package func signed(by key: Ed25519.PrivateKey) -> String {
        let payload: JSON = ["iat": instant.numericDate, "nonce": .string(nonce)]
        return TypedJWS.sign(payload.write(), as: RightsMessage.time, with: key)
    }

    /// - Throws: `rights.signature`, `rights.malformed`.
    package init(_ text: String, keys: ServiceKeys) throws(RightsError) {
        let (json, validity) = try keys.payload(of: text, as: RightsMessage.time, use: .time)
        guard let instant = json.instant("iat"), let nonce = json["nonce"]?.string else {
            throw RightsError(.malformed, "the time of the service cannot be read")
        }
        guard validity.contains(instant) else { throw RightsError(.signature, "the time was signed with a key of another time") }
        self.init(instant: instant, nonce: nonce)
    }
}

extension ServiceKeys {
    /// The payload of a message that a key of the service signed, and the validity of that key.
    package func payload(
        of text: String,
        as kind: TypedJWS.Kind,
        use: Use
    ) throws(RightsError) -> (JSON, ClosedRange<Instant>) {
        let message = try RightsMessage.read(text, as: kind)
        guard let key = keys.first(where: { $0.use == use && $0.key.thumbprint == message.keyID }) else {
            throw RightsError(.signature, "the message is signed with a key that is not the service's")
        }
        let json = try RightsMessage.payload(of: message, by: key.key)
        guard let signedAt = json.instant("iat"), key.validity.contains(signedAt) else {
            throw RightsError(.signature, "the message is signed with a key of another time")
        }
        return (json, key.validity)
    }
}
