// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelBytes
import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelRights
import CarrelSubscription
import CarrelThrottling
import CarrelTokens
import CarrelUpstream
import CarrelWebAPI

/// `/v1/relay/{name}` for players, and `/admin/v1/relays` for those that open them.
struct RelayRoutes: Sendable {
    let relays: Relays
    let callers: RequestAuthenticator
    let clock: any WallClock
    let limiter: TokenBucketLimiter

    func add(to router: inout Router) {
        router.openToOtherOrigins { router in
            // any body of any vendor; the field of the message is what a page cannot send without asking first
            router.on(.post, "v1/relay/{name}", acceptsForms: true, acceptsChunks: true) { request, parameters in
                try throttle()
                let relay = try relays.named(parameters["name"])
                let body = try await request.body.collect(upTo: RelayAnswer.maxByteCount)
                var address: IPAddress?
                if case .network(let text, _) = request.peer { address = IPAddress(text) }
                let answer = try await relays.forward(body, request.headers, to: relay, from: address, requestID: request.id)
                return HTTPResponse(answer.status, headers: answer.headers, body: .bytes(answer.body)).unstored
            }
            router.on(.get, "v1/relay/{name}/certificate") { request, parameters in
                try throttle()
                let relay = try relays.named(parameters["name"])
                guard let certificate = try await relay.certificate?.current() else {
                    throw ServerError(.notFound, "the relay has no certificate: set relay.certificate-url")
                }
                var response = HTTPResponse(.ok, headers: certificate.answer.headers, body: .bytes(certificate.answer.body))
                response.headers.setDefault("Content-Type", "application/octet-stream")
                let life = max(0, (certificate.until - clock.now).components.seconds)
                response.headers["Cache-Control"] = life > 0 ? "max-age=\(life)" : "no-store"
                return response
            }
        }
        addAdministration(to: &router)
    }

    private func throttle() throws(RelayError) {
        guard let network = ClientNetwork.current, let wait = limiter.take("\(network)", at: clock.now) else { return }
        throw RelayError(
            .throttled,
            "there were too many requests for relays from this network",
            retryAfter: max(1, wait.components.seconds)
        )
    }

    // MARK: Administration

    private static let bodyLimit = 16_384
    /// Seconds for which a message is valid, usually and at most: a year.
    private static let (usualLife, longestLife) = (300, 31_536_000)

    private func addAdministration(to router: inout Router) {
        router.on(.get, "admin/v1/relays") { request, _ in
            try await callers.require(request, .readHealth)
            return .json(["relays": .array(relays.inOrder.map { .object($0.json) })]).unstored
        }
        router.on(.post, "admin/v1/relays/{name}/messages") { request, parameters in
            let actor = try await callers.require(request, .issueTokens)
            let relay = try relays.named(parameters["name"])
            if let portal = try await callers.backOfficeKey(request), portal.role == .portal, portal.id != relay.settings.portal {
                throw ServerError(.forbidden, "the relay is not this portal's: relay.portal names the portal that may open it")
            }
            let object = try await JSONBody.object(of: request, limit: Self.bodyLimit)
            try object.allowOnly(["entitlement", "id", "startsAt", "expiresIn"])
            guard let entitlement = object["entitlement"]?.object else {
                throw ServerError(.invalid, "entitlement must be an entitlement message: an object")
            }
            let life = try object.count("expiresIn") ?? Self.usualLife
            guard 1...Self.longestLife ~= life else {
                throw ServerError(.invalid, "expiresIn must be from 1 to \(Self.longestLife) seconds")
            }
            let start = try object.instant("startsAt")?.wholeSecond
            let made = try await relays.make(
                entitlement,
                id: try object.string("id"),
                from: start,
                until: (max(clock.now, start ?? clock.now) + .seconds(life)).wholeSecond,
                for: relay,
                by: actor
            )
            return .json([
                "message": .string(made.text), "id": .string(made.id), "expiresAt": .string(made.expiresAt.description),
            ]).unstored
        }
    }
}

extension Relay {
    /// The relay for lists: without its key, and without the path and query of its address.
    var json: JSONObject {
        let health = health
        var object: JSONObject = [
            "name": .string(settings.name), "server": .string(UpstreamAddress.origin(of: settings.url)),
            "key": .string(settings.key.id.uuid), "hasCertificate": .bool(certificate != nil),
            "portal": JSON(settings.portal), "asking": .integer(health.inFlight),
        ]
        var until: Instant?
        (object["state"], until) =
            switch health.state {
            case .closed: ("available", nil)
            case .open(let end): ("unavailable", end)
            case .probing: ("probing", nil)
            }
        object["unavailableUntil"] = JSON(until)
        object["answeredAt"] = JSON(health.answeredAt)
        object["failedAt"] = JSON(health.failedAt)
        object["failure"] = JSON(health.failure)
        object["certificateFailure"] = JSON(health.certificateFailure)
        return object
    }
}
