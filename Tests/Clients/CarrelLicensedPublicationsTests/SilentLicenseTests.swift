// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelHTTPClient
import CarrelHTTPServer
import CarrelPlayer
import CarrelPublication
import CarrelTesting
import Testing

struct `A silent license` {
    @Test func `is acquired at the address in the file, by https alone`() async throws {
        let book = try await BookWorld()
        let certificates = try TestCertificates()
        try await certificates.make("root", extensions: TestCertificates.authority)
        let extensions = "\(TestCertificates.signer)\nsubjectAltName = DNS:localhost"
        try await certificates.make("leaf", by: "root", extensions: extensions)
        let long = [UInt8](repeating: UInt8(ascii: "a"), count: (64 << 10) + 1)
        let server = try BookServer(
            ["token": Array(try await book.token().utf8), "page": Array("<html>no</html>".utf8), "long": long],
            certificates: certificates.directory
        )
        let clear = try await BookWorld.epub()
        func open(_ address: String, _ addresses: AddressRule = .any) async throws -> Publication {
            let client = HTTPClient(
                configuration: HTTPClientConfiguration(
                    addresses: addresses,
                    certificateAuthorities: certificates.directory.file("root.pem")
                )
            )
            let path = book.write("book.dcf", try BookWorld.dcf(clear, silent: address))
            return try await book.open(PublicationAsset(path: path), client: client)
        }
        let noToken = "cannot be acquired: the document is not of the kind ActionToken: its root element is 'html'"
        for (name, words) in [("none", "answered 404"), ("page", noToken), ("long", "longer than 65536 bytes")] {
            let refused = try await open("\(server.url)/\(name)")
            #expect(refused.isRestricted, "\(name)")
            #expect(refused.protectionErrorMessage?.contains(words) == true, "\(refused.protectionErrorMessage ?? "")")
            #expect(refused.metadata.title.description == "The title outside")
        }
        #expect(server.take() == 3)
        // neither plain http nor an address of this machine is contacted
        let plain = try await open("http" + server.url.dropFirst(5) + "/token")
        #expect(plain.protectionErrorMessage?.contains("not https") == true)
        #expect(try await open("\(server.url)/token", .publicOnly).isRestricted)
        #expect(server.take() == 0)
        let publication = try await open("\(server.url)/token")
        #expect(!publication.isRestricted && server.take() == 1)
        publication.close()
        // the license is stored
        #expect(try await open("\(server.url)/token").isRestricted == false && server.take() == 0)
        await server.stop()
    }

    /// A server whose license addresses stall, or lead elsewhere.
    private static func server(_ certificates: TemporaryDirectory, token: String) throws -> (server: HTTPServer, port: UInt16) {
        var router = Router()
        router.on(.get, "/stall") { _, _ in
            try await Task.sleep(for: .seconds(30))
            return HTTPResponse(.noContent)
        }
        router.on(.get, "/slow") { _, _ in
            // a byte now and then: never a pause, and never an end
            HTTPResponse(
                body: .stream(length: nil) { writer in
                    for _ in 0..<300 {
                        try await writer.write([0x20])
                        try await Task.sleep(for: .milliseconds(100))
                    }
                }
            )
        }
        router.on(.get, "/token") { _, _ in HTTPResponse(body: .bytes(Array(token.utf8))) }
        let locations = [
            ("moved", "/token"), ("plain", "http://localhost:1/token"), ("inside", "https://127.0.0.2:1/token"),
        ]
        for (name, location) in locations {
            router.on(.get, "/\(name)") { _, _ in HTTPResponse(.found, headers: ["Location": location]) }
        }
        router.on(.get, "/loop") { _, _ in HTTPResponse(.found, headers: ["Location": "/loop"]) }
        var configuration = ServerConfiguration()
        configuration.workers = 1
        configuration.listeners = [.tcp(address: "127.0.0.1", port: 0, isTLS: true)]
        configuration.tls = .init(certificate: certificates.file("leaf.pem"), key: certificates.file("leaf.key"))
        let server = HTTPServer(configuration: configuration, router: router)
        return (server, try #require(try server.start().first?.port))
    }

    @Test func `is given up after its time, and is followed to public https addresses alone`() async throws {
        let book = try await BookWorld()
        let certificates = try TestCertificates()
        try await certificates.make("root", extensions: TestCertificates.authority)
        try await certificates.make(
            "leaf",
            by: "root",
            extensions: "\(TestCertificates.signer)\nsubjectAltName = DNS:localhost"
        )
        let (server, port) = try Self.server(certificates.directory, token: try await book.token())
        let clear = try await BookWorld.epub()
        let configuration = HTTPClientConfiguration(
            addresses: .only { $0 == [127, 0, 0, 1] },
            certificateAuthorities: certificates.directory.file("root.pem")
        )
        func open(_ name: String) async throws -> Publication {
            let path = book.write("book.dcf", try BookWorld.dcf(clear, silent: "https://localhost:\(port)/\(name)"))
            return try await book.open(
                PublicationAsset(path: path),
                client: HTTPClient(configuration: configuration),
                silentLimit: .seconds(1)
            )
        }
        for (name, words) in [
            ("stall", "within 1.0 seconds"), ("slow", "within 1.0 seconds"), ("plain", "away from https"), ("inside", "address"),
            ("loop", "too many redirects"),
        ] {
            let start = ContinuousClock.now
            let refused = try await open(name)
            #expect(ContinuousClock.now - start < .seconds(3), "\(name)")
            let reason = refused.protectionErrorMessage ?? ""
            #expect(refused.isRestricted && refused.metadata.title.description == "The title outside", "\(name)")
            #expect(reason.hasPrefix("the license that the file names cannot be acquired") && reason.contains(words), "\(reason)")
        }
        #expect(try await book.engine.licenses().licenses(after: "", limit: 1).isEmpty)
        let publication = try await open("moved")
        #expect(!publication.isRestricted)
        publication.close()
        await server.shutdown(grace: .zero)
    }
}
