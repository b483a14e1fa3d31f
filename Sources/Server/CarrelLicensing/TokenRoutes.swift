// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelRights
import CarrelTokens
import CarrelWebAPI

/// `/admin/v1/tokens` and `/admin/v1/communication-keys`: tokens for titles, and keys of portals that make messages themselves.
struct TokenRoutes: Sendable {
    let titles: TitleTokens
    let keys: CommunicationKeys
    let addresses: ServiceAddresses
    let callers: RequestAuthenticator
    let clock: any WallClock

    private static let bodyLimit = 16_384
    private static let members: Set<String> = [
        "title", "account", "rights", "periodEnd", "playDuration", "redemptions", "expiresIn", "contentURL", "serviceURL",
        "player", "cnf", "copy", "print", "noExport", "watermark", "plays", "storage", "maxPixels", "metering", "attended",
        "notBefore",
    ]

    func add(to router: inout Router) {
        router.on(.post, "admin/v1/tokens") { request, _ in
            let actor = try await callers.require(request, .issueTokens)
            let object = try await JSONBody.object(of: request, limit: Self.bodyLimit)
            try object.allowOnly(Self.members)
            let asked = try grant(object)
            var base = try object.string("serviceURL") ?? addresses.base(request)
            if base.hasSuffix("/") { base.removeLast() }
            let content = try object.string("contentURL")
            do {
                let place = try addresses.configuration(at: base)
                let issuer = try await callers.backOfficeKey(request)?.id
                let made = try await titles.make(asked, by: actor, issuer: issuer)
                let stream = addresses.rightsURL(made.stream, base, content ?? base + (made.file ?? "/v1/shelf"))
                return .json(try Self.json(made, asked, place, stream)).unstored
            } catch let error as RightsError {
                throw ServerError(.invalid, "\(error.message): set http.public-url to the https address of this server")
            }
        }
        router.on(.post, "admin/v1/token-key/rotate") { request, _ in
            let actor = try await callers.require(request, .rotateKeys)
            let atOnce = request.query.flag("atOnce")
            let rotation = try await titles.tokens.rotate(atOnce: atOnce, by: actor, at: clock.now)
            return .json([
                "key": .integer(Int64(rotation.id)), "signsFrom": .string(rotation.signsFrom.description),
                "forgotten": .integer(rotation.forgotten),
            ])
        }
        router.on(.get, "admin/v1/communication-keys") { request, _ in
            try await callers.require(request, .manageKeys)
            let list = try await keys.list(at: clock.now).map(\.json)
            return .json(["keys": .array(list)]).unstored
        }
        router.on(.delete, "admin/v1/communication-keys/{id}") { request, parameters in
            let actor = try await callers.require(request, .manageKeys)
            try await keys.remove(try Self.keyID(parameters["id"]), by: actor, at: clock.now)
            return .empty(.noContent)
        }
        // with such a key, a program makes grants for itself: it is as much as a back-office key
        router.on(.put, "admin/v1/communication-keys/{id}") { request, parameters in
            let actor = try await callers.require(request, .manageKeys)
            let object = try await JSONBody.object(of: request, limit: 4096)
            try object.allowOnly(["key", "owner"])
            let owner = try object.string("owner")
            let id = try Self.keyID(parameters["id"])
            let text = try object.requiredString("key")
            guard let key = Hex.decode(text) ?? Base64.decode(text) ?? Base64URL.decode(text), key.count == 32 else {
                throw ServerError(.invalid, "key must have 32 bytes, in hexadecimal digits or base 64")
            }
            try await keys.add(id, Secret(key), owner: owner, by: actor, at: clock.now)
            return .empty(.noContent)
        }
    }

    private static func keyID(_ text: String) throws(ServerError) -> KeyID {
        guard let id = KeyID(uuid: text) ?? KeyID(hex: text) else {
            throw ServerError(.invalid, "the id of a communication key is a UUID")
        }
        return id
    }

    private static func number(
        _ name: String,
        _ range: ClosedRange<Int>,
        in object: JSONObject
    ) throws(ServerError) -> Int? {
        guard let value = object[name], !value.isNull else { return nil }
        guard let number = value.int, range.contains(number) else {
            throw ServerError(.invalid, "\(name) must be a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// Reads the device that a token is bound to.
    private static func device(_ object: JSONObject) throws(ServerError) -> TitleTokens.Request.Device? {
        switch (try object.string("player"), try object.string("cnf")) {
        case (nil, nil): return nil
        case (let player?, nil): return .player(player)
        case (nil, let thumbprint?):
            guard Base64URL.decode(thumbprint)?.count == 32 else {
                throw ServerError(.invalid, "cnf must be a thumbprint: SHA-256 in base 64 for URLs (RFC 7638)")
            }
            return .thumbprint(thumbprint)
        default: throw ServerError(.invalid, "player and cnf exclude each other")
        }
    }

    /// Reads the conditions of a license.
    private static func conditions(_ object: JSONObject) throws -> LicenseConditions {
        var conditions = LicenseConditions()
        conditions.startsAt = try object.instant("notBefore")
        conditions.storageSeconds = try number("storage", LicenseConditions.storageRange, in: object)
        conditions.playCount = try number("plays", LicenseConditions.playRange, in: object)
        conditions.maxPixels = try number("maxPixels", LicenseConditions.pixelRange, in: object)
        conditions.isMetered = try object.flag("metering") ?? false
        conditions.attendedSeconds = try number("attended", LicenseConditions.attendedRange, in: object)
        conditions.copyCharacters = try number("copy", LicenseConditions.copyRange, in: object)
        conditions.printPages = try number("print", LicenseConditions.printRange, in: object)
        conditions.forbidsExport = try object.flag("noExport") ?? false
        conditions.watermark = try object.string("watermark")
        do throws(RightsError) { try conditions.check() } catch { throw ServerError(.invalid, error.message) }
        return conditions
    }

    /// Reads a grant.
    private func grant(_ object: JSONObject) throws -> TitleTokens.Request {
        func number(_ name: String, _ range: ClosedRange<Int>) throws(ServerError) -> Int? {
            try Self.number(name, range, in: object)
        }
        let now = clock.now
        let lifetimes = 1...Int(TokenRequest.maxLifetime)
        let (end, duration) = (try object.instant("periodEnd"), try number("playDuration", 1...BusinessRules.maxPlayDuration))
        let rights: BusinessRules.Rights
        switch (try object.string("rights") ?? "buy", end, duration) {
        case ("buy", nil, nil): rights = .buyToOwn
        case ("buy", _, _): throw ServerError(.invalid, "periodEnd and playDuration are for a rental")
        case ("rental", let end?, let duration?):
            guard now < end, end <= now + .seconds(TokenRequest.maxLifetime) else {
                throw ServerError(.invalid, "periodEnd must be within the next ten years")
            }
            rights = .rental(periodEnd: end, playDuration: duration)
        case ("rental", _, _): throw ServerError(.invalid, "a rental needs periodEnd and playDuration")
        default: throw ServerError(.invalid, "rights must be \"buy\" or \"rental\"")
        }
        let life = try number("expiresIn", lifetimes) ?? Int(TokenRequest.defaultLifetime)
        return TitleTokens.Request(
            title: try object.requiredString("title"),
            account: try object.string("account"),
            rights: rights,
            redemptions: try number("redemptions", 1...1_000_000) ?? 1,
            device: try Self.device(object),
            conditions: try Self.conditions(object),
            expiresAt: (now + .seconds(life)).wholeSecond
        )
    }

    private static func json(
        _ made: TitleTokens.Made,
        _ asked: TitleTokens.Request,
        _ place: ActionToken.Configuration,
        _ stream: ServiceAddresses.RightsURL
    ) throws(RightsError) -> JSON {
        let token = try ActionToken(.licenseAcquisition, configuration: place, businessToken: made.license.bytes)
        var object: JSONObject = ["id": .string(made.id), "expiresAt": .string(asked.expiresAt.description)]
        switch stream {
        case .url(let url): object["ms3"] = .string(url)
        case .missing(let problem):
            object["ms3"] = .null
            object["ms3Problem"] = .string(problem)
        }
        object["bb"] = .string(String(decoding: token.write(), as: UTF8.self))
        object["jwt"] = .string(made.message)
        return .object(object)
    }
}
