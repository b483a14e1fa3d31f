// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelHTTPClient
import CarrelHTTPServer
import CarrelMedia
import CarrelTesting
import CarrelThreads
import Testing

@testable import CarrelMediaSource
@testable import CarrelProxy

/// A rights service with TLS, on an address of this machine.
private final class RightsServer: Sendable {
    static let life: ClosedRange<Instant> = (Instant.now() - .seconds(3600))...(Instant.now() + .seconds(86_400))
    static let authority: CertificateAuthority? = try? .root(name: "root", key: P256.PrivateKey(), validity: life)

    private let server: HTTPServer
    private let log = Locked<[String]>([])
    let origin: String

    /// - Parameters:
    ///   - address: to listen on.
    ///   - leads: where requests are redirected; nil for a response.
    /// - Throws: what the server throws when it does not start.
    init(_ address: [UInt8], leads: String? = nil) throws {
        let authority = try #require(Self.authority)
        let key = P256.PrivateKey()
        let certificate = authority.issue(
            subject: "rights",
            publicKey: key.publicKey,
            validity: Self.life,
            kind: .server(names: ["localhost"], addresses: [address])
        )
        let identity = TLSIdentity(
            certificate: Certificate.pem(certificate),
            key: key.pem,
            clientAuthorities: Certificate.pem(authority.certificate)
        )
        let log = log
        var router = Router()
        for method in [HTTPMethod.get, .post] {
            router.on(method, "{path...}") { request, _ in
                var body: [UInt8] = []
                while let piece = try await request.body.next() { body += piece }
                log.withLock { $0.append("\(method) \(request.query.raw) \(String(decoding: body, as: UTF8.self))") }
                if let leads { return .redirect(to: leads, status: .temporaryRedirect) }
                return .text("yes")
            }
        }
        let text = address.map { "\($0)" }.joined(separator: ".")
        var configuration = ServerConfiguration()
        configuration.workers = 1
        configuration.clientCertificateListeners = [
            ClientCertificateListener(address: text, port: 0, identity: identity, router: router)
        ]
        server = HTTPServer(configuration: configuration, router: Router())
        origin = try #require(try server.start().last).description
    }

    var requests: [String] { log.withLock { $0 } }

    func url(_ path: String = "/hms/ms3/rights/") -> String { "\(origin)\(path)?b=\(TestRights.token)" }

    func stop() async { await server.shutdown(grace: .seconds(1)) }
}

struct `A request for rights` {
    private static func client(_ server: RightsServer, allowsPrivateNetworks: Bool = false) throws -> RightsHTTPClient {
        let authority = try #require(RightsServer.authority)
        let trusting = HTTPClient(configuration: HTTPClientConfiguration(trustedRoots: [authority.certificate]))
        let url = try MS3URL("\(server.url())#\(PercentEncoding.encode("https://cdn.example/film.mpd"))")
        return try RightsHTTPClient(url, trusting, allowsPrivateNetworks: allowsPrivateNetworks)
    }

    @Test func `goes to the service that the address names, wherever it is`() async throws {
        let server = try RightsServer([127, 0, 0, 1])
        let client = try Self.client(server)
        let got = try await client.get(server.url(), fields: [], limit: 100)
        let posted = try await client.post(server.url(), body: Array("proof".utf8), fields: [], limit: 100)
        for response in [got, posted] { #expect(response.status == 200 && response.body == Array("yes".utf8)) }
        let query = "b=\(TestRights.token)"
        #expect(server.requests == ["GET \(query) ", "POST \(query) proof"])
        await server.stop()
    }

    @Test(arguments: [false, true])
    func `is redirected to a private address where that is allowed alone`(isAllowed: Bool) async throws {
        let foreign = try RightsServer([127, 0, 0, 2])
        let server = try RightsServer([127, 0, 0, 1], leads: foreign.url())
        let client = try Self.client(server, allowsPrivateNetworks: isAllowed)
        if isAllowed {
            #expect(try await client.get(server.url(), fields: [], limit: 100).body == Array("yes".utf8))
        } else {
            await #expect {
                _ = try await client.get(server.url(), fields: [], limit: 100)
            } throws: { error in
                (error as? ProxyError)?.code == .address && !"\(error)".contains(TestRights.token)
            }
        }
        #expect(server.requests.count == 1 && foreign.requests.count == (isAllowed ? 1 : 0))
        await server.stop()
        await foreign.stop()
    }

    @Test func `is made by TLS alone, and follows no redirect away from it`() async throws {
        let plain = try OriginServer(TemporaryDirectory().path)
        let server = try RightsServer([127, 0, 0, 1], leads: "\(plain.origin)/?b=\(TestRights.token)")
        let client = try Self.client(server, allowsPrivateNetworks: true)
        for url in [server.url(), "\(plain.origin)/?b=\(TestRights.token)", "ftp://127.0.0.1/"] {
            await #expect {
                _ = try await client.get(url, fields: [], limit: 100)
            } throws: { error in
                (error as? ProxyError)?.code == .address && !"\(error)".contains(TestRights.token)
            }
        }
        #expect(server.requests.count == 1 && plain.requests.isEmpty)
        await server.stop()
        await plain.stop()
    }

    @Test func `to a service that shows another certificate is not made`() async throws {
        let server = try RightsServer([127, 0, 0, 1])
        let url = try MS3URL("\(server.url())#\(PercentEncoding.encode("https://cdn.example/film.mpd"))")
        let client = try RightsHTTPClient(url, HTTPClient(), allowsPrivateNetworks: true)
        await #expect {
            _ = try await client.get(server.url(), fields: [], limit: 100)
        } throws: { error in
            (error as? ProxyError)?.code == .unavailable && !"\(error)".contains(TestRights.token)
        }
        #expect(server.requests.isEmpty)
        await server.stop()
    }
}

/// A rights service that answers when it is cancelled, and with rights then.
private final class LateRights: RightsSource {
    let releases = Locked(0)
    let asked = Locked(0)

    func redeem(_ url: MS3URL, client: any MediaHTTPClient) async -> RightsAnswer {
        asked.withLock { $0 += 1 }
        try? await Task.sleep(for: .seconds(600))
        return .granted(StreamRights { [releases] in releases.withLock { $0 += 1 } })
    }
}

struct `The rights of a session` {
    private static func rights(_ source: some RightsSource, limit: Duration) throws -> SessionRights {
        let url = try MS3URL(TestRights.url("https://cdn.example/film.mpd"))
        let client = try RightsHTTPClient(url, HTTPClient(), allowsPrivateNetworks: false)
        return SessionRights(url, source, client, limit: limit)
    }

    @Test func `that come too late are given back, and may be asked for again`() async throws {
        let source = LateRights()
        let rights = try Self.rights(source, limit: .milliseconds(50))
        for count in 1...2 {
            await #expect(throws: ProxyError(.unavailable, "")) { try await rights.redeemed() }
            try await eventually { source.releases.withLock { $0 } == count }
        }
        #expect(source.asked.withLock { $0 } == 2)
    }

    @Test func `returns rights that arrive after its end`() async throws {
        let source = LateRights()
        let rights = try Self.rights(source, limit: .seconds(60))
        let redeemed = Task { try await rights.redeemed() }
        try await eventually { source.asked.withLock { $0 } == 1 }
        rights.end()
        await #expect(throws: ProxyError.self) { _ = try await redeemed.value }
        try await eventually { source.releases.withLock { $0 } == 1 }
        await #expect(throws: ProxyError(.ended, "")) { try await rights.redeemed() }
    }

    @Test func `are redeemed once for requests side by side`() async throws {
        let source = TestRights()
        let rights = try Self.rights(source, limit: .seconds(60))
        await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<50 { group.addTask { try await rights.redeemed() } }
        }
        #expect(source.asked.count == 1)
        rights.end()
        rights.end()
        await rights.released()
        #expect(source.releases == 1)
    }
}
