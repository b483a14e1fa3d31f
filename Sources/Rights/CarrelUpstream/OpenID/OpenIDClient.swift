// SPDX-License-Identifier: Apache-2.0

package import CarrelBytes
import CarrelCrypto
import CarrelHTTP
package import CarrelHTTPClient
import CarrelJOSE
import CarrelJSON
import CarrelThreads

/// Signs people in at an OpenID provider: authorization code flow with PKCE (OpenID Connect Core 1.0 §3.1, RFC 7636, RFC 9700
/// §2.1).
///
/// The provider's metadata and keys are kept for an hour. A token under an unknown key makes the keys be
/// fetched again, once a minute at most, so that a provider may change them at any time.
package final class OpenIDClient: Sendable {
    package let configuration: OpenIDConfiguration
    private let exchange: UpstreamExchange
    private let clock: any WallClock
    private let known = Locked(Known())

    private struct Known {
        var provider: (value: OpenIDProvider, at: Instant)?
        var keys: (value: JWKSet, at: Instant)?
    }

    private static let life = Duration.seconds(3600)
    private static let keyPause = Duration.seconds(60)

    /// - Parameters:
    ///   - configuration: the registration with the provider.
    ///   - client: sends the requests; redirects are never followed.
    ///   - clock: the clock for token validity.
    ///   - timeouts: the time limit of one request.
    package init(
        _ configuration: OpenIDConfiguration,
        client: HTTPClient,
        clock: any WallClock = SystemClock(),
        timeouts: ClientTimeouts = ClientTimeouts(connect: .seconds(5), total: .seconds(10), stall: .seconds(5))
    ) {
        self.configuration = configuration
        self.clock = clock
        exchange = UpstreamExchange(client: client, timeouts: timeouts, maxAnswerBytes: Int64(OpenIDProvider.maxAnswerBytes))
    }

    /// The values that one sign-in sends to the provider and expects back.
    package struct Attempt: Sendable {
        package let state: String
        package let nonce: String
        /// 43 to 128 unreserved characters that only we know (RFC 7636 §4.1).
        package let verifier: String
        /// The address that the provider sends the browser back to.
        package let redirect: String

        package init(state: String, nonce: String, verifier: String, redirect: String) {
            self.state = state
            self.nonce = nonce
            self.verifier = verifier
            self.redirect = redirect
        }
    }

    /// The address to send the browser to.
    ///
    /// - Throws: ``UpstreamError`` if the provider does not describe itself.
    package func address(for attempt: Attempt) async throws(UpstreamError) -> String {
        let endpoint = try await provider().authorizationEndpoint
        let form = Self.form([
            ("response_type", "code"), ("client_id", configuration.clientID), ("redirect_uri", attempt.redirect),
            ("scope", configuration.scopes.joined(separator: " ")), ("state", attempt.state), ("nonce", attempt.nonce),
            ("code_challenge", Base64URL.encode(SHA256.hash(Array(attempt.verifier.utf8).rawSpan))),
            ("code_challenge_method", "S256"),
        ])
        return endpoint + (endpoint.contains("?") ? "&" : "?") + form
    }

    /// Exchanges the authorization code from the browser for the identity that signed in.
    ///
    /// - Parameters:
    ///   - code: the code in the provider's response.
    ///   - issuer: the issuer named in the response (RFC 9207 §2); nil if it names none.
    ///   - attempt: the values sent with the request.
    /// - Returns: the identity.
    /// - Throws: `upstream.untrusted` if the response is not trustworthy, or another ``UpstreamError``.
    package func identity(code: String, issuer: String?, attempt: Attempt) async throws(UpstreamError) -> OpenIDIdentity {
        let provider = try await provider()
        guard issuer.map({ $0 == configuration.issuer }) ?? !provider.namesItself else {
            throw UpstreamError(.untrusted, "the response names a different issuer")
        }
        let text = try await token(for: code, attempt, at: provider)
        let token = try Self.trusted { () throws(JOSEError) in try JWS.Unverified(text) }
        let key = try await key(for: token.header, of: provider)
        let verified = try Self.trusted { () throws(JOSEError) in try token.verified(by: key) }
        return try IDToken(verified).identity(configuration, nonce: attempt.nonce, at: clock.now)
    }

    private static func trusted<Result>(_ body: () throws(JOSEError) -> Result) throws(UpstreamError) -> Result {
        do throws(JOSEError) {
            return try body()
        } catch {
            throw UpstreamError(.untrusted, "the ID token is refused: \(error)")
        }
    }

    private func token(
        for code: String,
        _ attempt: Attempt,
        at provider: OpenIDProvider
    ) async throws(UpstreamError) -> String {
        var fields = [
            ("grant_type", "authorization_code"), ("code", code), ("redirect_uri", attempt.redirect),
            ("code_verifier", attempt.verifier),
        ]
        var request = ClientRequest(.post, provider.tokenEndpoint)
        request.headers["Content-Type"] = "application/x-www-form-urlencoded"
        request.headers["Accept"] = "application/json"
        if let secret = configuration.clientSecret {
            let secret = secret.withBytes { bytes in
                String(
                    decoding: (0..<bytes.byteCount).map { unsafe bytes.unsafeLoad(fromByteOffset: $0, as: UInt8.self) },
                    as: UTF8.self
                )
            }
            if provider.takesSecretInForm {
                fields += [("client_id", configuration.clientID), ("client_secret", secret)]
            } else {
                // Both are encoded as in a form before they are joined (RFC 6749 §2.3.1).
                let pair = "\(PercentEncoding.encode(configuration.clientID)):\(PercentEncoding.encode(secret))"
                request.headers["Authorization"] = "Basic \(Base64.encode(Array(pair.utf8)))"
            }
        } else {
            fields.append(("client_id", configuration.clientID))
        }
        request.body = .bytes(Array(Self.form(fields).utf8))
        let bytes = try await exchange.send(request)
        guard
            let answer = try? JSON.parse(bytes.rawSpan, limits: JSONLimits(depth: 8, byteCount: OpenIDProvider.maxAnswerBytes))
                .object,
            let token = answer["id_token"]?.string
        else { throw UpstreamError(.answer, "the provider gave no ID token") }
        return token
    }

    private func provider() async throws(UpstreamError) -> OpenIDProvider {
        let now = clock.now
        if let (provider, at) = known.withLock({ $0.provider }), now - at < Self.life, at <= now { return provider }
        let base = configuration.issuer.hasSuffix("/") ? String(configuration.issuer.dropLast()) : configuration.issuer
        let bytes = try await get("\(base)/.well-known/openid-configuration")
        let provider = try OpenIDProvider(bytes, of: configuration.issuer)
        known.withLock { $0.provider = (provider, now) }
        return provider
    }

    private func key(for header: JWSHeader, of provider: OpenIDProvider) async throws(UpstreamError) -> PublicKey {
        let now = clock.now
        if let (keys, at) = known.withLock({ $0.keys }), at <= now {
            if now - at < Self.life, let key = keys.key(for: header) { return key }
            if now - at < Self.keyPause { throw Self.unknownKey }
        }
        let bytes = try await get(provider.keySetAddress)
        let keys: JWKSet
        do throws(Malformed) {
            keys = try JWKSet(bytes.rawSpan)
        } catch {
            throw UpstreamError(.answer, "the provider's keys cannot be read: \(error.what)")
        }
        known.withLock { $0.keys = (keys, now) }
        guard let key = keys.key(for: header) else { throw Self.unknownKey }
        return key
    }

    private func get(_ address: String) async throws(UpstreamError) -> [UInt8] {
        var request = ClientRequest(address)
        request.headers["Accept"] = "application/json"
        return try await exchange.send(request)
    }

    private static let unknownKey = UpstreamError(
        .untrusted,
        "the ID token is refused: it is signed with no key of the provider's"
    )

    private static func form(_ fields: [(String, String)]) -> String {
        fields.map { "\($0)=\(PercentEncoding.encode($1))" }.joined(separator: "&")
    }
}
