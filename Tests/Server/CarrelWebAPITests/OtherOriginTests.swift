// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelBytes
import CarrelHTTP
import CarrelJSON
import CarrelOrders
import CarrelServer
import CarrelServerTesting
import CarrelStreaming
import Testing

struct `Pages of other origins` {
    private static let app = "capacitor://localhost"

    private func service(_ origins: [String], _ access: AccessMode = .orderURL) async throws -> TestService {
        try await TestService(.silence) {
            $0.otherOrigins = OtherOrigins(origins)
            $0.stream.access = access
        }
    }

    private func report(_ order: Order, _ test: TestService) -> JSON {
        [
            [
                "id": .string(order.id), "startUtc": .string((test.clock.now - .seconds(5)).description),
                "endUtc": .string(test.clock.now.description), "startPosition": 10, "endPosition": 15,
            ]
        ]
    }

    @Test(
        arguments: [
            (["capacitor://localhost"], "capacitor://localhost", true), (["null"], "null", true),
            (["https://play.example.org"], "https://play.example.org", true),
            (["https://PLAY.example.org:443"], "https://play.example.org", true), (["*"], "https://elsewhere.example", true),
            (["*"], "null", true), (["https://play.example.org"], "http://play.example.org", false),
            (["https://play.example.org"], "https://play.example.org.evil.example", false),
            (["capacitor://localhost"], "null", false), ([], "capacitor://localhost", false),
        ] as [([String], String, Bool)]
    )
    func `stream and report where http.cors-origins names their origin`(_ origins: [String], _ origin: String, _ works: Bool)
        async throws
    {
        let test = try await service(origins)
        let order = try await test.order()
        let playlist = try await test.playlist(order)
        let headers: HTTPFields = ["Origin": origin, "Sec-Fetch-Site": "cross-site"]
        let allowed = works ? (origins == ["*"] ? "*" : origin) : nil
        for path in ["/v1/stream/hls/\(order.id)/playlist.m3u8", playlist.segments[0], test.path(of: playlist.key)] {
            let answer = try await test.send(.get, path, headers: headers)
            #expect(answer.status == 200)
            #expect(answer.headers["Access-Control-Allow-Origin"] == allowed, "\(path)")
            #expect((answer.headers["Vary"] == "Origin") == !origins.isEmpty)
            #expect(answer.headers["Access-Control-Allow-Credentials"] == nil)
        }
        let reported = try await test.send(.post, "/v2/states/", headers: headers, body: report(order, test))
        #expect(reported.status == (works ? 200 : 403))
        #expect(reported.headers["Access-Control-Allow-Origin"] == allowed)
    }

    @Test(arguments: [
        ("POST", "/v2/states/", "GET"), ("GET", "/v1/stream/hls/ORDER/playlist.m3u8", "POST"), ("GET", "/Sample.ashx", "DELETE"),
        ("POST", "/sign_in/", "PUT"), ("POST", "/edition_credentials", "PUT"), ("GET", "/opds/v2", "POST"),
        ("GET", "/opds/v1/shelf", "PUT"),
        ("GET", "/editions/com.example.7/content.xml", "POST"), ("HEAD", "/opds/v2/editions/com.example.7/x.epub", "PUT"),
    ])
    func `get an answer to their preflight for what is open`(_ method: String, _ path: String, _ other: String) async throws {
        let test = try await service([Self.app])
        func preflight(_ method: String, _ origin: String = Self.app) async throws -> (
            status: Int, headers: HTTPFields, body: [UInt8]
        ) {
            let headers: HTTPFields = [
                "Origin": origin, "Access-Control-Request-Method": method,
                "Access-Control-Request-Headers": "authorization,content-type, X-App-Version",
            ]
            return try await test.send(.options, path, headers: headers)
        }
        let answer = try await preflight(method)
        #expect(answer.status == 204 && answer.body.isEmpty)
        #expect(answer.headers["Access-Control-Allow-Origin"] == Self.app)
        #expect(answer.headers["Access-Control-Allow-Methods"]?.contains(method == "HEAD" ? "GET" : method) == true)
        #expect(answer.headers["Access-Control-Allow-Headers"] == "authorization, content-type, X-App-Version")
        #expect(answer.headers["Vary"]?.hasPrefix("Origin") == true)
        let refused = try await preflight(method, "https://evil.example")
        #expect(refused.status == 403 && refused.headers["Access-Control-Allow-Origin"] == nil)
        #expect(refused.headers["Vary"] == "Origin")
        #expect(try await preflight(other).status == 405)
    }

    @Test(arguments: [
        ("POST", "/v1/orders"), ("GET", "/v1/shelf"), ("POST", "/admin/v1/accounts"), ("PATCH", "/v1/account"),
        ("POST", "/sign-in"),
        ("GET", "/healthz"), ("GET", "/openapi.json"), ("GET", "/edge/v1/authorize"), ("POST", "/itunes_edition_credentials/"),
    ])
    func `get nothing else, even where all origins are allowed`(_ method: String, _ path: String) async throws {
        let test = try await service(["*"])
        let headers: HTTPFields = ["Origin": Self.app, "Access-Control-Request-Method": method]
        let preflight = try await test.send(.options, path, headers: headers)
        #expect(preflight.status == 405 || preflight.status == 404)
        let answer = try await test.send(HTTPMethod(rawValue: method), path, headers: ["Origin": Self.app], body: [:])
        for response in [preflight, answer] {
            #expect(response.headers.allSatisfy { !$0.name.hasPrefix("Access-Control-") }, "\(path)")
        }
    }

    @Test func `read refusals too, and see when to come back`() async throws {
        let test = try await service([Self.app])
        let unknown = "/v1/stream/hls/106d9ba0-125c-4b44-a410-2889d53f42bd/playlist.m3u8"
        let answer = try await test.send(.get, unknown, headers: ["Origin": Self.app])
        #expect(answer.status == 404 && answer.headers["Access-Control-Allow-Origin"] == Self.app)
        #expect(answer.headers["Access-Control-Expose-Headers"]?.contains("Retry-After") == true)
    }

    @Test(
        arguments: [
            (["Origin": "capacitor://localhost"], 401), (["Origin": "https://evil.example"], 401),
            (["Origin": "http://localhost"], 200),
            (["Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors"], 401),
            (["Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"], 200), (["Sec-Fetch-Site": "same-origin"], 200),
            ([:], 200),
        ] as [([String: String], Int)]
    )
    func `are not signed in by a cookie, only by a token`(_ fields: [String: String], _ status: Int) async throws {
        let test = try await service([Self.app], .session)
        let order = try await test.order()
        let account = try #require(try await test.service.accounts.find(named: "alice"))
        let token = try await test.service.accounts.issueSession(for: account)
        var headers: HTTPFields = ["Cookie": "carrel_session=\(token)"]
        for (name, value) in fields { headers[name] = value }
        let path = "/v1/stream/hls/\(order.id)/playlist.m3u8"
        #expect(try await test.send(.get, path, headers: headers).status == status)
        headers["Authorization"] = "Bearer \(token)"
        #expect(try await test.send(.get, path, headers: headers).status == 200)
        if fields["Origin"] == Self.app {
            headers["Sec-Fetch-Site"] = "cross-site"
            #expect(try await test.call(.post, "/v2/states", headers: headers, body: report(order, test)).json["accepted"] == 1)
            headers["Authorization"] = nil
            #expect(try await test.send(.post, "/v2/states", headers: headers, body: report(order, test)).status == 401)
        }
    }

    @Test func `are as foreign as ever without the setting`() async throws {
        let test = try await service([])
        let order = try await test.order()
        let headers: HTTPFields = ["Origin": Self.app, "Access-Control-Request-Method": "GET"]
        let path = "/v1/stream/hls/\(order.id)/playlist.m3u8"
        #expect(try await test.send(.options, path, headers: headers).status == 405)
        let answer = try await test.send(.get, path, headers: headers)
        #expect(answer.status == 200 && answer.headers["Vary"] == nil)
    }

    @Test func `keep what a response varied by before`() async throws {
        let test = try await service(["*"])
        #expect(
            try await test.send(.get, "/opds/v1/shelf", headers: ["Origin": Self.app]).headers["Vary"] == "Authorization, Origin"
        )
    }

    @Test(arguments: [
        ("*", true), ("null", true), ("https://play.example.org", true), ("http://192.0.2.1:8080", true),
        ("http://[::1]:80", true),
        ("capacitor://localhost", true), ("moz-extension://0b4d", true), ("https://play.example.org/", false),
        ("play.example.org", false),
        ("https://", false), ("://x", false), ("https://a b", false), ("", false), ("https://*.example.org", false),
        ("1a://x", false),
    ])
    func `are named by scheme and host alone`(_ text: String, _ isOrigin: Bool) {
        #expect(OtherOrigins.isOrigin(text) == isOrigin)
    }
}
