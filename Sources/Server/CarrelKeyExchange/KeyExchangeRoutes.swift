// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelBytes
import CarrelCPIX
import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelWebAPI

/// `/v1/cpix` and `/speke/…/copyProtection`: keys for packagers.
struct KeyExchangeRoutes: Sendable {
    let exchange: KeyExchange
    let callers: RequestAuthenticator
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
            router.on(.post, service.rawValue) { request, _ in
                let fields = fields(service, request)
                do {
                    return try await respond(to: request, service, fields)
                } catch let error as CPIXError {
                    return try Self.refusal(error, service, fields)
                } catch let error as ServerError {
                    var problem = error.problem
                    for field in fields { problem.headers[field.name] = field.value }
                    throw problem
                }
            }
            router.on(.get, "\(service.rawValue)/heartbeat") { request, _ in
                _ = try await callers.requireKey(request, .exchangeKeys)
                var response = HTTPResponse.json(["statusMessage": "alive"])
                for field in fields(service, request) { response.headers[field.name] = field.value }
                return response
            }
        }
    }

    private func respond(to request: HTTPRequest, _ service: Service, _ fields: HTTPFields) async throws -> HTTPResponse {
        let actor = try await callers.requireKey(request, .exchangeKeys)
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

    /// The refusal of a request: a problem document, and for packagers that follow SPEKE its text alone.
    private static func refusal(_ error: CPIXError, _ service: Service, _ fields: HTTPFields) throws -> HTTPResponse {
        let status: HTTPStatus = error.code == .tooLarge ? .contentTooLarge : .badRequest
        guard service != .cpix else { throw HTTPError(status, HTTPError.Code(error.code.identifier), error.message) }
        return HTTPResponse.text(error.message + "\n", status: status, headers: fields)
    }
}
