// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelHTTPClient
import CarrelHTTPServer
import CarrelHome
import CarrelJSON
import CarrelLicensing
import CarrelRights
import CarrelServer
import CarrelServerTesting
import CarrelSettings
import CarrelTesting
import CarrelWebAPI
import Testing

@testable import carrel

/// The rights location of a server as `carrel serve` starts it: certificates, tokens and proofs go over the wire.
@Suite(.serialized) struct `The rights location of a server` {
    private let directory = TemporaryDirectory()

    private var home: String { directory.file("home") }

    /// A running server and where it says that it is.
    private struct Running {
        let process: BackgroundProcess
        let url: String
        let rights: String
        let authenticator: String
        let folder: TemporaryDirectory
        let client = HTTPClient()

        func post(_ path: String, _ body: String, _ type: String) async throws -> [UInt8] {
            var request = ClientRequest(url + path)
            request.method = .post
            request.headers["Content-Type"] = type
            request.body = .bytes(Array(body.utf8))
            return try await client.send(request).body
        }

        func personalized() async throws -> TestPlayer.Personalized {
            let player = TestPlayer()
            let challenge = try await post("/v1/personalize/challenge", "", "application/json")
            let nonce = try JSON.parse(challenge.rawSpan)["nonce"]?.string ?? ""
            let request = try await player.request(nonce: nonce, at: .now())
            let answer = try await post("/v1/personalize", request, "application/jose")
            let response = try PersonalizationResponse(JSON.parse(answer.rawSpan))
            folder.write("root.pem", Certificate.pem(response.trust.root))
            return TestPlayer.Personalized(
                player: player,
                id: response.player,
                certificate: try Certificate(der: response.certificate),
                keys: try response.trust.verified(from: nil).keys
            )
        }

        /// The answer to a portal's request for a stream's token.
        func token() async throws -> String {
            let form =
                "customerAuthenticator=\(authenticator)&contentId=cid:film&contentKey=166634c675823c235a4a9446fad52e4d&errorFormat=json"
            let body = try await post("/hms/ms3/token", form, "application/x-www-form-urlencoded")
            return String(decoding: body, as: UTF8.self)
        }

        /// The status that curl gets for a URL.
        func status(_ url: String, _ options: [String]) async throws -> String {
            try await checkProcess(
                [
                    "curl", "-sS", "--max-time", "120", "--cacert", folder.file("root.pem"), "-o", folder.file("body"), "-w",
                    "%{http_code}",
                ] + options + [url]
            )
        }

        func files(_ player: TestPlayer.Personalized) -> [String] {
            let certificate = folder.write("\(player.id).pem", Certificate.pem(player.certificate.der))
            let key = folder.write("\(player.id).key", player.player.signing.pem.withBytes { [UInt8](copying: $0) })
            return ["--cert", certificate, "--key", key]
        }
    }

    private func start(_ options: [String] = [], hasListener: Bool = true) async throws -> Running {
        let process = try BackgroundProcess(
            [DemoServer.program, "serve", "--home", home, "--port", "0"] + options,
            directory: directory.path
        )
        let line = try await process.waitForLine(containing: "listening on http")
        var rights = ""
        if hasListener {
            let said = try await process.waitForError(containing: "rights location at ")
            rights = String(said.split(separator: " ").last ?? "")
        }
        let key = try await DemoServer.json(["key", "create", "--home", home, "--role", "service", "--json"])
        return Running(
            process: process,
            url: String(line.split(separator: " ").last ?? ""),
            rights: rights,
            authenticator: "\(key["id"]?.string ?? ""),\(key["key"]?.string ?? "")",
            folder: directory
        )
    }

    @Test func `redeems tokens for players with a certificate or a proof, also after a rotation`() async throws {
        let server = try await start()
        let player = try await server.personalized()
        let url = try await server.token()
        #expect(url.hasPrefix("\(server.rights)?b=") && server.rights.hasPrefix("https://localhost:"))
        #expect(try await server.status(url, server.files(player)) == "200")
        let license = try License(String(decoding: directory.read("body") ?? [], as: UTF8.self), keys: player.keys)
        #expect(license.player == player.id && license.nonce.isEmpty)
        #expect(try await server.status(url, []) == "401")
        #expect(try await server.status(server.rights.replacing("/hms/ms3/rights/", with: "/v1/license/keys"), []) == "404")

        // a reader trusts the service's root alone
        let root = try #require(Certificate.all(in: directory.read("root.pem") ?? []).first).der
        let reader = HTTPClient(configuration: HTTPClientConfiguration(trustedRoots: [root]))
        let token = String(url.dropFirst(server.rights.utf8.count + 3))
        let proof = try await player.made(token, at: server.rights)
        var request = ClientRequest(url)
        request.headers["DPoP"] = proof.text
        let answer = try await reader.send(request)
        #expect(answer.status == .ok && answer.headers["Cache-Control"] == "no-store")
        #expect(try License(String(decoding: answer.body, as: UTF8.self), keys: player.keys).request == proof.digest)
        await #expect(throws: HTTPClientError(.tls)) { try await HTTPClient().send(request) }
        let replayed = try await reader.send(request)
        #expect(replayed.status == .unauthorized)
        request.url = server.url + "/hms/ms3/rights/?b=\(token)"
        request.headers["DPoP"] = try await player.made(token, at: server.url + "/hms/ms3/rights/").text
        #expect(try await server.client.send(request).status == .ok, "a proof is enough on every listener")

        try await checkProcess([DemoServer.program, "pki", "rotate", "devices", "--home", home])
        let younger = try await server.personalized()
        let next = try await server.token()
        try await Self.eventually { try await server.status(next, server.files(younger)) == "200" }
        let last = try await server.token()
        #expect(try await server.status(last, server.files(player)) == "200")
        #expect(await server.process.terminate() == .exited(0))
    }

    @Test func `is found by a reader that knows the root before a rotation`() async throws {
        let server = try await start()
        let environment = ["CARREL_VAULT_PASSPHRASE": "correct horse", "PATH": "/usr/bin:/bin"]
        let reader = directory.file("reader")
        func carrel(_ words: String...) async throws -> ProcessResult {
            try await runProcess([DemoServer.program] + words + ["--home", reader], environment: environment)
        }
        #expect(try await carrel("device", "personalize", "--server", server.url, "--vault", "file").status.isSuccess)
        // curl continues with the current root
        _ = try await server.personalized()
        let first = try await carrel("token", "redeem", try await server.token() + "#https%3A%2F%2Fcdn.example%2Ffilm", "--trace")
        #expect(first.status.isSuccess && !first.errorText.contains("/v1/license/keys"), "\(first.errorText)")
        try await checkProcess([DemoServer.program, "pki", "rotate", "root", "--home", home])
        let location = try await server.token()
        try await Self.eventually { (try? await server.status(location, [])) == nil }
        let next = try await server.token() + "#https%3A%2F%2Fcdn.example%2Ffilm"
        let second = try await carrel("token", "redeem", next, "--trace")
        #expect(second.status.isSuccess, "\(second.errorText)")
        let calls = second.errorText.split(separator: "\n").filter {
            $0.contains("/hms/ms3/rights/: ") || $0.contains("/license/keys: ")
        }
        #expect(
            calls.count == 3 && calls[0].contains("no answer") && calls[1].contains("200") && calls[2].contains("200"),
            "\(calls)"
        )
        let third = try await carrel("token", "redeem", try await server.token() + "#https%3A%2F%2Fcdn.example%2Ffilm", "--trace")
        #expect(third.status.isSuccess && !third.errorText.contains("/v1/license/keys"), "\(third.errorText)")
        #expect(await server.process.terminate() == .exited(0))
    }

    @Test func `has a certificate of the new root after a rotation, without a restart`() async throws {
        let server = try await start()
        let before = try await server.personalized()
        #expect(try await server.status(try await server.token(), server.files(before)) == "200")
        try await checkProcess([DemoServer.program, "pki", "rotate", "root", "--home", home])
        let url = try await server.token()
        try await Self.eventually {
            // its root is the new one from the next second on; until the listener follows, curl refuses its certificate
            let after = try await server.personalized()
            return await (try? server.status(url, server.files(after))) == "200"
        }
        #expect(await server.process.terminate() == .exited(0))
    }

    @Test func `replaces its certificate thirty days before its end`() async throws {
        let test = try await TestService(at: .now())
        var settings = try LoadedSettings<ServeSettings>().values
        (settings.port, settings.address) = (0, "127.0.0.1")
        let rights = try #require(try await RightsListener(settings, test.service, clock: test.clock))
        var configuration = ServerConfiguration()
        configuration.workers = 1
        configuration.clientCertificateListeners = [rights.listener]
        let server = HTTPServer(configuration: configuration, router: test.service.router)
        let port = try #require(try server.start().last?.port)
        let (file, job) = (directory.write("none", []), rights.job(server))
        /// SHA-256 of the certificate that the listener shows.
        func shown() async throws -> String {
            try await checkProcess([
                "sh", "-c",
                "openssl s_client -connect 127.0.0.1:\(port) <'\(file)' 2>/dev/null | openssl x509 -noout -fingerprint -sha256",
            ])
        }
        let first = try await shown()
        #expect(first.contains("="))
        test.clock.advance(by: .seconds(60 * 86_400 - 60))
        try await job.work()
        let kept = try await shown()
        #expect(kept == first)
        test.clock.advance(by: .seconds(60))
        try await job.work()
        let second = try await shown()
        #expect(second != first && second.contains("="))
        try await job.work()
        let stays = try await shown()
        #expect(stays == second)
        await server.shutdown(grace: .seconds(1))
    }

    @Test func `takes a certificate from a proxy that the operator names, on every listener`() async throws {
        let server = try await start(["--rights-client-cert-proxies", "10.0.0.0/8,127.0.0.1"])
        let player = try await server.personalized()
        let field = ["-H", "Client-Cert: :\(Base64.encode(player.certificate.der)):"]
        let token = try await server.token()
        #expect(try await server.status(token, field) == "200")
        let plain = token.replacing(server.rights, with: server.url + "/hms/ms3/rights/")
        #expect(try await server.status(plain, field) == "200")
        #expect(try await server.status(plain, ["-H", "Client-Cert: none"]) == "400")
        #expect(await server.process.terminate() == .exited(0))
    }

    @Test func `is off where the operator says so, and then tokens of streams need an https address`() async throws {
        let server = try await start(["--rights-port", "off"], hasListener: false)
        #expect(try await server.token().contains("-2030"))
        #expect(!server.process.errors.contains("rights location"))
        #expect(await server.process.terminate() == .exited(0))
    }

    /// Waits until the condition holds, for ten seconds.
    private static func eventually(_ condition: () async throws -> Bool) async throws {
        for _ in 0..<100 {
            if try await condition() { return }
            try await Task.sleep(for: .milliseconds(100))
        }
        Issue.record("never")
    }
}

extension TestPlayer.Personalized {
    /// A proof for a token at an address.
    fileprivate func made(_ token: String, at url: String) async throws -> DPoPProof.Made {
        let signing = player.signing
        return try await DPoPProof.make(
            method: .get,
            url: url,
            token: token,
            signingKey: signing.publicKey,
            now: .now()
        ) { signing.sign($0.rawSpan) }
    }
}

struct `The settings of the rights location` {
    private func settings(_ change: (inout ServeSettings) -> Void = { _ in }) throws -> ServeSettings {
        var settings = try LoadedSettings<ServeSettings>().values
        change(&settings)
        return settings
    }

    private func load(_ texts: [String: String]) throws -> ServeSettings {
        try LoadedSettings<ServeSettings>(environment: texts).values
    }

    @Test func `turn it off by default, and give it any free port where the server has one`() throws {
        #expect(try settings().rightsPort == nil)
        #expect(try settings { $0.port = 0 }.rightsPort == 0)
        #expect(try load(["CARREL_RIGHTS_PORT": "8443"]).rightsPort == 8443)
        #expect(try load(["CARREL_RIGHTS_PORT": "0"]).rightsPort == 0)
        #expect(try load(["CARREL_RIGHTS_PORT": "off", "CARREL_HTTP_PORT": "0"]).rightsPort == nil)
        for wrong in ["on", "65536", "-1", ""] where !wrong.isEmpty {
            #expect(throws: SettingsError.self) { try load(["CARREL_RIGHTS_PORT": wrong]) }
        }
        #expect(throws: SettingsError.self) { try load(["CARREL_RIGHTS_CLIENT_CERT_PROXIES": "proxy.example.org"]) }
    }

    @Test func `name the host by which players reach it`() throws {
        #expect(try settings().rightsHost == "localhost")
        #expect(try settings { $0.publicURL = "https://Books.example.org:8443/x" }.rightsHost == "Books.example.org")
        #expect(try settings { $0.publicURL = "http://[2001:db8::1]:80" }.rightsHost == "[2001:db8::1]")
        #expect(try settings { $0.address = "192.0.2.1" }.rightsHost == "192.0.2.1")
        #expect(try settings { $0.address = "2001:db8::1" }.rightsHost == "[2001:db8::1]")
        #expect(try settings { $0.address = "0.0.0.0" }.rightsHost == "localhost")
        let named = try settings {
            $0.address = "0.0.0.0"
            $0.allowedHosts = ["*", "audio.example.org"]
        }
        #expect(named.rightsHost == "audio.example.org")
        let known = try settings {
            $0.publicURL = "https://books.example.org"
            $0.rights.port = .number(8443)
        }
        #expect(known.service.rightsListener == "books.example.org:8443")
        #expect(try settings { $0.rights.port = .number(0) }.service.rightsListener == nil)
    }
}
