// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelKeyStore
import CarrelCrypto
import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelMetrics
import CarrelRights
import CarrelThrottling
import CarrelTokens
import CarrelWebAPI

/// `/v1/license`, `/hms/…/token`, `/hms/bb/configuration`, `/cmiapi/getrecord`, and what staff do to licenses.
struct LicensingRoutes: Sendable {
    let licenses: Licenses
    let tokens: Tokens
    let keys: ContentKeys
    let accounts: Accounts
    let callers: RequestAuthenticator
    let clock: any WallClock
    let limiter: TokenBucketLimiter
    let addresses: ServiceAddresses
    let refusesQuerySecrets: Bool
    let secretsInQuery: Counter

    private static let formLimit = 65_536

    func add(to router: inout Router) {
        router.on(.post, "v1/license") { request, _ in
            let text = try await signed(request)
            let answer = try await licenses.answer(text, message: try request.licenseMessage(), requestID: request.id)
            var response = HTTPResponse(.ok, body: .bytes(Array(answer.utf8)))
            response.headers["Content-Type"] = "application/jose"
            return response.unstored
        }
        router.on(.post, "v1/registration") { request, _ in
            let text = try await signed(request)
            return .json(try await licenses.register(text, requestID: request.id).json).unstored
        }
        for (path, service) in [("hms/ms3/token", TokenRequest.Service.ms3), ("hms/bb/token", .broadband)] {
            for method in [HTTPMethod.get, .post] {
                router.on(method, path, acceptsForms: true, answersHead: false) { request, _ in
                    try await reply(request) { try await token($0, service, request) }
                }
            }
        }
        for path in ["hms/pr/token", "hms/wv/token"] {
            for method in [HTTPMethod.get, .post] {
                router.on(method, path, acceptsForms: true, answersHead: false) { request, _ in
                    try await reply(request) { pairs in
                        let refusal = TokenRefusal(.accountDisabled, "tokens of PlayReady and Widevine are not served")
                        return .refusal(refusal, as: TokenParameters.errorFormat(of: pairs), status: .notFound)
                    }
                }
            }
        }
        router.on(.get, "hms/bb/configuration") { request, _ in
            let document = try configuration(request)
            var response = HTTPResponse(.ok, body: .bytes(document.write()))
            response.headers["Content-Type"] = BroadbandConfiguration.mediaType
            response.headers["Cache-Control"] = "no-cache"
            return response
        }
        for method in [HTTPMethod.get, .post] {
            router.on(method, "cmiapi/getrecord", acceptsForms: true, answersHead: false) { request, _ in
                try await reply(request) { try await records($0) }
            }
        }
        addStaff(to: &router)
    }

    /// The text of a player's request.
    private func signed(_ request: HTTPRequest) async throws -> String {
        try Self.throttle(limiter, at: clock.now)
        guard request.contentType == "application/jose" else {
            throw HTTPError(.unsupportedMediaType, "request.media-type", "the body must be application/jose")
        }
        let bytes = try await request.body.collect(upTo: KeyRequest.maxByteCount)
        guard let text = String(validating: bytes, as: UTF8.self) else { throw ServerError(.invalid, "the body is not text") }
        return text
    }

    static func throttle(_ limiter: TokenBucketLimiter, at now: Instant) throws(HTTPError) {
        guard let network = ClientNetwork.current, let wait = limiter.take("\(network)", at: now) else { return }
        throw HTTPError(
            .tooManyRequests,
            "license.throttled",
            "there were too many requests for licenses from this network",
            headers: ["Retry-After": String(max(1, wait.components.seconds))]
        )
    }

    private func addStaff(to router: inout Router) {
        router.on(.get, "admin/v1/licenses") { request, _ in
            try await callers.require(request, .manageLicenses)
            let page = try ListPage(request.query)
            let found = try await licenses.list(of: request.query["player"], after: page.after, limit: page.limit)
            return .json(.object(page.json("licenses", found, \.json) { ($0.issuedAt, $0.id) })).unstored
        }
        router.on(.post, "admin/v1/licenses/{license}/revoke") { request, parameters in
            let actor = try await callers.require(request, .manageLicenses)
            return .json(try await licenses.revoke(parameters["license"], by: actor).json).unstored
        }
    }

    /// Answers a call of the token API, errors in the form that it wants.
    private func reply(
        _ request: HTTPRequest,
        _ body: ([(name: String, value: String)]) async throws -> TokenReply
    ) async throws -> HTTPResponse {
        var pairs = request.query.pairs.map { (name: $0.name, value: $0.value) }
        let reply: TokenReply
        do {
            if pairs.contains(where: { $0.name == "customerAuthenticator" && !$0.value.isEmpty }) {
                secretsInQuery.add()
                if refusesQuerySecrets {
                    throw TokenRefusal(.authenticatorWrong, "send it in a POST form: queries are logged")
                }
            }
            if request.method == .post {
                let form = try await request.form(upTo: Self.formLimit, orUntyped: true)
                pairs += form.pairs.map { (name: $0.name, value: $0.value) }
            }
            reply = try await body(pairs)
        } catch let refusal as TokenRefusal {
            reply = .refusal(refusal, as: TokenParameters.errorFormat(of: pairs))
        }
        var response = HTTPResponse(reply.status, body: .bytes(reply.body))
        response.headers["Content-Type"] = reply.contentType
        return response.unstored
    }

    /// The back-office key that a request's authenticator names.
    private func portal(_ parameters: TokenParameters) async throws -> ServiceKey {
        let text = parameters.authenticator.key.withBytes { String(validating: [UInt8](copying: $0), as: UTF8.self) } ?? ""
        guard let key = try await accounts.serviceKey(ofToken: text), key.id == parameters.authenticator.accountID else {
            throw TokenRefusal(.authenticatorWrong)
        }
        guard key.role.may(.issueTokens) else { throw TokenRefusal(.accountDisabled) }
        return key
    }

    private func token(
        _ pairs: [(name: String, value: String)],
        _ service: TokenRequest.Service,
        _ request: HTTPRequest
    ) async throws -> TokenReply {
        let parameters = try TokenParameters(pairs)
        let portal = try await portal(parameters)
        let asked = try TokenRequest(parameters, for: service, at: clock.now)
        var rules = asked.rules
        rules.issuer = portal.id
        // the users of a key that may not change accounts are its own: it reaches no reader of the shop, nor another portal's user
        if let user = rules.user, !portal.role.may(.changeAccounts) {
            rules.user = BusinessRules.User(id: "\(portal.id):\(user.id)", key: user.key)
        }
        if let user = rules.user?.id, rules.kind != .deregistration, try await accounts.find(named: user)?.isSuspended == true {
            throw TokenRefusal(.value, "the account of userId is suspended")
        }
        try await keys.requireKeys(of: rules.contents, for: portal.id)
        let sealed: SealedToken
        do {
            sealed = try await tokens.seal(rules, at: clock.now)
        } catch let error as RightsError {
            throw TokenRefusal(.value, error.message)
        }
        try await licenses.noteToken(rules, by: AuditActor(portal.id, requestID: request.id))
        switch service {
        case .ms3:
            guard let location = addresses.rightsLocation(nil) else {
                throw TokenRefusal(.internalFault, RightsLocation.missing)
            }
            return try TokenReply.stream(sealed, for: asked, rights: location)
        case .broadband:
            guard let operation = ActionToken.Operation(asked.rules.kind) else { throw TokenRefusal(.value) }
            do throws(RightsError) {
                let place = try addresses.configuration(at: addresses.base(request))
                return .actionToken(try ActionToken(operation, configuration: place, businessToken: sealed.bytes))
            } catch {
                throw TokenRefusal(.internalFault, error.message)
            }
        }
    }

    private func configuration(_ request: HTTPRequest) throws -> BroadbandConfiguration {
        let base = addresses.base(request)
        do throws(RightsError) {
            return try BroadbandConfiguration(
                serviceID: ServiceAddresses.serviceID,
                version: 1,
                personalization: "\(base)/v1/personalize",
                registration: "\(base)/v1/registration",
                licenseAcquisition: "\(base)/v1/license",
                deregistration: "\(base)/v1/registration"
            )
        } catch {
            throw ServerError(.invalid, "\(error.message): set http.public-url to the https address of this server")
        }
    }

    private func records(_ pairs: [(name: String, value: String)]) async throws -> TokenReply {
        let parameters = try TokenParameters(pairs)
        let portal = try await portal(parameters)
        func count(_ name: String, _ range: ClosedRange<Int>, or usual: Int) throws -> Int {
            guard let text = try parameters.text(name) else { return usual }
            guard let number = Int(text), range ~= number else { throw TokenRefusal(.value, "\(name) is out of range") }
            return number
        }
        let found = try await licenses.redemptions(
            issuer: portal.id,
            cookie: try parameters.text("cookie"),
            start: try count("start", 0...1_000_000, or: 0),
            count: try count("length", 1...1000, or: 32)
        )
        let list = found.map(\.json)
        return .json(.object(["records": .array(list)]))
    }
}
