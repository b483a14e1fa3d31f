// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelCPIX
import CarrelHTTP
import CarrelJSON
import CarrelThrottling
import CarrelWebAPI

/// `/v1/cpix` and `/speke/…/copyProtection`: keys for packagers.
struct KeyExchangeRoutes: Sendable {
    let exchange: KeyExchange
    let callers: RequestAuthenticator
    let clock: any WallClock
    let limiter: TokenBucketLimiter
    /// The program in `Speke-User-Agent`.
    let agent: String

    /// A protocol of packagers, by its route.
    private enum Service: String, CaseIterable {
        case cpix = "v1/cpix"
        case speke1 = "speke/v1/copyProtection"
        case speke2 = "speke/v2/copyProtection"

        func dialect(_ request: HTTPRequest) -> KeyExchangeRequest.Dialect {
            switch self {
            case .cpix: .cpix
            case .speke1: .speke1
            case .speke2: .speke2(version: request.headers["X-Speke-Version"])
            }
        }
    }

    func add(to router: inout Router) {
        for service in Service.allCases {
            // a form is refused below, in the words of the protocol
            router.on(.post, service.rawValue, acceptsForms: true) { request, _ in
                try await answer(request, service) { actor, fields in try await keys(request, service, actor, fields) }
            }
            router.on(.get, "\(service.rawValue)/heartbeat") { request, _ in
                try await answer(request, service) { _, fields in
                    var response = HTTPResponse.json(["statusMessage": "alive"])
                    for field in fields { response.headers[field.name] = field.value }
                    return response
                }
            }
        }
    }

    /// Answers a packager, refusals in the form of its protocol.
    private func answer(
        _ request: HTTPRequest,
        _ service: Service,
        _ body: (AuditActor, HTTPFields) async throws -> HTTPResponse
    ) async throws -> HTTPResponse {
        let fields = fields(service, request)
        do {
            try throttle()
            return try await body(try await callers.requireKey(request, .exchangeKeys), fields)
        } catch {
            return try Self.refusal(error, service, fields)
        }
    }

    private func throttle() throws(RuleError) {
        guard let network = ClientNetwork.current, let wait = limiter.take("\(network)", at: clock.now) else { return }
        throw RuleError(
            .throttled,
            "content-key.throttled",
            "there were too many requests for content keys from this network",
            retryAfter: max(1, wait.components.seconds)
        )
    }

    private func keys(
        _ request: HTTPRequest,
        _ service: Service,
        _ actor: AuditActor,
        _ fields: HTTPFields
    ) async throws -> HTTPResponse {
        guard ["application/xml", "text/xml", nil].contains(request.contentType) else {
            throw HTTPError(.unsupportedMediaType, "request.media-type", "the body must be application/xml")
        }
        let bytes = try await request.body.collect(upTo: KeyExchange.requestLimit)
        let response = try await exchange.respond(to: bytes, as: service.dialect(request), for: actor)
        return HTTPResponse.bytes(response, type: "application/xml; charset=utf-8", headers: fields).unstored
    }

    /// The fields that each version of SPEKE defines for responses.
    private func fields(_ service: Service, _ request: HTTPRequest) -> HTTPFields {
        switch service {
        case .cpix: [:]
        case .speke1: ["Speke-User-Agent": agent]
        case .speke2:
            ["X-Speke-User-Agent": agent, "X-Speke-Version": request.headers["X-Speke-Version"] == "2.1" ? "2.1" : "2.0"]
        }
    }

    /// The refusal of a request: a problem document, and for packagers that follow SPEKE its text alone. A failure of the server is rethrown,
    /// so that the router logs it.
    private static func refusal(_ error: any Error, _ service: Service, _ fields: HTTPFields) throws -> HTTPResponse {
        let problem: HTTPError
        switch error {
        case let error as CPIXError:
            let status: HTTPStatus = error.code == .tooLarge ? .contentTooLarge : .badRequest
            problem = HTTPError(status, HTTPError.Code(error.code.identifier), error.message)
        case let error as HTTPError: problem = error
        case let error as any HTTPProblemConvertible where !error.isFailure: problem = error.problem
        default: throw error
        }
        guard service != .cpix else { throw problem }
        var headers = problem.headers
        for field in fields { headers[field.name] = field.value }
        return HTTPResponse.text(problem.message + "\n", status: problem.status, headers: headers).unstored
    }
}
