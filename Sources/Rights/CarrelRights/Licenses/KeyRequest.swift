// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelCrypto
import CarrelJOSE
import CarrelJSON
package import CarrelVault

/// A player's request for the keys of content: signed with its key, and encrypted to the service.
package struct KeyRequest: Sendable, Equatable {
    /// The kind of request.
    package enum Session: String, Sendable, CaseIterable {
        /// A streaming license, which is not stored.
        case stream
        /// A license for the store.
        case persist
        /// A renewal of a license that the player has.
        case renew
        /// The player returns a license.
        case release
        /// Registers the player with the user of a token; sent to `/v1/registration`, like the next.
        case register
        /// Takes the player from its user.
        case deregister
    }

    /// Names the request; random.
    package var id: String
    /// The id of the service's environment, which the request is for.
    package var environment: String
    package var session: Session
    package var contentID: String
    /// The requested keys; empty for all keys of the content.
    package var keyIDs: [KeyID] = []
    /// The nonce of a challenge.
    package var nonce: String
    /// The wall clock of the player, and the last service time known to it.
    package var clock: Instant
    package var trustedTime: Instant?
    package var bootID = ""
    package var secondsSinceBoot = 0
    /// The token that is redeemed; nil in renewals and releases.
    package var token: String?
    /// The previous license, and its number in its series.
    package var license: String?
    package var sequence = 0
    /// The number of the player's revocation list.
    package var revocations = 0
    /// The version of that list which the player reads.
    package var listVersion = Revocations.version
    package var level: VaultLevel
    /// Versions of this protocol that the player speaks, each a whole number.
    package var versions = KeyRequest.versions
    /// Capabilities of the player's outputs, by name.
    package var capabilities: [String] = []
    /// In a renewal or a release: how often it was played since its first issue.
    package var plays = 0

    /// The versions of the protocol that this program speaks.
    package static let versions = [1]
    /// The longest request, in bytes.
    package static let maxByteCount = 32_768
    /// `typ` of the encrypted request.
    static let sealedType = "cpk-req+jwe"
    private static let maxKeyIDs = 64

    package init(
        id: String,
        environment: String,
        session: Session,
        contentID: String,
        nonce: String,
        clock: Instant,
        level: VaultLevel
    ) {
        self.id = id
        self.environment = environment
        self.session = session
        self.contentID = contentID
        self.nonce = nonce
        self.clock = clock
        self.level = level
    }

    private var payload: JSON {
        var object: JSONObject = [
            "jti": .string(id), "aud": .string(environment), "session": .string(session.rawValue), "content": .string(contentID),
            "kids": .array(keyIDs.map { .string($0.hex) }), "nonce": .string(nonce), "iat": clock.numericDate,
            "boot": .string(bootID), "sinceBoot": .integer(secondsSinceBoot), "sequence": .integer(sequence),
            "revocations": .integer(revocations), "lists": .integer(listVersion), "level": .string(level.rawValue),
            "versions": .array(versions.map { .integer($0) }), "capabilities": .array(capabilities.map { .string($0) }),
            "plays": .integer(plays),
        ]
        object["trusted"] = trustedTime?.numericDate
        object["token"] = token.map { .string($0) }
        object["license"] = license.map { .string($0) }
        return .object(object)
    }

    /// Signs the request and encrypts it.
    ///
    /// - Parameters:
    ///   - certificate: the thumbprint of the player's certificate, which names the key.
    ///   - service: the key of the service.
    ///   - sign: signs with the player's key, R and S.
    /// - Returns: the text to send, and the digest that the response repeats.
    /// - Throws: an error of `sign`.
    package func sealed(
        certificate: [UInt8],
        to service: P256.PublicKey,
        sign: ([UInt8]) async throws -> [UInt8]
    ) async throws -> (text: String, digest: [UInt8]) {
        let unsigned = TypedJWS.Unsigned(
            RightsMessage.request,
            keyID: Base64URL.encode(certificate),
            payload: payload.write()
        )
        let signed = Array(unsigned.signed(try await sign(unsigned.input)).utf8)
        let text = JWE.encrypt(signed.rawSpan, to: service, type: Self.sealedType, context: Array(environment.utf8))
        return (text, SHA256.hash(signed.rawSpan))
    }

    /// A request that was decrypted and not yet verified.
    package struct Unverified: Sendable {
        /// The thumbprint of the certificate of the signing key.
        package let certificate: [UInt8]
        /// The digest that the response repeats.
        package let digest: [UInt8]
        private let message: TypedJWS.Unverified
        private let environment: String

        /// Decrypts a request with a key of the service.
        ///
        /// - Parameters:
        ///   - text: the text as received, at most ``KeyRequest/maxByteCount`` bytes.
        ///   - environment: the service's own.
        ///   - keys: the private keys of the service for requests, by id.
        /// - Throws: `rights.malformed`, `rights.key` for a key that the service does not have, `rights.signature`.
        package init(_ text: String, environment: String, keys: [String: P256.PrivateKey]) throws(RightsError) {
            guard text.utf8.count <= KeyRequest.maxByteCount else { throw RightsError(.malformed, "the request is too long") }
            let opened: Secret
            do throws(JOSEError) {
                let sealed = try JWE.Sealed(text, type: KeyRequest.sealedType, context: Array(environment.utf8))
                guard let key = keys[sealed.keyID] else {
                    throw JOSEError(.key, "it is encrypted to a key that the service does not have any longer")
                }
                opened = try sealed.open(sharedSecret: key.sharedSecret(with: sealed.ephemeral))
            } catch {
                throw RightsError(
                    error.code == .key ? .key : error.code == .signature ? .signature : .malformed,
                    "the request cannot be read: \(error.message)"
                )
            }
            let bytes = opened.withBytes { [UInt8](copying: $0) }
            guard let signed = String(validating: bytes, as: UTF8.self) else {
                throw RightsError(.malformed, "the request is not text")
            }
            message = try RightsMessage.read(signed, as: RightsMessage.request)
            guard let certificate = message.keyID.flatMap({ Base64URL.decode($0) }), certificate.count == SHA256.byteCount else {
                throw RightsError(.malformed, "the request names no certificate")
            }
            self.certificate = certificate
            self.environment = environment
            digest = SHA256.hash(bytes.rawSpan)
        }

        /// The request, when the key of the player's certificate signed it.
        ///
        /// - Throws: `rights.signature`, `rights.malformed`.
        package func verified(by key: P256.PublicKey) throws(RightsError) -> KeyRequest {
            let bytes: [UInt8]
            do throws(JOSEError) {
                bytes = try message.verified(by: .p256(key))
            } catch {
                throw RightsError(.signature, "the request was not signed with the key of the player's certificate")
            }
            let json = try RightsMessage.json(bytes)
            guard json["aud"]?.string == environment else { throw RightsError(.signature, "the request is for another service") }
            return try KeyRequest(json)
        }
    }

    private init(_ json: JSON) throws(RightsError) {
        func strings(_ name: String, atMost limit: Int) throws(RightsError) -> [String] {
            let list = json[name]?.array ?? []
            let texts = list.compactMap(\.string)
            guard texts.count == list.count, texts.count <= limit, texts.allSatisfy({ $0.utf8.count <= 64 }) else {
                throw RightsError(.malformed, "\(name) of the request cannot be read")
            }
            return texts
        }
        func count(_ name: String) throws(RightsError) -> Int {
            guard let count = json[name]?.int, 0...1_000_000_000_000 ~= count else {
                throw RightsError(.malformed, "\(name) of the request cannot be read")
            }
            return count
        }
        guard let id = json["jti"]?.string, 1...64 ~= id.utf8.count, let environment = json["aud"]?.string,
            let session = json["session"]?.string.flatMap({ Session(rawValue: $0) }), let content = json["content"]?.string,
            content.utf8.count <= 255, let nonce = json["nonce"]?.string, nonce.utf8.count <= 256,
            let clock = json.instant("iat"),
            let level = json["level"]?.string.flatMap({ VaultLevel(rawValue: $0) }), let boot = json["boot"]?.string,
            boot.utf8.count <= 64
        else { throw RightsError(.malformed, "the request for keys cannot be read") }
        self.init(
            id: id,
            environment: environment,
            session: session,
            contentID: content,
            nonce: nonce,
            clock: clock,
            level: level
        )
        let kids = try strings("kids", atMost: Self.maxKeyIDs)
        keyIDs = kids.compactMap { KeyID(hex: $0) }
        guard keyIDs.count == kids.count else { throw RightsError(.malformed, "a key id of the request cannot be read") }
        capabilities = try strings("capabilities", atMost: 32)
        let versions = json["versions"]?.array ?? []
        self.versions = versions.compactMap(\.int)
        guard self.versions.count == versions.count, 1...16 ~= versions.count else {
            throw RightsError(.malformed, "the versions of the request cannot be read")
        }
        bootID = boot
        secondsSinceBoot = try count("sinceBoot")
        sequence = try count("sequence")
        revocations = try count("revocations")
        listVersion = json["lists"] == nil ? 1 : try count("lists")
        plays = try count("plays")
        trustedTime = json.instant("trusted")
        token = json["token"]?.string
        license = json["license"]?.string
        guard (token?.utf8.count ?? 0) <= 16_384, (license?.utf8.count ?? 0) <= 64 else {
            throw RightsError(.malformed, "the token or the license of the request is too long")
        }
    }
}
