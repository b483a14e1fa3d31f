// SPDX-License-Identifier: Apache-2.0

import CarrelVault
import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelRights
import CarrelThrottling
import CarrelWebAPI

/// `/v1/personalize`, `/v1/license/keys`, `/v1/license/revocations`, `/v1/license/time`, `/v1/players`, and what staff do to players
/// and to the certificate authority.
struct AuthorityRoutes: Sendable {
    let authority: Authority
    let expunging: Expunging
    let personalizations: Personalizations
    let players: Players
    let accounts: Accounts
    let callers: RequestAuthenticator
    let clock: any WallClock
    let limiter: TokenBucketLimiter
    let challengeLimiter: TokenBucketLimiter
    let listLimiter: TokenBucketLimiter

    /// A request for personalization has about two kilobytes.
    private static let bodyLimit = 32_768
    static let signedType = "application/jose"

    func add(to router: inout Router) {
        router.on(.post, "v1/personalize/challenge") { request, _ in
            try challengeLimiter.requireRoom(at: clock.now)
            let now = clock.now
            return .json([
                "nonce": .string(personalizations.challenges.make(at: now)),
                "expiresIn": .integer(Challenges.life.components.seconds), "time": .string(now.description),
                "environment": .string(try await authority.keys().environment),
            ]).unstored
        }
        router.on(.post, "v1/personalize") { request, _ in
            try limiter.requireRoom(at: clock.now)
            let text = try await Self.signed(request)
            let session = try await callers.session(request)
            if request.bearerToken != nil, session == nil {
                throw ServerError(.unauthenticated, "the session is not valid any longer: sign in again")
            }
            let reader = session.map { Personalizations.Reader(account: $0.account.id, device: $0.deviceID, family: $0.family) }
            do {
                let response = try await personalizations.personalize(
                    text,
                    reader: reader,
                    requestID: request.id,
                    from: request.peer.description
                )
                return .json(response.json).unstored
            } catch let error as RuleError where error.kind == .unauthenticated {
                throw error.problem(headers: ["WWW-Authenticate": "Bearer"])
            }
        }
        router.on(.get, "v1/license/keys") { _, _ in
            let keys = try await authority.storedKeys()
            var object = keys.trust.json
            object["environment"] = .string(keys.environment)
            return .json(.object(object))
        }
        router.on(.get, "v1/license/certificate") { _, _ in
            var response = HTTPResponse(.ok, body: .bytes(try await authority.agreementCertificate()))
            response.headers["Content-Type"] = "application/pkix-cert"
            response.headers["Cache-Control"] = "no-cache"
            return response
        }
        router.on(.get, "v1/license/revocations") { request, _ in
            try await list(request, Self.signedType, \.signed)
        }
        router.on(.get, "v1/license/revocations.crl") { request, _ in
            try await list(request, "application/pkix-crl", \.current)
        }
        router.on(.get, "v1/license/revocations.pem") { request, _ in
            try await list(request, "application/x-pem-file", \.pem)
        }
        router.on(.get, "v1/license/time") { request, _ in
            let nonce = request.query["nonce"] ?? ""
            guard nonce.utf8.count <= 256 else { throw ServerError(.invalid, "nonce has at most 256 characters") }
            let keys = try await authority.keys()
            return Self.signed(TrustedTime(instant: clock.now, nonce: nonce).signed(by: keys.time))
        }
        addPlayers(to: &router)
        addStaff(to: &router)
    }

    /// Serves a form of the revocation list.
    private func list(
        _ request: HTTPRequest,
        _ type: String,
        _ form: @Sendable (Authority.RevocationLists) -> Authority.ListFile
    ) async throws -> HTTPResponse {
        try listLimiter.requireRoom(at: clock.now)
        let file = form(try await authority.revocationLists())
        return .serving(
            Representation(file.bytes, contentType: type, etag: file.tag),
            for: request,
            headers: ["Cache-Control": "no-cache"]
        )
    }

    private func addPlayers(to router: inout Router) {
        router.on(.get, "v1/players") { request, _ in
            let account = try await callers.owner(request).account
            return .json(["players": .array(try await players.list(of: account.id).map(Self.json))]).unstored
        }
        router.on(.delete, "v1/players/{player}") { request, parameters in
            let account = try await callers.owner(request).account
            let actor = AuditActor(account.id, requestID: request.id)
            _ = try await players.change(parameters["player"], .revoke, of: account.id, by: actor)
            return .empty(.noContent)
        }
    }

    private func addStaff(to router: inout Router) {
        router.on(.get, "admin/v1/players") { request, _ in
            try await callers.require(request, .readAccounts)
            if let name = request.query["account"] {
                guard let account = try await accounts.find(named: name) else {
                    throw ServerError(.notFound, "there is no account of that name")
                }
                return .json(["players": .array(try await players.list(of: account.id).map(Self.json))]).unstored
            }
            let page = try ListPage(request.query)
            let found = try await players.list(after: page.after, limit: page.limit)
            return .json(.object(page.json("players", found, Self.json) { ($0.createdAt, $0.id) })).unstored
        }
        router.on(.get, "admin/v1/players/{player}") { request, parameters in
            try await callers.require(request, .readAccounts)
            return .json(Self.json(try await players.find(parameters["player"]))).unstored
        }
        router.on(.post, "admin/v1/players") { request, _ in
            let actor = try await callers.require(request, .manageLicenses)
            let text = try await Self.signed(request)
            let response = try await personalizations.certify(text, linkedTo: request.query["account"], by: actor)
            var object = response.json.object ?? [:]
            object["server"] = personalizations.settings.publicURL.map { .string($0) } ?? .null
            return .json(.object(object)).unstored
        }
        for change in Players.Change.allCases {
            router.on(.post, "admin/v1/players/{player}/\(change.rawValue)") { request, parameters in
                let actor = try await callers.require(request, .changeAccounts)
                return .json(Self.json(try await players.change(parameters["player"], change, by: actor))).unstored
            }
        }
        router.on(.get, "admin/v1/pki") { request, _ in
            try await callers.require(request, .rotateKeys)
            let (keys, list) = (try await authority.storedKeys(), try await authority.list())
            return .json([
                "environment": .string(keys.environment), "number": .integer(keys.number),
                "revocations": .integer(try await authority.revocationNumber()),
                "root": .string(Certificate.pem(keys.trust.root)),
                "rootFingerprint": .string(Hex.encode(SHA256.hash(keys.trust.root.rawSpan))), "keys": .array(list.map(Self.json)),
            ])
        }
        router.on(.post, "admin/v1/pki/rotate") { request, _ in
            let actor = try await callers.require(request, .rotateKeys)
            let object = try await JSONBody.object(of: request, limit: 4096)
            try object.allowOnly(["use"])
            let use = try object.requiredString("use")
            return .json(["use": .string(use), "id": .string(try await authority.rotate(use, by: actor))])
        }
        RootRoutes(authority: authority, expunging: expunging, callers: callers).add(to: &router)
    }

    /// The signed message that a request has as its body.
    static func signed(_ request: HTTPRequest) async throws -> String {
        guard request.contentType == signedType else {
            throw HTTPError(.unsupportedMediaType, "request.media-type", "the body must be \(signedType)")
        }
        let bytes = try await request.body.collect(upTo: bodyLimit)
        guard let text = String(validating: bytes, as: UTF8.self) else { throw ServerError(.invalid, "the body is not text") }
        return text
    }

    private static func signed(_ text: String) -> HTTPResponse {
        var response = HTTPResponse(.ok, body: .bytes(Array(text.utf8)))
        response.headers["Content-Type"] = signedType
        response.headers["Cache-Control"] = "no-cache"
        return response
    }

    static func json(_ player: Player) -> JSON {
        [
            "id": .string(player.id), "state": .string(player.state), "level": .string(player.level.rawValue),
            "app": .string(player.app), "build": .string(player.build), "name": .string(player.name),
            "account": player.account.map { .string($0) } ?? .null, "device": player.device.map { .string($0) } ?? .null,
            "linkExpiresAt": player.linkExpiresAt.map { .string($0.description) } ?? .null,
            "createdAt": .string(player.createdAt.description), "seenAt": .string(player.seenAt.description),
            "expiresAt": .string(player.expiresAt.description),
            "suspendedAt": player.suspendedAt.map { .string($0.description) } ?? .null,
            "revokedAt": player.revokedAt.map { .string($0.description) } ?? .null,
        ]
    }

    private static func json(_ key: Authority.Listed) -> JSON {
        [
            "id": .string(key.id), "use": .string(key.use), "from": .string(key.validity.lowerBound.description),
            "until": .string(key.validity.upperBound.description), "isCurrent": .bool(key.isCurrent),
        ]
    }
}
