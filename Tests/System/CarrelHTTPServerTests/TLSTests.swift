// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelHTTPServer
import CarrelTesting
import Testing

@Suite(.serialized) struct `TLS` {
    static func withTLS(_ body: (UInt16, TemporaryDirectory) async throws -> Void) async throws {
        let folder = TemporaryDirectory()
        let (key, certificate) = (folder.file("key.pem"), folder.file("certificate.pem"))
        try await checkProcess([
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
            "-subj",
            "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out", certificate,
        ])
        var configuration = ServerConfiguration()
        configuration.workers = 1
        configuration.listeners = [.tcp(address: "127.0.0.1", port: 0, isTLS: true), .tcp(address: "127.0.0.1", port: 0)]
        configuration.tls = ServerConfiguration.TLSFiles(certificate: certificate, key: key)
        configuration.strictTransport = .seconds(86_400)
        let file = try OpenFile(path: folder.write("file", [UInt8](repeating: 7, count: 1_000_000)))
        var router = Router()
        router.on(.get, "scheme") { request, _ in
            await Task.yield()
            return .text(request.scheme)
        }
        router.on(.get, "file") { request, _ in .serving(Representation(file, contentType: "a/b"), for: request) }
        router.on(.post, "echo") { request, _ in .bytes(try await request.body.collect(upTo: 1 << 20), type: "a/b") }
        router.on(.post, "upload") { request, _ in
            _ = try await request.body.next()
            throw HTTPError(.conflict, "upload.known", "this is known")
        }
        let server = HTTPServer(configuration: configuration, router: router)
        let bound = try server.start()
        do {
            let port = try #require(bound.first?.port)
            #expect(bound.first?.description == "https://127.0.0.1:\(port)")
            let plain = try await runProcess(["curl", "-sS", "http://127.0.0.1:\(try #require(bound.last?.port))/scheme"])
            #expect(plain.text == "http")
            let head = try await runProcess(["curl", "-sSI", "http://127.0.0.1:\(try #require(bound.last?.port))/scheme"])
            #expect(!head.text.contains("Strict-Transport-Security"), "browsers do not take it over a plain line (RFC 6797 §8.1)")
            try await body(port, folder)
        } catch {
            await server.shutdown(grace: .seconds(1))
            throw error
        }
        await server.shutdown(grace: .seconds(1))
    }

    @Test func `serves texts, files and uploads`() async throws {
        try await Self.withTLS { port, folder in
            let curl = ["curl", "-sS", "--cacert", folder.file("certificate.pem")]
            let scheme = try await checkProcess(curl + ["https://localhost:\(port)/scheme"])
            #expect(scheme == "https")
            let file = try await runProcess(curl + ["https://localhost:\(port)/file"])
            #expect(file.output == [UInt8](repeating: 7, count: 1_000_000))
            let part = try await runProcess(curl + ["-r", "5-14", "https://localhost:\(port)/file"])
            #expect(part.output.count == 10)
            let upload = folder.write("upload", [UInt8](repeating: 9, count: 700_000))
            let echo = try await runProcess(
                curl + ["--data-binary", "@\(upload)", "-H", "Content-Type: a/b", "https://localhost:\(port)/echo"]
            )
            #expect(echo.output == [UInt8](repeating: 9, count: 700_000))
        }
    }

    @Test func `answers a length that it refuses once`() async throws {
        try await Self.withTLS { port, folder in
            let curl = ["curl", "-sSi", "--cacert", folder.file("certificate.pem")]
            let answer = try await runProcess(
                curl + ["--data-binary", "abcd", "-H", "Content-Length: 4x", "https://localhost:\(port)/echo"]
            )
            #expect(answer.text.hasPrefix("HTTP/1.1 400 ") && answer.text.components(of: "HTTP/1.1 ") == 1, "\(answer.text)")
            #expect(answer.text.contains("http.framing"))
        }
    }

    @Test func `refuses a query of too many parameters, and a target that leaves no room`() async throws {
        try await Self.withTLS { port, folder in
            let curl = ["curl", "-sSi", "--cacert", folder.file("certificate.pem")]
            let many = (0..<300).map { "x\($0)=y" }.joined(separator: "&")
            for target in ["scheme?\(many)", String(repeating: "a", count: 14_000)] {
                let answer = try await runProcess(curl + ["https://localhost:\(port)/\(target)"])
                #expect(answer.text.hasPrefix("HTTP/1.1 414 ") && answer.text.contains("request.uri-too-long"), "\(answer.text)")
            }
        }
    }

    @Test func `answers an upload that is refused on its way`() async throws {
        try await Self.withTLS { port, folder in
            let upload = folder.write("upload", [UInt8](repeating: 9, count: 8_000_000))
            let curl = ["curl", "-sSi", "--cacert", folder.file("certificate.pem"), "-H", "Expect:", "-H", "Content-Type: a/b"]
            let answer = try await runProcess(curl + ["--data-binary", "@\(upload)", "https://localhost:\(port)/upload"])
            #expect(
                answer.text.hasPrefix("HTTP/1.1 409 ") && answer.text.contains("upload.known"),
                "\(answer.text) \(answer.errorText)"
            )
        }
    }

    @Test func `is asked for from then on, where the operator says so`() async throws {
        try await Self.withTLS { port, folder in
            let curl = ["curl", "-sSI", "--cacert", folder.file("certificate.pem")]
            let answer = try await checkProcess(curl + ["https://localhost:\(port)/file"])
            #expect(answer.contains("Strict-Transport-Security: max-age=86400\r\n"))
        }
    }

    @Test(arguments: [("-tls1_3", true), ("-tls1_2", true), ("-tls1_1", false), ("-tls1", false)])
    func `is spoken from version 1.2 on`(version: String, works: Bool) async throws {
        try await Self.withTLS { port, _ in
            let result = try await runProcess(
                ["openssl", "s_client", "-connect", "127.0.0.1:\(port)", version, "-cipher", "ALL:@SECLEVEL=0"],
                timeout: .seconds(20)
            )
            #expect(result.text.contains("BEGIN CERTIFICATE") == works, "\(result.text) \(result.errorText)")
        }
    }

    @Test func `does not start with a key that is not the certificate's, or none`() async throws {
        try await Self.withTLS { _, folder in
            var configuration = ServerConfiguration()
            configuration.listeners = [.tcp(address: "127.0.0.1", port: 0, isTLS: true)]
            let other = folder.file("other.pem")
            try await checkProcess(["openssl", "genpkey", "-algorithm", "ed25519", "-out", other])
            for key in [other, folder.file("none.pem"), folder.write("junk.pem", "junk")] {
                configuration.tls = ServerConfiguration.TLSFiles(certificate: folder.file("certificate.pem"), key: key)
                let server = HTTPServer(configuration: configuration, router: Router())
                let error = #expect(throws: HTTPServerError.self) { try server.start() }
                #expect(error?.code == .tls)
            }
        }
    }
}
