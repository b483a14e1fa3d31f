// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelBytes
import CarrelEME
import CarrelHTTP
import CarrelLicensing
import CarrelRights
import CarrelThrottling
import CarrelWebAPI

/// `/v1/clear-key`, and `/AcquireLicense`, the one address for players of both kinds.
struct ClearKeyRoutes: Sendable {
    let clearKeys: ClearKeys
    let licenses: Licenses
    let clock: any WallClock
    let limiter: TokenBucketLimiter

    func add(to router: inout Router) {
        router.openToOtherOrigins { router in
            router.on(.post, "v1/clear-key", acceptsChunks: true) { request, _ in
                try throttle()
                if let type = request.contentType, !["application/json", "application/octet-stream"].contains(type) {
                    throw HTTPError(.unsupportedMediaType, "request.media-type", "the body must be application/json")
                }
                return try await clearKey(request, try await request.body.collect(upTo: ClearKeyRequest.maxByteCount))
            }
            // its clients know four statuses, so that this route refuses media types by itself
            router.on(.post, "AcquireLicense", acceptsForms: true, acceptsChunks: true) { request, _ in
                do {
                    return try await acquire(request)
                } catch {
                    throw AcquireLicenseFailure(error)
                }
            }
        }
    }

    /// Answers a request by its shape: JSON is ClearKey's, a JWE a player's.
    private func acquire(_ request: HTTPRequest) async throws -> HTTPResponse {
        try throttle()
        let bytes = try await request.body.collect(upTo: ClearKeyRequest.maxByteCount)
        let start = bytes.first { ![0x20, 0x09, 0x0a, 0x0d].contains($0) }
        if request.contentType == "application/json" || start == UInt8(ascii: "{") { return try await clearKey(request, bytes) }
        guard request.contentType == "application/jose" || start == UInt8(ascii: "e"), bytes.count <= KeyRequest.maxByteCount,
            let text = String(validating: bytes, as: UTF8.self)
        else {
            throw RuleError(
                .invalid,
                "license.request",
                "the body is neither a request of ClearKey (JSON) nor of a player (JOSE); other vendors' requests go to /v1/relay/NAME"
            )
        }
        let answer = try await licenses.answer(text, message: try request.licenseMessage(), requestID: request.id)
        return HTTPResponse.bytes(Array(answer.utf8), type: "application/jose").unstored
    }

    private func clearKey(_ request: HTTPRequest, _ bytes: [UInt8]) async throws -> HTTPResponse {
        let (bearer, field) = (request.bearerToken, try request.licenseMessage())
        guard bearer == nil || field == nil || bearer == field else {
            throw RuleError(.invalid, "license.token", "the bearer token and X-AxDRM-Message are two license messages: send one")
        }
        var address: IPAddress?
        if case .network(let text, _) = request.peer { address = IPAddress(text) }
        let answer = try await clearKeys.answer(bytes, token: bearer ?? field, from: address, requestID: request.id)
        var response = HTTPResponse.json(answer).unstored
        // keys and text that a client chose are never compressed together
        response.isCompressible = false
        return response
    }

    private func throttle() throws(RuleError) {
        guard let network = ClientNetwork.current, let wait = limiter.take("\(network)", at: clock.now) else { return }
        throw RuleError(
            .throttled,
            "license.throttled",
            "there were too many requests for licenses from this network",
            retryAfter: max(1, wait.components.seconds)
        )
    }
}
