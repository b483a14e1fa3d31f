// SPDX-License-Identifier: Apache-2.0

import CarrelServer
package import CarrelBytes
package import CarrelCrypto
package import CarrelHTTP
package import CarrelJSON
package import CarrelRights
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
    package func request(nonce: String, at now: Instant, app: String = "Reader", name: String = "phone") async throws -> String {
        try await PersonalizationRequest.make(
            nonce: nonce,
            signingKey: signing.publicKey,
            agreementKey: agreement.publicKey,
            fingerprint: fingerprint,
            level: level,
            app: app,
            build: "1.0",
            deviceName: name,
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
        token: String? = nil,
        from address: String = "192.0.2.1"
    ) async throws -> (status: Int, answer: JSON) {
        var headers: HTTPFields = ["Content-Type": "application/jose"]
        headers["Authorization"] = token.map { "Bearer \($0)" }
        let request = HTTPRequest(
            .post,
            "/v1/personalize",
            headers: headers,
            body: Array(text.utf8),
            peer: .network(address: address, port: 1)
        )
        let response = await test.service.router.respond(to: request)
        let bytes = try await response.body.collect(upTo: 1 << 20)
        return (response.status.rawValue, try JSON.parse(bytes.rawSpan))
    }

    /// Asks for a nonce and sends a request with it.
    package func personalize(
        _ test: TestService,
        token: String? = nil,
        from address: String = "192.0.2.1"
    ) async throws -> (status: Int, answer: JSON) {
        let nonce = try await challenge(of: test)
        return try await send(try await request(nonce: nonce, at: test.clock.now), to: test, token: token, from: address)
    }
}

extension TestPlayer {
    /// A player of a service, with its certificate and the service's keys.
    package struct Personalized: Sendable {
        package let player: TestPlayer
        package let id: String
        package let certificate: Certificate
        package let keys: ServiceKeys

        package init(player: TestPlayer, id: String, certificate: Certificate, keys: ServiceKeys) {
            self.player = player
            self.id = id
            self.certificate = certificate
            self.keys = keys
        }
    }

    /// Personalises the player.
    package func personalized(
        by test: TestService,
        token: String? = nil,
        from address: String = "192.0.2.1"
    ) async throws -> Personalized {
        let response = try PersonalizationResponse(try await personalize(test, token: token, from: address).answer)
        let keys = try response.trust.verified(from: nil).keys
        return Personalized(
            player: self,
            id: response.player,
            certificate: try Certificate(der: response.certificate),
            keys: keys
        )
    }
}

extension TestPlayer.Personalized {
    /// A request for keys with a fresh nonce.
    package func request(_ session: KeyRequest.Session, of test: TestService, token: String? = nil) async throws -> KeyRequest {
        var request = KeyRequest(
            id: Random.uuid(),
            environment: keys.environment,
            session: session,
            contentID: "",
            nonce: try await player.challenge(of: test),
            clock: test.clock.now,
            level: player.level
        )
        request.token = token
        return request
    }

    /// Seals a request as the player does.
    package func seal(_ request: KeyRequest, at now: Instant) async throws -> (text: String, digest: [UInt8]) {
        guard let service = keys.agreementKey(at: now) else { throw RightsError(.key, "the service has no key for requests") }
        let player = player
        return try await request.sealed(certificate: certificate.thumbprint, to: service) { player.signing.sign($0.rawSpan) }
    }

    /// Sends a request, and reads the license or the problem.
    package func send(_ request: KeyRequest, to test: TestService) async throws -> (license: License?, problem: String?) {
        let (text, digest) = try await seal(request, at: test.clock.now)
        let (status, bytes) = try await send(text, to: test)
        guard status == 200 else {
            let problem = try JSON.parse(bytes.rawSpan)
            return (nil, problem["code"]?.string)
        }
        let license = try License(String(decoding: bytes, as: UTF8.self), keys: keys)
        guard license.request == digest, license.nonce == request.nonce else { return (nil, "answer to another request") }
        return (license, nil)
    }

    /// Sends a text as a request for keys.
    package func send(_ text: String, to test: TestService) async throws -> (status: Int, body: [UInt8]) {
        let request = HTTPRequest(
            .post,
            "/v1/license",
            headers: ["Content-Type": "application/jose"],
            body: Array(text.utf8),
            peer: .network(address: "192.0.2.1", port: 1)
        )
        let response = await test.service.router.respond(to: request)
        return (response.status.rawValue, try await response.body.collect(upTo: 1 << 20))
    }
}

extension TestPlayer.Personalized {
    /// Asks for a code that links the player, from an address.
    package func linkCode(
        of test: TestService,
        from address: String = "192.0.2.1",
        nonce: String? = nil
    ) async throws -> (status: Int, answer: JSON) {
        let used = if let nonce { nonce } else { try await player.challenge(of: test) }
        let request = LinkRequest(environment: keys.environment, nonce: used, clock: test.clock.now)
        let player = player
        let text = try await request.signed(certificate: certificate.thumbprint) { player.signing.sign($0.rawSpan) }
        return try await test.post(text, to: "/v1/device/code", from: address)
    }

    /// Asks whether the code was typed.
    package func linkOutcome(_ deviceCode: String, of test: TestService) async throws -> (status: Int, answer: JSON) {
        let body: JSON = [
            "grant_type": "urn:ietf:params:oauth:grant-type:device_code", "device_code": .string(deviceCode),
        ]
        let answer = try await test.call(.post, "/v1/device/token", body: body)
        return (answer.status, answer.json)
    }
}

extension TestService {
    /// Sends a signed message.
    package func post(_ text: String, to path: String, from address: String = "192.0.2.1", peer: Peer? = nil) async throws
        -> (status: Int, answer: JSON)
    {
        let request = HTTPRequest(
            .post,
            path,
            headers: ["Content-Type": "application/jose"],
            body: Array(text.utf8),
            peer: peer ?? .network(address: address, port: 1)
        )
        let response = await service.router.respond(to: request)
        let bytes = try await response.body.collect(upTo: 1 << 20)
        return (response.status.rawValue, try JSON.parse(bytes.rawSpan))
    }
}
