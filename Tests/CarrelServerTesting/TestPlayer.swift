import CarrelServer
package import CarrelBytes
package import CarrelCrypto
import CarrelHTTP
package import CarrelJSON
import CarrelRights
import CarrelTesting
package import CarrelVault

/// A copy of an app with keys of its own, which asks a service for its certificate.
package struct TestPlayer: Sendable {
    package var signing = P256.PrivateKey()
    package var agreement = P256.PrivateKey()
    package var fingerprint = Random.bytes(32)
    package var level = VaultLevel.passphrase

    package init() {}

    /// A signed request with a nonce.
    package func request(nonce: String, at now: Instant) async throws -> String {
        try await PersonalizationRequest.make(
            nonce: nonce,
            signingKey: signing.publicKey,
            agreementKey: agreement.publicKey,
            fingerprint: fingerprint,
            level: level,
            app: "Reader",
            build: "1.0",
            deviceName: "phone",
            clock: now
        ) { signing.sign($0.rawSpan) }
    }

    /// Asks for a nonce.
    package func challenge(of test: TestService) async throws -> String {
        let answer = try await test.send(.post, "/v1/personalize/challenge")
        let json = try JSON.parse(answer.body.rawSpan)
        return json["nonce"]?.string ?? ""
    }

    /// Sends a request.
    package func send(
        _ text: String,
        to test: TestService,
        token: String? = nil
    ) async throws -> (status: Int, answer: JSON) {
        var headers: HTTPFields = ["Content-Type": "application/jose"]
        headers["Authorization"] = token.map { "Bearer \($0)" }
        let request = HTTPRequest(
            .post,
            "/v1/personalize",
            headers: headers,
            body: Array(text.utf8),
            peer: .network(address: "192.0.2.1", port: 1)
        )
        let response = await test.service.router.respond(to: request)
        let bytes = try await response.body.collect(upTo: 1 << 20)
        return (response.status.rawValue, try JSON.parse(bytes.rawSpan))
    }

    /// Asks for a nonce and sends a request with it.
    package func personalize(_ test: TestService, token: String? = nil) async throws -> (status: Int, answer: JSON) {
        let nonce = try await challenge(of: test)
        return try await send(try await request(nonce: nonce, at: test.clock.now), to: test, token: token)
    }
}
