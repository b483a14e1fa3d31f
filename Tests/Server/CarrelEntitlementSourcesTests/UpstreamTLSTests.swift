// SPDX-License-Identifier: Apache-2.0

import CarrelEntitlementSources
import CarrelHTTP
import CarrelHTTPServer
import CarrelJSON
import CarrelServer
import CarrelServerTesting
import CarrelSubscription
import CarrelTesting
import CarrelThreads
import CarrelUpstream
import Testing

/// A source whose upstream system has a certificate.
@Suite(.serialized) struct `An upstream system with TLS` {
    /// A system that accepts every token, with a certificate for a name by its own authority.
    private struct System {
        let certificates: TestCertificates
        let server: HTTPServer
        let port: UInt16
        let asked = Locked(0)

        init(name: String, until end: String = "20280101000000Z") async throws {
            certificates = try TestCertificates()
            try await certificates.make("root", extensions: TestCertificates.authority)
            let extensions = "\(TestCertificates.signer)\nsubjectAltName = DNS:\(name)"
            try await certificates.make("leaf", by: "root", extensions: extensions, until: end)
            var router = Router()
            let asked = asked
            router.on(.post, "{path...}", acceptsForms: true, acceptsOtherOrigins: true) { _, _ in
                asked.withLock { $0 += 1 }
                return HTTPResponse(headers: ["Content-Type": "text/xml"], body: .bytes(SignInAnswer.token("T").write()))
            }
            var configuration = ServerConfiguration()
            configuration.workers = 1
            configuration.listeners = [.tcp(address: "127.0.0.1", port: 0, isTLS: true)]
            configuration.tls = .init(
                certificate: certificates.directory.file("leaf.pem"),
                key: certificates.directory.file("leaf.key")
            )
            server = HTTPServer(configuration: configuration, router: router)
            port = try #require(try server.start().first?.port)
        }

        /// The result of signing in at a service that queries the system and trusts an authority; nil trusts the machine's
        /// authorities.
        func signIn(trusting authority: String?) async throws -> (status: Int, xml: String, failure: String?) {
            let test = try await TestService(with: [.editionDelivery, .administration]) {
                var settings = UpstreamSettings(
                    name: "bureau",
                    .calls(SubscriptionEndpoints(base: "https://localhost:\(port)"))
                )
                settings.certificateAuthorities = authority
                $0.subscription.sources = [.upstream(settings)]
            }
            let reply = try await test.ask("sign_in", ["username": "reader", "password": "right"])
            let health = try await test.call(.get, "/admin/v1/health", peer: .local(userID: 0)).json["sources"]?.array?.first
            return (reply.status, reply.xml, health?["failure"]?.string)
        }
    }

    @Test func `is asked when its authority is trusted`() async throws {
        let system = try await System(name: "localhost")
        let answer = try await system.signIn(trusting: system.certificates.directory.file("root.pem"))
        #expect(answer.status == 200 && answer.xml == "<token>T</token>" && answer.failure == nil)
        #expect(system.asked.withLock { $0 } == 1)
        await system.server.shutdown(grace: .seconds(5))
    }

    @Test func `receives nothing, and is not trusted, without a trusted certificate`() async throws {
        let system = try await System(name: "localhost")
        let other = try TestCertificates()
        try await other.make("root", extensions: TestCertificates.authority)
        for authority in [nil, other.directory.file("root.pem"), other.directory.file("missing.pem")] {
            let answer = try await system.signIn(trusting: authority)
            #expect(answer.status == 503 && answer.failure?.contains("client.tls") == true, "\(answer)")
        }
        #expect(system.asked.withLock { $0 } == 0, "no password was sent")
        await system.server.shutdown(grace: .seconds(5))
    }

    @Test(arguments: [("other.test", "20280101000000Z"), ("localhost", "20260201000000Z")])
    func `receives nothing when its certificate is for another name or has expired`(name: String, end: String) async throws {
        let system = try await System(name: name, until: end)
        let answer = try await system.signIn(trusting: system.certificates.directory.file("root.pem"))
        #expect(answer.status == 503 && answer.failure?.contains("client.tls") == true, "\(answer)")
        #expect(system.asked.withLock { $0 } == 0, "no password was sent")
        await system.server.shutdown(grace: .seconds(5))
    }
}
