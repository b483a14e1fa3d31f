// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelHTTPServer
import CarrelMetrics
import CarrelTesting
import Glibc
import Testing

/// A root with an authority of clients, and what they issue.
private struct Authorities {
    let folder: TemporaryDirectory
    let root: CertificateAuthority
    let clients: CertificateAuthority
    static let life: ClosedRange<Instant> = (Instant.now() - .seconds(3600))...(Instant.now() + .seconds(86_400))

    init(_ folder: TemporaryDirectory) throws {
        self.folder = folder
        root = try CertificateAuthority.root(name: "root", key: P256.PrivateKey(), validity: Self.life)
        let key = P256.PrivateKey()
        clients = try CertificateAuthority(
            certificate: root.issue(
                subject: "clients",
                publicKey: key.publicKey,
                validity: Self.life,
                kind: .authority(pathLength: 0)
            ),
            key: key
        )
        folder.write("root.pem", Certificate.pem(root.certificate))
    }

    var identity: TLSIdentity {
        let key = P256.PrivateKey()
        let certificate = root.issue(
            subject: "localhost",
            publicKey: key.publicKey,
            validity: Self.life,
            kind: .server(names: ["localhost"], addresses: [[127, 0, 0, 1]])
        )
        return TLSIdentity(
            certificate: Certificate.pem(certificate),
            key: key.pem,
            clientAuthorities: Certificate.pem(root.certificate) + Certificate.pem(clients.certificate)
        )
    }

    /// Options of curl for a client, with its certificate.
    func client(
        _ name: String,
        by authority: CertificateAuthority? = nil,
        validity: ClosedRange<Instant> = life
    ) -> (options: [String], der: [UInt8]) {
        let key = P256.PrivateKey()
        let der = (authority ?? clients).issue(
            subject: name,
            publicKey: key.publicKey,
            validity: validity,
            kind: .client(identifier: "urn:test:\(name)", description: "none")
        )
        let certificate = folder.write("\(name).pem", Certificate.pem(der))
        let file = folder.write("\(name).key", key.pem.withBytes { [UInt8](copying: $0) })
        return (["--cert", certificate, "--key", file], der)
    }

    /// A certificate under the name of the authority of clients that its own key signed.
    func selfSigned() async throws -> [String] {
        let (certificate, key) = (folder.file("self.pem"), folder.file("self.key"))
        try await checkProcess([
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
            "-subj", "/CN=clients", "-keyout", key, "-out", certificate,
        ])
        return ["--cert", certificate, "--key", key]
    }

    /// The authority's own certificate, which is not for signing handshakes.
    var authority: [String] {
        let certificate = folder.write("clients.pem", Certificate.pem(clients.certificate))
        return ["--cert", certificate, "--key", folder.write("clients.key", clients.key.pem.withBytes { [UInt8](copying: $0) })]
    }

    var curl: [String] { ["curl", "-sS", "--max-time", "120", "--cacert", folder.file("root.pem")] }
}

@Suite(.serialized) struct `A listener that asks clients for a certificate` {
    private struct Site {
        let authorities: Authorities
        let server: HTTPServer
        let metrics: MetricsRegistry
        /// The ports of the listeners without and with certificates.
        let plain: UInt16
        let port: UInt16

        func who(_ options: [String] = [], port: UInt16? = nil) async throws -> String {
            try await checkProcess(authorities.curl + options + ["https://localhost:\(port ?? self.port)/who"])
        }
    }

    /// A program's output.
    private static func text(of arguments: [String]) async throws -> String { try await checkProcess(arguments) }

    /// The client as seen by a handler.
    private static func seen(_ request: HTTPRequest) -> String {
        switch request.clientCertificate {
        case nil: "none"
        case .untrusted: "untrusted"
        case .verified(let der): "verified \(Hex.encode(SHA256.hash(der.rawSpan)))"
        case .forwarded(let der): "forwarded \(Hex.encode(SHA256.hash(der.rawSpan)))"
        }
    }

    private static func withSite(
        _ change: (inout ServerConfiguration) -> Void = { _ in },
        _ body: (Site) async throws -> Void
    ) async throws {
        let authorities = try Authorities(TemporaryDirectory())
        var (routes, own) = (Router(), Router())
        routes.on(.get, "plain") { _, _ in .text("plain") }
        routes.on(.get, "who") { request, _ in .text(seen(request)) }
        routes.on(.get, "priority") { _, _ in .text("\(getpriority(Int32(PRIO_PROCESS.rawValue), 0))") }
        own.on(.get, "priority") { _, _ in .text("\(getpriority(Int32(PRIO_PROCESS.rawValue), 0))") }
        own.on(.get, "who") { request, _ in
            await Task.yield()
            return .text(seen(request))
        }
        var configuration = patient
        configuration.workers = 2
        configuration.clientCertificateListeners = [
            ClientCertificateListener(address: "127.0.0.1", port: 0, identity: authorities.identity, router: own)
        ]
        change(&configuration)
        let metrics = MetricsRegistry()
        let server = HTTPServer(configuration: configuration, router: routes, metrics: metrics)
        let bound = try server.start()
        do {
            let (plain, port) = (try #require(bound.first?.port), try #require(bound.last?.port))
            #expect(bound.last?.description == "https://127.0.0.1:\(port)")
            try await body(Site(authorities: authorities, server: server, metrics: metrics, plain: plain, port: port))
        } catch {
            await server.shutdown(grace: .seconds(1))
            throw error
        }
        await server.shutdown(grace: .seconds(1))
    }

    @Test(arguments: ["--tlsv1.3", "--tls-max=1.2"])
    func `tells its handlers who came, and whether an authority of its own vouches for them`(version: String) async throws {
        try await Self.withSite { site in
            let version = version.split(separator: "=").map(String.init)
            let known = site.authorities.client("known")
            #expect(try await site.who(version + known.options) == "verified \(Hex.encode(SHA256.hash(known.der.rawSpan)))")
            #expect(try await site.who(version) == "none")
            let own = try await site.authorities.selfSigned()
            #expect(try await site.who(version + own) == "untrusted")
            let foreign = try Authorities(TemporaryDirectory())
            let other = site.authorities.client("foreign", by: foreign.clients)
            #expect(try await site.who(version + other.options) == "untrusted")
            let past = (Instant.now() - .seconds(3000))...(Instant.now() - .seconds(60))
            let ended = site.authorities.client("past", validity: past)
            #expect(try await site.who(version + ended.options) == "untrusted")
            let future = (Instant.now() + .seconds(3600))...(Instant.now() + .seconds(7200))
            let early = site.authorities.client("future", validity: future)
            #expect(try await site.who(version + early.options) == "untrusted")
        }
    }

    @Test func `refuses the handshake of a certificate that is for signing certificates`() async throws {
        try await Self.withSite { site in
            let url = "https://localhost:\(site.port)/who"
            let result = try await runProcess(site.authorities.curl + site.authorities.authority + [url])
            #expect(result.status != .exited(0) && result.output.isEmpty)
        }
    }

    @Test func `has routes of its own alone, and the others have none of them`() async throws {
        try await Self.withSite { site in
            let curl = site.authorities.curl + ["-o", "/dev/null", "-w", "%{http_code}"]
            let missing = try await Self.text(of: curl + ["https://localhost:\(site.port)/plain"])
            #expect(missing == "404")
            #expect(try await Self.text(of: curl + ["http://localhost:\(site.plain)/plain"]) == "200")
            #expect(try await Self.text(of: site.authorities.curl + ["http://localhost:\(site.plain)/who"]) == "none")
        }
    }

    /// Unknown clients may start handshakes there, which cost the most.
    @Test func `lets the threads of other listeners run before its own`() async throws {
        try await Self.withSite { site in
            let normal = "\(getpriority(Int32(PRIO_PROCESS.rawValue), 0))"
            for _ in 0..<4 {
                let plain = try await Self.text(of: site.authorities.curl + ["http://localhost:\(site.plain)/priority"])
                let own = try await Self.text(of: site.authorities.curl + ["https://localhost:\(site.port)/priority"])
                #expect(plain == normal && own == "10")
            }
        }
    }

    @Test func `has the certificate of one connection for each of its requests, and no other`() async throws {
        try await Self.withSite { site in
            let known = site.authorities.client("known")
            let url = "https://localhost:\(site.port)/who"
            let twice = try await checkProcess(site.authorities.curl + known.options + ["-w", "|", url, url])
            let name = "verified \(Hex.encode(SHA256.hash(known.der.rawSpan)))|"
            #expect(twice == name + name)
        }
    }

    @Test func `takes another certificate and other authorities while it runs`() async throws {
        try await Self.withSite { site in
            let old = site.authorities.client("old")
            let next = try Authorities(TemporaryDirectory())
            let new = next.client("new")
            try site.server.replace(next.identity)
            let curl = ["curl", "-sS", "--cacert", next.folder.file("root.pem")]
            let url = "https://localhost:\(site.port)/who"
            #expect(try await Self.text(of: curl + new.options + [url]).hasPrefix("verified "))
            #expect(try await Self.text(of: curl + old.options + [url]) == "untrusted")
            #expect(try await runProcess(site.authorities.curl + [url]).status != .exited(0), "the old root does not lead to it")
            let broken = TLSIdentity(certificate: "none", key: Secret([1, 2, 3]), clientAuthorities: "none")
            let error = #expect(throws: HTTPServerError.self) { try site.server.replace(broken) }
            #expect(error?.code == .tls)
            #expect(try await Self.text(of: curl + new.options + [url]).hasPrefix("verified "))
        }
    }

    @Test func `does not start with a key that is not the certificate's, or without authorities`() throws {
        let authorities = try Authorities(TemporaryDirectory())
        let right = authorities.identity
        let broken = [
            TLSIdentity(
                certificate: right.certificate,
                key: P256.PrivateKey().pem,
                clientAuthorities: right.clientAuthorities
            ),
            TLSIdentity(certificate: right.certificate, key: right.key, clientAuthorities: ""),
            TLSIdentity(certificate: "", key: right.key, clientAuthorities: right.clientAuthorities),
        ]
        for identity in broken {
            var configuration = ServerConfiguration()
            configuration.clientCertificateListeners = [
                ClientCertificateListener(address: "127.0.0.1", port: 0, identity: identity, router: Router())
            ]
            let error = #expect(throws: HTTPServerError.self) {
                try HTTPServer(configuration: configuration, router: Router()).start()
            }
            #expect(error?.code == .tls)
        }
    }

    @Test func `cuts clients that are slow in the handshake or after it`() async throws {
        try await Self.withSite({ $0.headerDeadline = .milliseconds(300) }) { site in
            let silent = try RawClient(port: site.port)
            let heard = try await silent.receiveAll()
            #expect(heard.isEmpty)
            let dripping = try RawClient(port: site.port)
            do {
                // The head of a ClientHello, and its bytes one after another.
                for byte: UInt8 in [22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3] + [UInt8](repeating: 7, count: 500) {
                    try await dripping.send([byte])
                    try await Task.sleep(for: .milliseconds(20))
                }
                Issue.record("the server waited for all of it")
            } catch RawClient.Failure.closed {}
            let before = site.metrics.text()
            #expect(before.contains("carrel_http_connections_cut_total 2"))
            let half = "(printf 'GET /who HTTP/1.1\\r\\nHost: localhost\\r\\n'; sleep 2) | "
            _ = try await runProcess(["sh", "-c", half + "openssl s_client -quiet -connect 127.0.0.1:\(site.port)"])
            #expect(site.metrics.text().contains("carrel_http_connections_cut_total 3"))
        }
    }
}

@Suite(.serialized) struct `A certificate that a proxy forwards` {
    private static func answer(_ change: (inout ServerConfiguration) -> Void, _ headers: String) async throws -> (Int, String) {
        var configuration = patient
        change(&configuration)
        var result = (0, "")
        try await withServer(
            { router in
                router.on(.get, "who") { request, _ in
                    switch request.clientCertificate {
                    case .forwarded(let der): .text("\(der)")
                    case nil: .text("none")
                    default: .text("other")
                    }
                }
            },
            configuration: configuration
        ) { server in
            let response = try await server.get("/who", headers)
            result = (response.status, response.text)
        }
        return result
    }

    @Test func `counts from a listed proxy alone, by the address of its connection`() async throws {
        let loopback = try #require(AddressRange("127.0.0.0/8"))
        let other = try #require(AddressRange("10.1.2.3"))
        let field = "Client-Cert: :AQID:\r\n"
        #expect(try await Self.answer({ $0.certificateProxies = [other, loopback] }, field) == (200, "[1, 2, 3]"))
        #expect(try await Self.answer({ $0.certificateProxies = [other] }, field) == (200, "none"))
        #expect(try await Self.answer({ $0.trustedProxies = [loopback] }, field) == (200, "none"))
        #expect(try await Self.answer({ _ in }, field) == (200, "none"))
        // what a trusted proxy says about its client does not make that client a proxy
        let forwarded = "X-Forwarded-For: 10.1.2.3\r\n" + field
        let both = { (configuration: inout ServerConfiguration) in
            configuration.trustedProxies = [loopback]
            configuration.certificateProxies = [other]
        }
        #expect(try await Self.answer(both, forwarded) == (200, "none"))
        let own = { (configuration: inout ServerConfiguration) in
            configuration.trustedProxies = [loopback]
            configuration.certificateProxies = [loopback]
        }
        #expect(try await Self.answer(own, "X-Forwarded-For: 192.0.2.7\r\n" + field) == (200, "[1, 2, 3]"))
    }

    @Test(arguments: ["AQID", ":AQID", ":A:", "::", ":AQID:;a=1", ":AQID:, :AQID:", ":AQI:", ":AQID:\r\nClient-Cert: :AQID:"])
    func `is one byte sequence`(value: String) async throws {
        let loopback = try #require(AddressRange("127.0.0.1"))
        let (status, text) = try await Self.answer({ $0.certificateProxies = [loopback] }, "Client-Cert: \(value)\r\n")
        #expect(status == 400 && text.contains("http.client-certificate"), "\(text)")
    }
}
