// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelThrottling
import CarrelWebAPI

/// `/v1/device/code` and `/v1/device/token` (RFC 8628): linking a player by a code that a signed-in reader types.
struct LinkCodeRoutes: Sendable {
    let links: LinkCodes
    /// Limits signed requests, together with personalization requests.
    let limiter: TokenBucketLimiter
    let clock: any WallClock
    private let questions = TokenBucketLimiter(perMinute: 600)

    init(links: LinkCodes, limiter: TokenBucketLimiter, clock: any WallClock) {
        self.links = links
        self.limiter = limiter
        self.clock = clock
    }

    /// The page on which the reader types the code.
    private static let page = "/account/link"
    private static let grantType = "urn:ietf:params:oauth:grant-type:device_code"

    func add(to router: inout Router) {
        router.on(.post, "v1/device/code") { request, _ in
            try limiter.requireRoom(at: clock.now)
            let text = try await AuthorityRoutes.signed(request)
            let codes = try await links.issue(text, from: request.peer.description)
            let base = links.personalizations.settings.publicURL ?? "\(request.scheme)://\(request.authority)"
            return .json([
                "device_code": .string(codes.deviceCode), "user_code": .string(codes.userCode),
                "verification_uri": .string("\(base)\(Self.page)"),
                "verification_uri_complete": .string("\(base)\(Self.page)/\(codes.userCode)"),
                "expires_in": .integer(LinkCodes.life.components.seconds),
                "interval": .integer(max(1, links.interval.components.seconds)),
            ]).unstored
        }
        router.on(.post, "v1/device/token", acceptsForms: true) { request, _ in
            try questions.requireRoom(at: clock.now)
            let (grant, code) = try await Self.question(request)
            guard grant == Self.grantType else {
                throw HTTPError(
                    .badRequest,
                    "link.grant",
                    "grant_type must be \(Self.grantType)",
                    extra: [("error", .text("unsupported_grant_type"))]
                )
            }
            guard let code, code.utf8.count <= 256 else {
                throw HTTPError(
                    .badRequest,
                    "link.code",
                    "device_code is missing or too long",
                    extra: [("error", .text("invalid_request"))]
                )
            }
            let (player, account) = try await links.outcome(of: code)
            return .json([
                "player": .string(player.id), "account": .string(account),
                "linkExpiresAt": player.linkExpiresAt.map { .string($0.description) } ?? .null,
            ]).unstored
        }
    }

    /// The grant and the code of a form (RFC 8628 §3.4) or of a JSON object.
    private static func question(_ request: HTTPRequest) async throws -> (grant: String?, code: String?) {
        if request.contentType == "application/json" {
            let object = try await JSONBody.object(of: request, limit: 4096)
            return (try object.string("grant_type"), try object.string("device_code"))
        }
        let form = try await request.form(upTo: 4096)
        return (form["grant_type"], form["device_code"])
    }
}

extension TokenBucketLimiter {
    /// Refuses a request of a network that sent too many.
    ///
    /// - Parameter now: the time.
    /// - Throws: 429 `personalization.throttled`.
    func requireRoom(at now: Instant) throws(RuleError) {
        guard let network = ClientNetwork.current, let wait = take("\(network)", at: now) else { return }
        throw RuleError(
            .throttled,
            "personalization.throttled",
            "there were too many requests for personalization from this network",
            fault: .host,
            retryAfter: max(1, wait.components.seconds)
        )
    }
}
