// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelHome
import CarrelRights
import CarrelThrottling
import CarrelWebAPI

/// `/hms/ms3/rights/`: redeems tokens of streams for callers that prove which player they are.
struct RightsRoutes: Sendable {
    let licenses: Licenses
    let location: RightsLocation
    let clock: any WallClock
    let limiter: TokenBucketLimiter

    private static let formLimit = 16_384
    /// The proofs that a client may bring (RFC 9449 §7.1).
    private static let challenge: HTTPFields = ["WWW-Authenticate": "DPoP algs=\"ES256\""]

    func add(to router: inout Router) {
        for method in [HTTPMethod.get, .post] {
            router.on(method, "hms/ms3/rights{/}", acceptsForms: true, answersHead: false) { request, _ in
                try LicensingRoutes.throttle(limiter, at: clock.now)
                let token = try await token(request)
                let license: String
                do {
                    license = try await licenses.redeem(token, of: try caller(request, token), requestID: request.id)
                } catch let error as RuleError where error.kind == .unauthenticated {
                    throw error.problem(headers: Self.challenge)
                }
                var response = HTTPResponse(.ok, body: .bytes(Array(license.utf8)))
                response.headers["Content-Type"] = "application/jose"
                return response.unstored
            }
        }
    }

    private func token(_ request: HTTPRequest) async throws -> String {
        let queried = request.query.all("b")
        guard request.method == .post, request.contentType != nil else { return try Self.single(queried) }
        let posted = try await request.form(upTo: Self.formLimit).all("b")
        return try Self.single(queried + posted)
    }

    private static func single(_ tokens: [String]) throws -> String {
        guard tokens.count == 1, !tokens[0].isEmpty else {
            throw HTTPError(.badRequest, "license.token", "the rights location needs one token: b")
        }
        return tokens[0]
    }

    private func caller(_ request: HTTPRequest, _ token: String) throws -> RightsCaller {
        switch request.clientCertificate {
        case .verified(let der), .forwarded(let der): return .certificate(der)
        case .untrusted: throw RuleError.licenseNotPersonalized(.unauthenticated)
        case nil: break
        }
        let proofs = request.headers.values("DPoP")
        guard let proof = proofs.first else {
            throw RuleError(
                .unauthenticated,
                "license.not-personalized",
                "the rights location needs the certificate of a player, or a proof in the field DPoP",
                facts: [("number", .number(-4001))]
            )
        }
        guard proofs.count == 1 else {
            throw RuleError(.unauthenticated, "license.proof", "there is more than one DPoP field")
        }
        do throws(RightsError) {
            let own = "\(request.scheme)://\(request.authority)\(RightsLocation.path)"
            return .proof(
                try DPoPProof(proof, method: request.method, urls: [own] + location.urls, token: token, at: clock.now)
            )
        } catch {
            throw RuleError(.unauthenticated, "license.proof", error.message)
        }
    }
}
