// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
package import CarrelCrypto
import CarrelHTTP
package import CarrelHTTPClient
import CarrelJSON
package import CarrelSubscription

/// Asks a system by JSON over HTTP: one address, one POST for each call (docs/entitlement-webhook.md).
///
/// Requests are signed with a shared secret, so that the system can authenticate them.
package struct EntitlementWebhookClient: UpstreamSystem {
    /// The name of the field that signs a request.
    package static let signatureField = "Carrel-Signature"

    private let url: String
    private let key: HMACSHA256
    private let exchange: UpstreamExchange
    private let clock: any WallClock

    /// - Parameters:
    ///   - url: https, or http on this machine.
    ///   - secret: at least 16 bytes.
    ///   - client: sends the requests.
    ///   - timeouts: the time limit of one call.
    ///   - clock: the clock for the time of a signature.
    /// - Throws: `upstream.address` if the URL cannot be used.
    package init(
        _ url: String,
        secret: Secret,
        client: HTTPClient,
        timeouts: ClientTimeouts = SubscriptionCalls.timeouts,
        clock: any WallClock = SystemClock()
    ) throws(UpstreamError) {
        try UpstreamAddress.check(url)
        self.url = url
        key = HMACSHA256(key: secret)
        exchange = UpstreamExchange(client: client, timeouts: timeouts, maxAnswerBytes: SubscriptionCalls.maxAnswerBytes)
        self.clock = clock
    }

    package func signIn(name: String, password: String, device: String?) async throws(UpstreamError) -> SignInAnswer {
        var members: [(String, JSON)] = [("username", .string(name)), ("password", .string(password))]
        if let device { members.append(("device", .string(device))) }
        return try HookAnswer.signIn(try await ask("sign_in", members))
    }

    package func renew(_ token: String) async throws(UpstreamError) -> SignInAnswer {
        do throws(UpstreamError) {
            return try HookAnswer.signIn(try await ask("renew_token", [("token", .string(token))]))
        } catch {
            throw error.status == 501 ? UpstreamError(.unsupported, "tokens cannot be renewed") : error
        }
    }

    package func verify(_ token: String) async throws(UpstreamError) -> SubscriptionAnswer {
        try HookAnswer.subscription(try await ask("verify_subscription", [("token", .string(token))]))
    }

    package func permission(for product: String, token: String) async throws(UpstreamError) -> Permission {
        let members: [(String, JSON)] = [("token", .string(token)), ("product_id", .string(product))]
        return try HookAnswer.permission(try await ask("edition_credentials", members))
    }

    package func signOut(_ token: String) async throws(UpstreamError) {
        do throws(UpstreamError) {
            _ = try await send("sign_out", [("token", .string(token))])
        } catch {
            if error.status != 501 { throw error }
        }
    }

    private func ask(_ call: String, _ members: [(String, JSON)]) async throws(UpstreamError) -> JSON {
        let bytes = try await send(call, members)
        do throws(Malformed) {
            return try JSON.parse(bytes.rawSpan, limits: JSONLimits(depth: 8, byteCount: Int(SubscriptionCalls.maxAnswerBytes)))
        } catch {
            throw UpstreamError(.answer, "the upstream system gave no valid answer: \(error.what)")
        }
    }

    private func send(_ call: String, _ members: [(String, JSON)]) async throws(UpstreamError) -> [UInt8] {
        let body = JSON.object(JSONObject([("version", 1), ("call", .string(call))] + members)).write()
        var request = ClientRequest(.post, url, body: .bytes(body))
        request.headers["Content-Type"] = "application/json"
        request.headers["Accept"] = "application/json"
        request.headers[Self.signatureField] = Self.signature(of: body, at: clock.now, key)
        return try await exchange.send(request)
    }

    /// `t=SECONDS,v1=HEX`: HMAC-SHA-256 of the seconds since 1970, a period and the body.
    package static func signature(of body: [UInt8], at now: Instant, _ key: HMACSHA256) -> String {
        let seconds = "\(now.milliseconds / 1000)"
        let message = Array("\(seconds).".utf8) + body
        return "t=\(seconds),v1=\(Hex.encode(key.authenticate(message.rawSpan)))"
    }
}
