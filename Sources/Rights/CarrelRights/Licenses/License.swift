// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelCrypto
import CarrelJOSE
import CarrelJSON

/// A license: the player's permissions for content, and the content's keys, encrypted to that player alone. The service signs it.
package struct License: Sendable, Equatable {
    /// A content key in a license.
    package struct Key: Sendable, Equatable {
        package let id: KeyID
        /// A JWE to the player's key for agreement; it belongs to this license and key id alone.
        package let sealed: String
        /// The name of the rule that this key is used by, such as `HD`; empty for none.
        package let policy: String

        package init(id: KeyID, sealed: String, policy: String = "") {
            self.id = id
            self.sealed = sealed
            self.policy = policy
        }
    }

    package let id: String
    /// Larger in every renewal; a player takes no smaller one.
    package let sequence: Int
    /// The player's id.
    package let player: String
    package let contentID: String
    /// The digest of the request, and its nonce.
    package let request: [UInt8]
    package let nonce: String
    /// When it was first issued: the clocks of its terms run from then.
    package let issuedAt: Instant
    /// When it was signed.
    package let signedAt: Instant
    package let terms: LicenseTerms
    package let obligations: [Obligation]
    package let keys: [Key]
    /// The lowest acceptable number of the revocation list.
    package let minimumRevocations: Int
    /// The version of the protocol, and those that the player offered: a removed offer is noticed.
    package let version: Int
    package let offered: [Int]
    /// Names the stream's slot, and how often to renew it, in seconds; of streams alone.
    package let session: String?
    package let heartbeat: Int?
    /// Whether the keys of the order's audiobook rotate (``OrderKeys``); nil for other content.
    package let rotatesKeys: Bool?

    package init(
        id: String,
        sequence: Int,
        player: String,
        contentID: String,
        request: [UInt8],
        nonce: String,
        issuedAt: Instant,
        signedAt: Instant? = nil,
        terms: LicenseTerms,
        obligations: [Obligation],
        keys: [Key],
        minimumRevocations: Int,
        version: Int = 1,
        offered: [Int] = [1],
        session: String? = nil,
        heartbeat: Int? = nil,
        rotatesKeys: Bool? = nil
    ) {
        self.id = id
        self.sequence = sequence
        self.player = player
        self.contentID = contentID
        self.request = request
        self.nonce = nonce
        self.issuedAt = issuedAt
        self.signedAt = signedAt ?? issuedAt
        self.terms = terms
        self.obligations = obligations
        self.keys = keys
        self.minimumRevocations = minimumRevocations
        self.version = version
        self.offered = offered
        self.session = session
        self.heartbeat = heartbeat
        self.rotatesKeys = rotatesKeys
    }

    /// `typ` of a sealed key.
    private static let keyType = "cpk-key+jwe"
    private static let maxKeys = 64
    private static let maxObligations = 64

    /// Encrypts a content key for a license.
    package static func seal(_ key: Secret, id: KeyID, license: String, to player: P256.PublicKey) -> String {
        key.withBytes { JWE.encrypt($0, to: player, type: keyType, context: context(license, id)) }
    }

    /// Decrypts a key of the license by key agreement with the player's private key.
    ///
    /// - Parameters:
    ///   - id: the key's ID.
    ///   - agree: returns the 32-byte shared secret of the player's key and a point.
    /// - Returns: 16 bytes.
    /// - Throws: `rights.key` if the license lacks the key, or the key was moved from another license; the errors of `agree`.
    package func open(_ id: KeyID, agree: (P256.PublicKey) async throws -> Secret) async throws -> Secret {
        guard let key = keys.first(where: { $0.id == id }) else { throw RightsError(.key, "the license does not have this key") }
        let sealed: JWE.Sealed
        do throws(JOSEError) {
            sealed = try JWE.Sealed(key.sealed, type: Self.keyType, context: Self.context(self.id, id))
        } catch {
            throw RightsError(.key, "a key of the license belongs to another one, or cannot be read")
        }
        let shared = try await agree(sealed.ephemeral)
        do throws(JOSEError) {
            let opened = try sealed.open(sharedSecret: shared)
            guard opened.count == KeyID.byteCount else { throw JOSEError(.malformed, "") }
            return opened
        } catch {
            throw RightsError(.key, "a key of the license is not encrypted to this player")
        }
    }

    private static func context(_ license: String, _ id: KeyID) -> [UInt8] { Array("\(license)|\(id.hex)".utf8) }

    package func signed(by key: Ed25519.PrivateKey) -> String {
        var object: JSONObject = [
            "jti": .string(id), "sequence": .integer(sequence), "sub": .string(player), "content": .string(contentID),
            "request": .string(Base64URL.encode(request)), "nonce": .string(nonce), "iat": signedAt.numericDate,
            "issued": issuedAt.numericDate,
            "terms": terms.json, "obligations": .array(obligations.map(\.json)),
            "keys": .array(keys.map { ["kid": .string($0.id.hex), "key": .string($0.sealed), "policy": .string($0.policy)] }),
            "revocations": .integer(minimumRevocations), "version": .integer(version),
            "offered": .array(offered.map { .integer($0) }),
        ]
        object["session"] = session.map { .string($0) }
        object["heartbeat"] = heartbeat.map { .integer($0) }
        object["rotation"] = rotatesKeys.map { .bool($0) }
        return TypedJWS.sign(JSON.object(object).write(), as: RightsMessage.license, with: key)
    }

    /// Reads a license that a key of the service signed.
    ///
    /// - Throws: `rights.signature` for another key, or a key of another time; `rights.malformed`.
    package init(_ text: String, keys service: ServiceKeys) throws(RightsError) {
        let (json, _) = try service.payload(of: text, as: RightsMessage.license, use: .license)
        guard let id = json["jti"]?.string, 1...64 ~= id.utf8.count, let sequence = json["sequence"]?.int, sequence >= 0,
            let player = json["sub"]?.string, let content = json["content"]?.string, let request = json.bytes("request"),
            let nonce = json["nonce"]?.string, let signedAt = json.instant("iat"), let issuedAt = json.instant("issued"),
            let terms = json["terms"],
            let obligations = json["obligations"]?.array, obligations.count <= Self.maxObligations,
            let list = json["keys"]?.array, list.count <= Self.maxKeys, let revocations = json["revocations"]?.int,
            let version = json["version"]?.int, let offered = json["offered"]?.array
        else { throw RightsError(.malformed, "the license cannot be read") }
        guard KeyRequest.versions.contains(version) else { throw RightsError(.malformed, "the license is of a later version") }
        var keys: [Key] = []
        for element in list {
            guard let kid = element["kid"]?.string.flatMap({ KeyID(hex: $0) }), let sealed = element["key"]?.string,
                !keys.contains(where: { $0.id == kid })
            else { throw RightsError(.malformed, "a key of the license cannot be read") }
            keys.append(Key(id: kid, sealed: sealed, policy: element["policy"]?.string ?? ""))
        }
        var duties: [Obligation] = []
        for element in obligations { duties.append(try Obligation(element)) }
        self.init(
            id: id,
            sequence: sequence,
            player: player,
            contentID: content,
            request: request,
            nonce: nonce,
            issuedAt: issuedAt,
            signedAt: signedAt,
            terms: try LicenseTerms(terms),
            obligations: duties,
            keys: keys,
            minimumRevocations: revocations,
            version: version,
            offered: offered.compactMap(\.int),
            session: json["session"]?.string,
            heartbeat: json["heartbeat"]?.int,
            rotatesKeys: json["rotation"]?.bool
        )
    }
}
