// SPDX-License-Identifier: Apache-2.0

import CarrelAudit
import CarrelAuthority
import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelHTTPServer
import CarrelJSON
import CarrelRights
import CarrelServer
import CarrelServerTesting
import CarrelTesting
import CarrelTokens
import Testing

/// The rights location with TLS, requested by curl like a player's machine.
@Suite(.serialized) struct `The rights location on its listener` {
    private let tokens = `A token redeemed for a license`()

    private struct Site {
        let test: TestService
        let server: HTTPServer
        let port: UInt16
        let folder = TemporaryDirectory()

        /// Options of curl for a certificate and its key, in files that are written.
        func files(_ der: [UInt8], _ key: P256.PrivateKey) -> [String] {
            let name = Random.uuid()
            let certificate = folder.write("\(name).pem", Certificate.pem(der))
            return ["--cert", certificate, "--key", folder.write("\(name).key", key.pem.withBytes { [UInt8](copying: $0) })]
        }

        func files(_ player: TestPlayer.Personalized) -> [String] { files(player.certificate.der, player.player.signing) }

        /// Asks as curl does, trusting the service's root alone.
        func ask(_ token: String, _ options: [String] = []) async throws -> (status: Int, body: [UInt8]) {
            let root = folder.write("root.pem", Certificate.pem(try await test.service.authority.keys().trust.root))
            let body = folder.file("body")
            let status = try await checkProcess(
                ["curl", "-sS", "--max-time", "120", "--cacert", root, "-o", body, "-w", "%{http_code}"] + options
                    + ["https://localhost:\(port)/hms/ms3/rights/?b=\(token)"]
            )
            return (Int(status) ?? 0, folder.read("body") ?? [])
        }

        /// The status, and the code of a problem.
        func code(_ token: String, _ options: [String] = []) async throws -> String {
            let (status, body) = try await ask(token, options)
            if status == 200 { return "200" }
            return "\(status) \(try JSON.parse(body.rawSpan)["code"]?.string ?? "")"
        }

        /// Replaces the certificate of the listener, as the server does after a rotation.
        func renew() async throws { try server.replace(try await identity(test)) }
    }

    private static func identity(_ test: TestService) async throws -> TLSIdentity {
        let made = try await test.service.authority.serverCertificate(names: ["localhost"], addresses: [[127, 0, 0, 1]])
        return TLSIdentity(
            certificate: Certificate.pem(made.certificate),
            key: made.key.pem,
            clientAuthorities: made.clientAuthorities.map(Certificate.pem).joined()
        )
    }

    /// Runs the listener of a service whose clock is near the machine's, which judges certificates too.
    private static func withSite(at start: Instant = .now() - .seconds(60), _ body: (Site) async throws -> Void) async throws {
        let test = try await TestService(with: .licensing, at: start)
        var configuration = ServerConfiguration()
        configuration.workers = 1
        configuration.headerDeadline = .seconds(60)
        configuration.clientCertificateListeners = [
            ClientCertificateListener(
                address: "127.0.0.1",
                port: 0,
                identity: try await identity(test),
                router: test.service.rightsRouter
            )
        ]
        let server = HTTPServer(configuration: configuration, router: test.service.router)
        let port = try #require(try server.start().last?.port)
        do {
            try await body(Site(test: test, server: server, port: port))
        } catch {
            await server.shutdown(grace: .seconds(1))
            throw error
        }
        await server.shutdown(grace: .seconds(1))
    }

    @Test func `redeems a token for the player whose certificate curl shows`() async throws {
        try await Self.withSite { site in
            let player = try await TestPlayer().personalized(by: site.test)
            let token = try await tokens.token(site.test, kind: .ms3)
            let (status, body) = try await site.ask(token, site.files(player))
            #expect(status == 200, "\(String(decoding: body, as: UTF8.self))")
            let license = try License(String(decoding: body, as: UTF8.self), keys: player.keys)
            let agreement = player.player.agreement
            let key = try await license.open(`A token redeemed for a license`.kid) { agreement.sharedSecret(with: $0) }
            #expect(key == `A token redeemed for a license`.key && license.nonce.isEmpty && !license.terms.isStorable)
            let posted = try await site.code(token, site.files(player) + ["-X", "POST"])
            #expect(posted == "200")
            let other = try await TestPlayer().personalized(by: site.test)
            let used = try await site.code(token, site.files(other))
            #expect(used == "409 license.token-used")
        }
    }

    @Test func `refuses each other client with its code`() async throws {
        try await Self.withSite { site in
            let token = try await tokens.token(site.test, kind: .ms3)
            let unknown = "401 license.not-personalized"
            let without = try await site.code(token)
            #expect(without == unknown)
            let foreign = try await TestPlayer().personalized(by: try await TestService(with: .licensing, at: .now()))
            let stranger = try await site.code(token, site.files(foreign))
            #expect(stranger == unknown)
            let (certificate, key) = (site.folder.file("self.pem"), site.folder.file("self.key"))
            try await checkProcess([
                "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                "-subj", "/CN=Carrel devices (live)", "-keyout", key, "-out", certificate,
            ])
            let own = try await site.code(token, ["--cert", certificate, "--key", key])
            #expect(own == unknown)
            let player = try await TestPlayer().personalized(by: site.test)
            _ = try await site.test.service.players.change(player.id, .suspend, by: .operator)
            let suspended = try await site.code(token, site.files(player))
            #expect(suspended == "403 personalization.suspended")
            _ = try await site.test.service.players.change(player.id, .revoke, by: .operator)
            let revoked = try await site.code(token, site.files(player))
            #expect(revoked == "403 personalization.revoked")
            let field = "Client-Cert: :\(Base64.encode(player.certificate.der)):"
            let claimed = try await site.code(token, ["-H", field])
            #expect(claimed == unknown, "nobody is a trusted proxy")
            let nothing = try await site.code("", site.files(player))
            #expect(nothing == "400 license.token")
        }
    }

    @Test func `refuses a certificate that has ended`() async throws {
        try await Self.withSite(at: .now() - .seconds(91 * 86_400)) { site in
            let player = try await TestPlayer().personalized(by: site.test)
            site.test.clock.set(.now())
            try await site.renew()
            let token = try await tokens.token(site.test, kind: .ms3)
            let ended = try await site.code(token, site.files(player))
            #expect(ended == "401 license.not-personalized")
            let young = try await TestPlayer().personalized(by: site.test)
            let answer = try await site.code(token, site.files(young))
            #expect(answer == "200")
        }
    }

    @Test func `accepts a proof as well, but not together with an invalid certificate`() async throws {
        try await Self.withSite { site in
            let player = try await TestPlayer().personalized(by: site.test)
            let token = try await tokens.token(site.test, kind: .ms3)
            let url = "https://localhost:\(site.port)/hms/ms3/rights/"
            func proof() async throws -> String {
                "DPoP: \(try await player.proof(token, at: site.test.clock.now, url: url).text)"
            }
            let right = try await site.code(token, ["-H", try await proof()])
            #expect(right == "200")
            let foreign = try await TestPlayer().personalized(by: try await TestService(with: .licensing, at: .now()))
            let mixed = try await site.code(token, site.files(foreign) + ["-H", try await proof()])
            #expect(mixed == "401 license.not-personalized")
        }
    }

    @Test(arguments: ["devices", "root"])
    func `trusts players from before and after a rotation, once its certificate is replaced`(use: String) async throws {
        try await Self.withSite { site in
            let before = try await TestPlayer().personalized(by: site.test)
            site.test.clock.advance(by: .seconds(2))
            _ = try await site.test.service.authority.rotate(use, by: .operator)
            let after = try await TestPlayer().personalized(by: site.test)
            try await site.renew()
            for player in [before, after] {
                let token = try await tokens.token(site.test, kind: .ms3)
                let answer = try await site.code(token, site.files(player))
                #expect(answer == "200")
            }
        }
    }

    @Test func `is all that the listener serves`() async throws {
        let test = try await TestService(with: .licensing)
        let routes = test.service.rightsRouter.routes.map { "\($0.method) \($0.pattern)" }
        #expect(routes == ["GET hms/ms3/rights{/}", "POST hms/ms3/rights{/}"])
    }
}
