// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
public import CarrelHTTPClient
public import CarrelSubscription

/// Makes the five calls of Pugpig's security interface, as an app or as a server that calls another.
///
/// It follows no redirects, and accepts a response only with a 2xx status, complete and within the limits.
public struct SubscriptionCalls: Sendable {
    /// The maximum size of a response, in bytes.
    public static let maxAnswerBytes: Int64 = 8 << 20
    /// 5 s to connect, 15 s in all, 10 s without progress.
    public static let timeouts = ClientTimeouts(connect: .seconds(5), total: .seconds(15), stall: .seconds(10))

    private let endpoints: SubscriptionEndpoints
    private let exchange: UpstreamExchange

    /// Creates a client for the calls.
    ///
    /// - Parameters:
    ///   - endpoints: the URLs to call.
    ///   - client: sends the requests.
    ///   - timeouts: the time limit of one call.
    /// - Throws: `upstream.address` if a URL cannot be used.
    public init(
        _ endpoints: SubscriptionEndpoints,
        client: HTTPClient,
        timeouts: ClientTimeouts = timeouts
    ) throws(UpstreamError) {
        try endpoints.check()
        self.endpoints = endpoints
        exchange = UpstreamExchange(client: client, timeouts: timeouts, maxAnswerBytes: Self.maxAnswerBytes)
    }

    /// Whether tokens can be renewed.
    public var canRenew: Bool { endpoints.renew != nil }

    /// Signs in. A refusal is a response, not an error.
    ///
    /// - Parameters:
    ///   - name: the name as typed.
    ///   - password: the password as typed; sent once and never stored.
    ///   - device: an identifier of the app's installation; nil sends none.
    /// - Returns: a token, or the system's refusal.
    /// - Throws: the reason for a missing response.
    public func signIn(name: String, password: String, device: String?) async throws(UpstreamError) -> SignInAnswer {
        var values: [(SubscriptionEndpoints.Parameter, String)] = [(.username, name), (.password, password)]
        if let device { values.append((.device, device)) }
        return try await ask(endpoints.signIn, values, SignInAnswer.parse)
    }

    /// Requests a new token for an old one.
    ///
    /// - Parameter token: the old token.
    /// - Returns: a new token, or the refusal.
    /// - Throws: `upstream.unsupported` if tokens cannot be renewed.
    public func renew(_ token: String) async throws(UpstreamError) -> SignInAnswer {
        guard let address = endpoints.renew else { throw UpstreamError(.unsupported, "tokens cannot be renewed") }
        return try await ask(address, [(.token, token)], SignInAnswer.parse)
    }

    /// The entitlements of the token's account.
    ///
    /// - Parameter token: the token of a session.
    /// - Returns: the state of the subscription and its products.
    /// - Throws: ``UpstreamError`` if there is no valid answer.
    public func verify(_ token: String) async throws(UpstreamError) -> SubscriptionAnswer {
        try await ask(endpoints.verify, [(.token, token)], SubscriptionAnswer.parse)
    }

    /// Asks for the credentials of one product.
    ///
    /// - Parameters:
    ///   - product: the product's id.
    ///   - token: the token of a session.
    /// - Returns: the credentials, or the refusal.
    /// - Throws: ``UpstreamError`` if there is no valid answer.
    public func credentials(for product: String, token: String) async throws(UpstreamError) -> CredentialsAnswer {
        try await ask(endpoints.credentials, [(.token, token), (.product, product)], CredentialsAnswer.parse)
    }

    /// Ends a token; does nothing if the system has no such call.
    ///
    /// - Parameter token: the token to end.
    /// - Throws: ``UpstreamError`` if the provider cannot be reached or refuses.
    public func signOut(_ token: String) async throws(UpstreamError) {
        guard let address = endpoints.signOut else { return }
        do throws(UpstreamError) {
            try await ask(address, [(.token, token)]) { _ throws(Malformed) in }
        } catch {
            // 501 is how the call is not supported
            if error.status != 501 { throw error }
        }
    }

    private func ask<Answer>(
        _ address: String,
        _ values: [(SubscriptionEndpoints.Parameter, String)],
        _ parse: ([UInt8]) throws(Malformed) -> Answer
    ) async throws(UpstreamError) -> Answer {
        let bytes = try await exchange.send(try request(address, values))
        do throws(Malformed) {
            return try parse(bytes)
        } catch {
            throw UpstreamError(.answer, "the upstream system gave no valid answer: \(error.what)")
        }
    }

    private func request(
        _ address: String,
        _ values: [(SubscriptionEndpoints.Parameter, String)]
    ) throws(UpstreamError) -> ClientRequest {
        let template = try EndpointTemplate(address)
        let filled = template.filled(values)
        let parts = filled.split(separator: "?", maxSplits: 1)
        var query = parts.count > 1 ? String(parts[1]) : ""
        if !template.hasPlaceholders {
            let fields = values.map { parameter, value in
                PercentEncoding.encode(endpoints.names[parameter] ?? parameter.rawValue) + "=" + PercentEncoding.encode(value)
            }
            query = ((query.isEmpty ? [] : [query]) + fields).joined(separator: "&")
        }
        let url = String(parts[0])
        guard endpoints.usesForm else { return ClientRequest(query.isEmpty ? url : "\(url)?\(query)") }
        var request = ClientRequest(.post, url, body: .bytes(Array(query.utf8)))
        request.headers["Content-Type"] = "application/x-www-form-urlencoded"
        return request
    }
}
