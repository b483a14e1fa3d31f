// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelHTTPClient
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
        for name in ["none", "page", "long"] {
            let refused = try await open("\(server.url)/\(name)")
            #expect(refused.isRestricted, "\(name)")
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
}
