// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelCrypto
import CarrelJOSE
package import CarrelJSON
package import CarrelVault

/// A player's request for its first certificate, or for a new one before the current one expires.
package struct PersonalizationRequest: Sendable {
    /// The nonce of the challenge.
    package let nonce: String
    /// The request for the certificate, with the signing key.
    package let certificationRequest: [UInt8]
    package let signingKey: P256.PublicKey
    /// The key that content keys are encrypted to.
    package let agreementKey: P256.PublicKey
    /// A digest of the device's identifiers, with a salt of this installation, 32 bytes: no identifier of the device leaves it.
    package let fingerprint: [UInt8]
    package let level: VaultLevel
    /// Name and version of the app, at most 100 characters each.
    package let app: String
    package let build: String
    /// The owner's name for the device; empty for none.
    package let deviceName: String
    /// The time of the device's clock.
    package let clock: Instant

    /// The longest name.
    static let maxCharacters = 100
    /// Prefix of the nonce in an offline request: the player makes it itself, because no service issued one.
    private static let offlinePrefix = "offline."
    private static let offlineByteCount = 32

    /// A nonce for a request in a file.
    package static func makeOfflineNonce() -> String { offlinePrefix + Base64URL.encode(Random.bytes(offlineByteCount)) }

    /// The random bytes of such a nonce; nil for another.
    package static func offlineNonce(_ text: String) -> [UInt8]? {
        guard text.hasPrefix(offlinePrefix), let bytes = Base64URL.decode(String(text.dropFirst(offlinePrefix.count))),
            bytes.count == offlineByteCount
        else { return nil }
        return bytes
    }

    /// Reads a request and checks both signatures: on the certificate request, and on the whole message with the same key.
    ///
    /// - Throws: `rights.malformed`, `rights.signature`; `rights.key` for keys that are not on P-256, and for a single key with
    ///   both uses.
    package init(_ text: String) throws(RightsError) {
        let message = try RightsMessage.read(text, as: RightsMessage.personalization)
        let unverified = try RightsMessage.unverifiedPayload(of: message)
        guard let csr = unverified["csr"]?.string.flatMap({ Base64.decode($0) }) else {
            throw RightsError(.malformed, "the request for a certificate is missing")
        }
        let signingKey: P256.PublicKey
        do throws(CryptoError) {
            signingKey = try CertificationRequest(der: csr).publicKey
        } catch {
            throw RightsError(.key, error.message)
        }
        let json = try RightsMessage.payload(of: message, by: .p256(signingKey))
        guard let nonce = json["nonce"]?.string, nonce.utf8.count <= 256, let fingerprint = json.bytes("fingerprint"),
            fingerprint.count == 32, let level = json["level"]?.string.flatMap({ VaultLevel(rawValue: $0) }),
            let app = json["app"]?.string, let build = json["build"]?.string, let name = json["device"]?.string,
            [app, build, name].allSatisfy({ $0.unicodeScalars.count <= Self.maxCharacters }), let clock = json.instant("iat")
        else { throw RightsError(.malformed, "the request for personalization cannot be read") }
        guard let jwk = json["agreement"], case .p256(let agreementKey)? = try? JWK(jwk), agreementKey != signingKey else {
            throw RightsError(.key, "the key for agreement is not another key on P-256")
        }
        (self.nonce, certificationRequest) = (nonce, csr)
        (self.signingKey, self.agreementKey) = (signingKey, agreementKey)
        (self.fingerprint, self.level) = (fingerprint, level)
        (self.app, self.build, deviceName, self.clock) = (app, build, name, clock)
    }

    /// Writes a request.
    ///
    /// - Parameters:
    ///   - nonce: the nonce of the challenge.
    ///   - signingKey: the player's signing key.
    ///   - agreementKey: the player's key-agreement key.
    ///   - fingerprint: 32 bytes.
    ///   - level: the level of the vault with both keys.
    ///   - app: the app's name.
    ///   - build: its version.
    ///   - deviceName: the owner's name for the device.
    ///   - clock: the time of the device's clock.
    ///   - sign: signs with the signing key; returns R and S.
    /// - Returns: the signed request.
    /// - Throws: the errors of `sign`.
    package static func make(
        nonce: String,
        signingKey: P256.PublicKey,
        agreementKey: P256.PublicKey,
        fingerprint: [UInt8],
        level: VaultLevel,
        app: String,
        build: String,
        deviceName: String,
        clock: Instant,
        sign: ([UInt8]) async throws -> [UInt8]
    ) async throws -> String {
        let csr = try await CertificationRequest.make(commonName: "player", publicKey: signingKey, sign: sign)
        func short(_ text: String) -> JSON {
            .string(String(String.UnicodeScalarView(text.unicodeScalars.prefix(maxCharacters))))
        }
        let payload: JSON = [
            "nonce": .string(nonce), "csr": .string(Base64.encode(csr)), "agreement": JWK.p256(agreementKey).json,
            "fingerprint": .string(Base64URL.encode(fingerprint)), "level": .string(level.rawValue), "app": short(app),
            "build": short(build), "device": short(deviceName), "iat": clock.numericDate,
        ]
        let unsigned = TypedJWS.Unsigned(
            RightsMessage.personalization,
            keyID: JWK.p256(signingKey).thumbprint,
            payload: payload.write()
        )
        return unsigned.signed(try await sign(unsigned.input))
    }
}

/// The response to a personalization request.
package struct PersonalizationResponse: Sendable {
    /// The player's id.
    package let player: String
    /// Its certificate in DER.
    package let certificate: [UInt8]
    /// From when on it should be renewed.
    package let renewAt: Instant
    /// The root's certificate in DER, the rollovers that lead to it, and the keys that it signed.
    package var trust: TrustDocument
    /// The list of revocations and the time, signed by keys of the service.
    package var revocations: String
    package var time: String

    package init(player: String, certificate: [UInt8], renewAt: Instant, trust: TrustDocument, revocations: String, time: String)
    {
        self.player = player
        self.certificate = certificate
        self.renewAt = renewAt
        self.trust = trust
        self.revocations = revocations
        self.time = time
    }

    package var json: JSON {
        var object: JSONObject = [
            "player": .string(player), "certificate": .string(Base64.encode(certificate)),
            "renewAt": .string(renewAt.description), "revocations": .string(revocations), "time": .string(time),
        ]
        for (name, value) in trust.json { object[name] = value }
        return .object(object)
    }

    /// - Throws: `rights.malformed`.
    package init(_ json: JSON) throws(RightsError) {
        guard let player = json["player"]?.string, let certificate = json["certificate"]?.string.flatMap({ Base64.decode($0) }),
            let renewAt = json["renewAt"]?.string.flatMap({ Instant.parse($0) }), let revocations = json["revocations"]?.string,
            let time = json["time"]?.string
        else { throw RightsError(.malformed, "the answer to the request for personalization cannot be read") }
        self.init(
            player: player,
            certificate: certificate,
            renewAt: renewAt,
            trust: try TrustDocument(json),
            revocations: revocations,
            time: time
        )
    }
}

/// The root of a service with its signed documents, as served by `/v1/license/keys`.
package struct TrustDocument: Sendable, Equatable {
    /// The root's certificate in DER.
    package let root: [UInt8]
    /// Earlier roots, each signed by its predecessor: ``RootRollover``.
    package let rollovers: [String]
    /// ``ServiceKeys``, signed by the root.
    package let keys: String

    package init(root: [UInt8], rollovers: [String], keys: String) {
        self.root = root
        self.rollovers = rollovers
        self.keys = keys
    }

    package var json: JSONObject {
        ["root": .string(Base64.encode(root)), "rollovers": .array(rollovers.map { .string($0) }), "keys": .string(keys)]
    }

    /// - Throws: `rights.malformed`.
    package init(_ json: JSON) throws(RightsError) {
        guard let root = json["root"]?.string.flatMap({ Base64.decode($0) }), let list = json["rollovers"]?.array,
            list.count <= 64,
            let keys = json["keys"]?.string
        else { throw RightsError(.malformed, "the service's root cannot be read") }
        let rollovers = list.compactMap(\.string)
        guard rollovers.count == list.count else { throw RightsError(.malformed, "a new root cannot be read") }
        self.init(root: root, rollovers: rollovers, keys: keys)
    }

    /// The root and its keys, when they lead from a root that is trusted.
    ///
    /// - Parameters:
    ///   - trusted: the root that is trusted so far, in DER; nil trusts the root of this document (at first contact over TLS).
    ///   - number: the number of the last document; an older one is refused.
    /// - Returns: the root, and the keys of the service.
    /// - Throws: `rights.signature`, `rights.malformed`.
    package func verified(from trusted: [UInt8]?, notBefore number: Int = 0) throws(RightsError) -> (
        root: Certificate, keys: ServiceKeys
    ) {
        guard let named = try? Certificate(der: root) else { throw RightsError(.malformed, "the service's root cannot be read") }
        if let trusted {
            guard let old = try? Certificate(der: trusted) else {
                throw RightsError(.malformed, "the trusted root cannot be read")
            }
            guard try RootRollover.newest(from: old, through: rollovers).der == root else {
                throw RightsError(.signature, "the service has another root than the one that is trusted")
            }
        }
        guard let key = try? P256.PublicKey(subjectPublicKeyInfo: named.subjectPublicKeyInfo) else {
            throw RightsError(.malformed, "the root has a key of another kind")
        }
        let keys = try ServiceKeys(keys, signedBy: key)
        guard keys.number >= number else {
            throw RightsError(.signature, "the service's keys are older than those that are known")
        }
        return (named, keys)
    }
}
