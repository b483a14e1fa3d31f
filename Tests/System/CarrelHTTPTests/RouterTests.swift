// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelThreads
import Testing

struct `A router` {
    static func router() -> Router {
        var router = Router()
        for pattern in [
            "/", "v1/orders/{order}", "v1/orders/new", "v1/hls/{order}/playlist.m3u8", "v1/hls/{order}/{ticket}/{n}.ts",
            "v1/hls/{order}/{ticket}/{n}.key", "v2/states/latest/{order}", "assets/{path...}", "items/{id}", "items/{id}.json",
            "items/x{id}",
        ] {
            router.on(.get, pattern, secret: ["order", "ticket"]) { request, _ in .text(pattern) }
        }
        router.on(.post, "v2/states{/}") { request, _ in .text("states") }
        router.on(.post, "forms", acceptsForms: true) { request, _ in
            .text(try await request.form(upTo: 100)["a"] ?? "none")
        }
        router.on(.get, "fail/{how}") { _, parameters in
            switch parameters["how"] {
            case "http": throw HTTPError(.conflict, "order.taken", "the number is taken", extra: [("number", .text("7"))])
            case "domain": throw Expired()
            case "cancel": throw CancellationError()
            default: throw Surprise()
            }
        }
        return router
    }

    struct Surprise: Error {}
    struct Busy: HTTPProblemConvertible {
        let isFailure: Bool
        var problem: HTTPError { HTTPError(.serviceUnavailable, "queue.full", "try again", headers: ["Retry-After": "5"]) }
    }
    struct Expired: HTTPProblemConvertible {
        var problem: HTTPError { HTTPError(.forbidden, "order.expired", "the loan has ended") }
    }

    static func text(_ response: HTTPResponse) async throws -> String {
        String(decoding: try await response.body.collect(upTo: 10000), as: UTF8.self)
    }

    @Test func `tells every handler whose request it answers, and what it calls`() async throws {
        var router = Router()
        router.on(.get, "peer") { _, _ in
            let later = await Task { Peer.current?.description }.value
            return .text("\(Peer.current?.description ?? "-") \(later ?? "-")")
        }
        for peer in [Peer.network(address: "192.0.2.1", port: 5), .local(userID: 7)] {
            let response = await router.respond(to: HTTPRequest(.get, "/peer", peer: peer))
            #expect(try await Self.text(response) == "\(peer) \(peer)")
        }
        #expect(Peer.current == nil)
    }

    @Test(arguments: [
        ("/", "/"), ("/v1/orders/1", "v1/orders/{order}"), ("/v1/orders/new", "v1/orders/new"),
        ("/v1/orders/new/", "404"), ("/v1/orders//", "404"), ("/v1/orders/", "404"), ("/v1//orders/1", "404"),
        ("/v1/hls/a/b/17.ts", "v1/hls/{order}/{ticket}/{n}.ts"), ("/v1/hls/a/b/17.key", "v1/hls/{order}/{ticket}/{n}.key"),
        ("/v1/hls/a/b/.ts", "404"), ("/v1/hls/a/b/17.aac", "404"), ("/v1/hls/a/playlist.m3u8", "v1/hls/{order}/playlist.m3u8"),
        ("/assets/css/main.css", "assets/{path...}"), ("/assets", "404"), ("/items/7", "items/{id}"),
        ("/items/7.json", "items/{id}.json"), ("/items/x7", "items/x{id}"), ("/items/%78", "items/{id}"), ("/none", "404"),
    ])
    func `takes the most literal route`(target: String, pattern: String) async throws {
        let response = await Self.router().respond(to: HTTPRequest(.get, target))
        #expect((response.status == .ok ? try await Self.text(response) : String(response.status.rawValue)) == pattern)
    }

    @Test(arguments: ["/v2/states", "/v2/states/", "/v2/states?x=1"])
    func `a pattern that ends in {/} takes the path with and without the slash`(target: String) async throws {
        #expect(await Self.router().respond(to: HTTPRequest(.post, target)).status == .ok)
    }

    @Test func `parameters are decoded once`() async throws {
        var router = Router()
        router.on(.get, "a/{x}/{y}.ts/{z...}") { _, parameters in
            .text([parameters["x"], parameters["y"], parameters["z"]].joined(separator: "|"))
        }
        let response = await router.respond(to: HTTPRequest(.get, "/a/%2541%20b/n.ts.ts/p/%C3%A6"))
        #expect(try await Self.text(response) == "%41 b|n.ts|p/æ")
    }

    @Test func `backs out of a literal that leads nowhere`() async throws {
        var router = Router()
        router.on(.get, "a/b/c") { _, _ in .text("literal") }
        router.on(.get, "a/{x}/d") { _, parameters in .text(parameters["x"]) }
        #expect(try await Self.text(await router.respond(to: HTTPRequest(.get, "/a/b/d"))) == "b")
    }

    @Test func `HEAD is answered by GET's handler, with the body left to tell the length`() async {
        let response = await Self.router().respond(to: HTTPRequest(.head, "/v1/orders/1"))
        #expect(response.status == .ok)
        #expect(response.body.length == "v1/orders/{order}".utf8.count)
    }

    @Test func `HEAD is refused like other methods where GET does not answer it`() async {
        var router = Router()
        router.on(.get, "call", answersHead: false) { _, _ in .text("done") }
        router.on(.post, "call") { _, _ in .text("done") }
        for method in [HTTPMethod.head, .options, .delete] {
            let response = await router.respond(to: HTTPRequest(method, "/call"))
            #expect(response.status == .methodNotAllowed && response.headers["Allow"] == "GET, POST", "\(method)")
        }
        #expect(await router.respond(to: HTTPRequest(.get, "/call")).status == .ok)
    }

    /// Before the path, as a proxy is asked.
    private static let absolute = ["http://localhost", "https://calls:80", "HTTP://[::1]:1", "x://", "http://æ"]

    @Test func `a request that was refused before its target was trusted has the problem fields of its path`() {
        var router = Self.router()
        router.setFieldsOfProblems(at: "calls", ["Pragma": "no-cache"])
        let error = HTTPError(.badRequest, "http.host")
        for target in ["/calls", "/calls/", "/calls/x?y=%zz", "/calls?x=%zz", "/c%61lls/%", "/calls/../.."]
            + Self.absolute.map({ $0 + "/calls?x" })
        {
            #expect(router.response(error, toTarget: target, requestID: "1").headers["Pragma"] == "no-cache", "\(target)")
        }
        for target in [
            "/", "", "*", "/call", "/callsx", "//calls", "/x/calls", "/%", "/calls%", "/x://y/calls", "calls", "a:/calls",
        ]
            + Self.absolute + Self.absolute.flatMap({ ["\($0)//calls", "\($0)/x/calls", "\($0)?/calls"] })
        {
            let response = router.response(error, toTarget: target, requestID: "1")
            #expect(response.headers["Pragma"] == nil && response.headers["Cache-Control"] == "no-store", "\(target)")
        }
    }

    @Test func `a problem whose code was retired has the code that is kept, with the old one as alias and type as before`() throws
    {
        for (old, kept) in [
            ("http.notFound", "request.not-found"), ("http.otherOrigin", "request.other-origin"),
            ("http.mediaType", "request.media-type"),
            ("http.bodyTooLarge", "request.too-large"),
            ("http.methodNotAllowed", "http.method-not-allowed"),
        ] {
            let error = HTTPError(.notFound, HTTPError.Code(old))
            #expect(error.code.identifier == kept && error.alias == old && error.type == "about:blank")
            #expect(try Self.text(error).contains("\"code\":\"\(kept)\",\"alias\":\"\(old)\""))
        }
        let respelled = HTTPError(.forbidden, "loopback.other-user")
        #expect(respelled.code.identifier == "loopback.other-user" && respelled.alias == "loopback.otherUser")
        #expect(respelled.type == "urn:carrel:problem:loopback.otherUser")
        let ours = HTTPError(.notFound, "request.not-found")
        #expect(ours.alias == nil && ours.type == "urn:carrel:problem:request.not-found")
        #expect(try !Self.text(ours).contains("alias"))
    }

    private static func text(_ error: HTTPError) throws -> String {
        guard case .bytes(let bytes) = error.response(requestID: "").body else { throw error }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func `another method is refused with the methods that are allowed`() async {
        let response = await Self.router().respond(to: HTTPRequest(.delete, "/v1/orders/1"))
        #expect(response.status == .methodNotAllowed)
        #expect(response.headers["allow"] == "GET, HEAD")
        let unknown = await Self.router().respond(to: HTTPRequest(HTTPMethod(rawValue: "BREW"), "/v1/orders/1"))
        #expect(unknown.status == .notImplemented)
    }

    @Test(arguments: [true, false]) func `logs a 503 only if it is a failure`(isFailure: Bool) async throws {
        let seen = Locked(0)
        var router = Router()
        router.on(.get, "busy") { _, _ in throw Busy(isFailure: isFailure) }
        router.unexpectedError = { _, _ in seen.withLock { $0 += 1 } }
        let response = await router.respond(to: HTTPRequest(.get, "/busy"))
        #expect(response.status == .serviceUnavailable && response.headers["Retry-After"] == "5")
        #expect(seen.withLock { $0 } == (isFailure ? 1 : 0))
    }

    @Test func `errors become problem documents`() async throws {
        let seen = Locked<[String]>([])
        var router = Self.router()
        router.unexpectedError = { error, _ in seen.withLock { $0.append("\(error)") } }
        func get(_ how: String) async throws -> (HTTPStatus, String) {
            let response = await router.respond(to: HTTPRequest(.get, "/fail/\(how)", id: "r1"))
            #expect(response.headers["content-type"] == "application/problem+json")
            return (response.status, try await Self.text(response))
        }
        let http = try await get("http")
        #expect(http.0 == .conflict)
        #expect(
            http.1 == """
                {"type":"urn:carrel:problem:order.taken","title":"Conflict","status":409,"detail":"the number is taken",\
                "code":"order.taken","number":"7","requestId":"r1"}

                """
        )
        let domain = try await get("domain")
        #expect(domain.0 == .forbidden && domain.1.contains("order.expired"))
        #expect(try await get("cancel").0 == .clientClosedRequest)
        #expect(seen.withLock { $0 } == [])
        let surprise = try await get("surprise")
        #expect(surprise.0 == .internalServerError && !surprise.1.contains("Surprise"))
        #expect(seen.withLock { $0 } == ["Surprise()"])
    }

    @Test(
        arguments: [
            ([:], 200), (["Sec-Fetch-Site": "same-origin"], 200), (["Sec-Fetch-Site": "none"], 200),
            (["Sec-Fetch-Site": "cross-site"], 403), (["Sec-Fetch-Site": "same-site"], 403),
            (["Origin": "http://localhost"], 200), (["Origin": "http://LOCALHOST:80"], 200), (["Origin": "null"], 403),
            (["Origin": "https://localhost"], 403), (["Origin": "http://localhost:8080"], 403), (["Origin": "http://evil"], 403),
            (["Content-Type": "application/json"], 200), (["Content-Type": "text/plain; charset=utf-8"], 415),
            (["Content-Type": "Application/X-WWW-Form-Urlencoded"], 415),
            (["Content-Type": "multipart/form-data; boundary=x"], 415),
        ] as [(HTTPFields, Int)]
    )
    func `a page of another origin changes no state`(headers: HTTPFields, status: Int) async {
        let response = await Self.router().respond(to: HTTPRequest(.post, "/v2/states/", headers: headers, body: [1]))
        #expect(response.status.rawValue == status)
    }

    @Test func `forms are read where a route accepts them`() async throws {
        let request = HTTPRequest(
            .post,
            "/forms",
            headers: ["Content-Type": "application/x-www-form-urlencoded"],
            body: Array("b=1&a=x+%26+y".utf8)
        )
        #expect(try await Self.text(await Self.router().respond(to: request)) == "x & y")
    }

    @Test(arguments: [
        ("/v1/hls/SECRET/SECRET/17.ts?token=SECRET", "/v1/hls/*/*/17.ts"), ("/v1/orders/new", "/v1/orders/new"),
        ("/v1/orders/SECRET", "/v1/orders/*"), ("/nowhere/SECRET", "-"), ("/items/a%20b", "/items/a%20b"),
    ])
    func `logs show no secret`(target: String, logged: String) {
        let request = HTTPRequest(.get, target)
        #expect(Self.router().match(request).loggedPath(of: request) == logged)
    }
}
