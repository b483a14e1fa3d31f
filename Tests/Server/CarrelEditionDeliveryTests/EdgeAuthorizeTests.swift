// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCatalog
import CarrelCrypto
import CarrelEditionDelivery
import CarrelHTTP
import CarrelServer
import CarrelServerTesting
import CarrelStore
import CarrelTesting
import Testing

/// The response to an edge about an address, compared with a download of it.
struct `A question of an edge` {
    private let life = Duration.seconds(3600)

    private func headers(_ test: TestService, _ product: String) async throws -> HTTPFields {
        let pair = try await test.service.credentials.issuer().issue(product: product, account: "someone", life: life)
        return ["Authorization": "Basic \(Base64.encode("\(pair.userID):\(pair.password)"))"]
    }

    private func service() async throws -> TestService {
        let test = try await TestService(with: .editionDelivery)
        try await test.ingest(EditionFiles.folder(test.directory), "com.example.7", samples: ["pages/2.html"])
        try await test.ingest(test.directory.write("x.epub", EditionFiles.epub()), "free") { $0.price = .free }
        try await test.ingest(test.directory.write("x.pdf", EditionFiles.pdf), "draft") { ($0.price, $0.isDraft) = (.free, true) }
        return test
    }

    @Test func `is answered with yes only where the same request would be served`() async throws {
        let test = try await service()
        let credentials = [[:], try await headers(test, "com.example.7"), try await headers(test, "free")]
        let pieces = [
            "/editions", "/opds/v2/editions", "/com.example.7", "/free", "/draft", "/", "/index.html", "/pages/2.html", "/pages",
            "/-/manifest.xml", "/-/package.zip", "/-/cover", "/content.xml", "/free.epub", "/..", "/.", "%2e%2e", "%2f", "%2F..",
            "//",
            "?", "#", "%00", "%5c", "\\", "%", "%c3%28", "%63om.example.7", ";a=b", " ", "http://x", "/edge/v1/authorize", "*",
        ]
        var random = SystemRandomNumberGenerator()
        var (yes, no) = (0, 0)
        for _ in 0..<10_000 {
            let count = Int.random(in: 1...4, using: &random)
            var target = Bool.random(using: &random) ? "/editions/com.example.7" : ""
            for _ in 0..<count { target += pieces.randomElement(using: &random) ?? "" }
            var fields: HTTPFields = credentials.randomElement(using: &random) ?? [:]
            let sent = fields
            fields["X-Original-URI"] = target
            let answer = try await test.send(.get, "/edge/v1/authorize", headers: fields)
            #expect(answer.headers["Cache-Control"] == "no-store")
            guard answer.status == 204 else {
                #expect([401, 403].contains(answer.status), "\(target): \(answer.status)")
                no += 1
                continue
            }
            yes += 1
            #expect(answer.headers["X-Carrel-Version"]?.isEmpty == false)
            let path = String(target.prefix { $0 != "?" })
            try #require((try? RequestPath(parsing: path)) != nil, "\(target)")
            let served = try await test.send(.get, path, headers: sent)
            #expect([200, 302].contains(served.status), "\(target): \(served.status)")
            #expect(served.headers["X-Carrel-Entitlement"] == answer.headers["X-Carrel-Entitlement"])
        }
        #expect(yes > 100 && no > 1000)
    }

    @Test func `is answered with no where it does not say what it is about, or says it twice`() async throws {
        let test = try await service()
        let fields = try await headers(test, "com.example.7")
        #expect(try await test.send(.get, "/edge/v1/authorize", headers: fields).status == 403)
        var twice = fields
        twice.append("X-Original-URI", "/editions/free/")
        #expect(try await test.send(.get, "/edge/v1/authorize", headers: twice).status == 204)
        twice.append("X-Original-URI", "/editions/com.example.7/")
        #expect(try await test.send(.get, "/edge/v1/authorize", headers: twice).status == 403)
    }

    @Test func `has another version in its answer when the content is another`() async throws {
        let test = try await service()
        func version() async throws -> String? {
            let fields: HTTPFields = ["X-Original-URI": "/editions/free/"]
            return try await test.send(.get, "/edge/v1/authorize", headers: fields).headers["X-Carrel-Version"]
        }
        let first = try await version()
        #expect(try await version() == first)
        test.clock.advance(by: .seconds(60))
        try await test.ingest(test.directory.write("y.epub", EditionFiles.epub([.init("more.txt", "x")])), "free") {
            $0.price = .free
        }
        let second = try await version()
        #expect(first != nil && second != nil && second != first)
    }
}
