// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelHTTPClient
import CarrelJSON
import CarrelPublication
import CarrelWebReader
import CarrelTesting
import CarrelThreads
import Glibc
import Testing

/// Rights with a remaining number of characters and pages.
final class CountedRights: UserRights {
    private struct State {
        var characters: Int
        var pages: Int
        var answers: [String: Bool] = [:]
    }

    private let state: Locked<State>

    init(characters: Int, pages: Int) {
        state = Locked(State(characters: characters, pages: pages))
    }

    var charactersLeft: Int { state.withLock { $0.characters } }
    var pagesLeft: Int { state.withLock { $0.pages } }

    var canCopy: Bool { get async { charactersLeft > 0 } }
    func canCopy(_ text: String) async -> Bool { text.unicodeScalars.count <= charactersLeft }
    func copy(_ text: String, requestID: String?) async -> Bool {
        let count = text.unicodeScalars.count
        return consume(requestID) { state in
            guard count <= state.characters else { return false }
            state.characters -= count
            return true
        }
    }
    var canPrint: Bool { get async { pagesLeft > 0 } }
    func canPrint(pageCount: Int) async -> Bool { pageCount <= pagesLeft }
    func print(pageCount: Int, requestID: String?) async -> Bool {
        consume(requestID) { state in
            guard pageCount <= state.pages else { return false }
            state.pages -= pageCount
            return true
        }
    }

    private func consume(_ requestID: String?, _ take: (inout State) -> Bool) -> Bool {
        state.withLock { state in
            if let requestID, let answer = state.answers[requestID] { return answer }
            let answer = take(&state)
            if let requestID { state.answers[requestID] = answer }
            return answer
        }
    }
}

/// A protection as a test wants it.
final class StatedProtection: ContentProtectionService {
    let isRestricted: Bool
    let rights: any UserRights
    let error: (any Error)?
    let name: LocalizedString? = "Test Lock"

    init(rights: any UserRights, error: Publication.OpeningError? = nil) {
        self.rights = rights
        self.error = error
        isRestricted = error != nil
    }

    static func adding(_ protection: StatedProtection) -> Publication.Builder.Transform {
        { $0.services.set((any ContentProtectionService).self) { _ in protection } }
    }
}

@Suite("A publication server")
struct PublicationServerTests {
    private let client = HTTPClient()

    private func withServer(
        _ publication: Publication,
        _ body: (PublicationServer.Addresses) async throws -> Void
    ) async throws {
        let server = PublicationServer(publication)
        let addresses = try server.start()
        do {
            try await body(addresses)
        } catch {
            await server.stop()
            throw error
        }
        await server.stop()
        publication.close()
    }

    private func send(
        _ method: HTTPMethod = .get,
        _ url: String,
        _ headers: HTTPFields = [:],
        json: JSON? = nil
    ) async throws -> ClientResponse {
        var headers = headers
        if json != nil { headers["Content-Type"] = "application/json" }
        var request = ClientRequest(method, url, headers: headers, body: json.map { .bytes($0.write()) } ?? .none)
        request.acceptsCompression = false
        return try await client.send(request)
    }

    private func json(_ response: ClientResponse) throws -> JSON {
        let bytes = response.body
        return try JSON.parse(bytes.rawSpan)
    }

    private func book() -> TestBook {
        var book = TestBook.sentences(chapters: 2, paragraphs: 20)
        book.files["data.bin"] = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
        book.files["style.css"] = Array("p { color: red }".utf8)
        return book
    }

    @Test func `gives the manifest with a link to itself, and what the manifest links to`() async throws {
        try await withServer(try await book().open()) { addresses in
            let response = try await send(.get, addresses.publication + "manifest.json")
            #expect(response.status == .ok)
            #expect(response.headers["Content-Type"] == "application/webpub+json")
            let manifest = try json(response)
            #expect(manifest["links"]?.array?.first?["rel"]?.string == "self")
            #expect(manifest["links"]?.array?.first?["href"]?.string == addresses.publication + "manifest.json")
            for link in manifest["readingOrder"]?.array ?? [] {
                let href = try #require(link["href"]?.string)
                let chapter = try await send(.get, addresses.publication + href)
                #expect(chapter.status == .ok)
                #expect(chapter.headers["Content-Type"] == "application/xhtml+xml")
                #expect(String(decoding: chapter.body, as: UTF8.self).contains("Sentence 3 of paragraph 7"))
            }
            let positions = try await send(.get, addresses.publication + "~readium/positions")
            #expect(positions.headers["Content-Type"] == "application/vnd.readium.position-list+json")
            #expect(try json(positions)["total"]?.int ?? 0 > 5)
            #expect(try await send(.get, addresses.publication + "EPUB/none.xhtml").status == .notFound)
            #expect(try await send(.get, addresses.publication + "META-INF/container.xml").status == .ok)
        }
    }

    @Test func `is started as the manual shows`() async throws {
        let publication = try await book().open()
        let (server, manifest) = try serve(publication)
        let response = try await send(.get, manifest)
        #expect(try json(response)["metadata"]?["title"] != nil)
        await server.stop()
        publication.close()
    }

    @Test func `sends every resource without an origin of its own`() async throws {
        try await withServer(try await book().open()) { addresses in
            for path in ["manifest.json", "EPUB/chapter1.xhtml", "EPUB/data.bin", "EPUB/style.css"] {
                let fields = try await send(.get, addresses.publication + path).headers
                let policy = try #require(fields["Content-Security-Policy"])
                #expect(policy.hasPrefix("sandbox allow-scripts; default-src 'self'; "), "\(path)")
                #expect(!policy.contains("allow-same-origin") && !policy.contains("unsafe-eval"), "\(path)")
                #expect(fields["X-Content-Type-Options"] == "nosniff", "\(path)")
                #expect(fields["Referrer-Policy"] == "no-referrer", "\(path)")
            }
        }
    }

    @Test(arguments: [false, true]) func `gives ranges, one and several`(isPacked: Bool) async throws {
        let book = book()
        let data = try #require(book.files["data.bin"])
        try await withServer(try await book.open(packed: isPacked)) { addresses in
            let url = addresses.publication + "EPUB/data.bin"
            let whole = try await send(.get, url)
            #expect(whole.body == data)
            #expect(whole.headers["Accept-Ranges"] == "bytes")
            #expect(try await send(.head, url).headers["Content-Length"] == "300000")
            #expect(try await send(.head, url).body.isEmpty)
            for (field, range) in [
                ("0-0", 0..<1), ("299999-", 299_999..<300_000), ("-5", 299_995..<300_000), ("131072-262200", 131_072..<262_201),
            ] {
                let part = try await send(.get, url, ["Range": "bytes=\(field)"])
                #expect(part.status == .partialContent)
                #expect(part.headers["Content-Range"] == "bytes \(range.lowerBound)-\(range.upperBound - 1)/300000")
                #expect(part.body == Array(data[range]))
            }
            // defect 22 of a rival: several ranges were 501, and an impossible one 411
            let several = try await send(.get, url, ["Range": "bytes=0-9,1000-1009,-10"])
            #expect(several.status == .partialContent)
            let type = try #require(several.headers["Content-Type"])
            #expect(type.hasPrefix("multipart/byteranges; boundary="))
            for range in [0..<10, 1000..<1010, 299_990..<300_000] {
                let head = Array("Content-Range: bytes \(range.lowerBound)-\(range.upperBound - 1)/300000\r\n\r\n".utf8)
                #expect(several.body.firstRange(of: head + data[range]) != nil, "\(range)")
            }
            let none = try await send(.get, url, ["Range": "bytes=300000-"])
            #expect(none.status == .rangeNotSatisfiable)
            #expect(none.headers["Content-Range"] == "bytes */300000")
            for malformed in ["bytes=5-1", "bytes=a-b", "lines=1-2", "bytes="] {
                #expect(try await send(.get, url, ["Range": malformed]).body == data, "\(malformed)")
            }
        }
    }

    @Test func `says when a client has it already`() async throws {
        try await withServer(try await book().open()) { addresses in
            for path in ["manifest.json", "EPUB/data.bin"] {
                let url = addresses.publication + path
                let tag = try #require(try await send(.get, url).headers["ETag"])
                let known = try await send(.get, url, ["If-None-Match": tag])
                #expect(known.status == .notModified && known.body.isEmpty)
                #expect(known.headers["Content-Security-Policy"] != nil)
                #expect(try await send(.get, url, ["If-None-Match": "\"other\""]).status == .ok)
                #expect(try await send(.get, url, ["Range": "bytes=0-1", "If-Range": tag]).status == .partialContent)
                #expect(try await send(.get, url, ["Range": "bytes=0-1", "If-Range": "\"other\""]).status == .ok)
            }
        }
    }

    @Test func `forwards compressed entries without decompressing them`() async throws {
        let book = book()
        let data = try #require(book.files["data.bin"])
        let curl = try requirePeer("curl")
        try await withServer(try await book.open(packed: true)) { addresses in
            let url = addresses.publication + "EPUB/data.bin"
            let packed = try await send(.get, url, ["Accept-Encoding": "gzip"])
            #expect(packed.headers["Content-Encoding"] == "gzip")
            #expect(packed.headers["Vary"] == "Accept-Encoding")
            #expect(packed.body.starts(with: [0x1f, 0x8b, 8]) && packed.body.count < data.count)
            #expect(packed.headers["Content-Length"] == String(packed.body.count))
            // an implementation that is not ours unpacks it, and checks its checksum
            let plain = try await runProcess([curl, "-sS", "--compressed", "-H", "Accept-Encoding: gzip", url])
            #expect(plain.status == .exited(0) && plain.output == data)
            let unpacked = try await runProcess(["gzip", "-dc"], input: packed.body)
            #expect(unpacked.status == .exited(0) && unpacked.output == data)
            let tag = try #require(packed.headers["ETag"])
            #expect(try await send(.get, url).headers["ETag"] != tag)
            #expect(try await send(.get, url, ["Accept-Encoding": "gzip", "If-None-Match": tag]).status == .notModified)
            #expect(try await send(.get, url, ["Accept-Encoding": "gzip;q=0"]).headers["Content-Encoding"] == nil)
            let part = try await send(.get, url, ["Accept-Encoding": "gzip", "Range": "bytes=10-19"])
            #expect(part.headers["Content-Encoding"] == nil && part.body == Array(data[10..<20]))
        }
    }

    @Test func `has unguessable addresses, each token for its own routes`() async throws {
        try await withServer(try await book().open()) { addresses in
            let token = try #require(addresses.publication.split(separator: "/").last)
            let other = try #require(addresses.protection.split(separator: "/").last)
            #expect(token.utf8.count == 43 && other.utf8.count == 43 && token != other)
            let host = "http://" + (addresses.publication.split(separator: "/")[1])
            let guesses = [
                "/publication/\(other)/manifest.json", "/publication/\(token.dropLast())/manifest.json",
                "/publication//manifest.json", "/publication/manifest.json", "/publication/", "/publication",
                "/protection/\(token)/~readium/content-protection", "/protection/\(token)/~readium/rights/copy?text=a",
                "/protection/\(token)/none", "/protection//~readium/content-protection",
                "/publication/\(other)/EPUB/chapter1.xhtml", "/publication/\(other)/none", "/", "/manifest.json",
                "/none/\(token)/x",
            ]
            for guess in guesses {
                // absent or wrong, on a route or outside all routes: the response is the same
                let response = try await send(.get, host + guess)
                #expect(response.status == .forbidden, "\(guess)")
                #expect(response.headers["Content-Type"] == "application/problem+json", "\(guess)")
                var problem = try json(response).object ?? [:]
                problem["requestId"] = nil
                #expect(
                    JSON.object(problem) == [
                        "type": "urn:carrel:problem:reader.token", "title": "Forbidden", "status": 403, "code": "reader.token",
                        "detail": "only who was given the address of this publication may use it",
                    ],
                    "\(guess)"
                )
            }
            // a client with a token learns which resources exist
            for path in [
                "publication/\(token)/none", "publication/\(token)/~readium/rights", "protection/\(other)/none",
                "protection/\(other)/~readium/none",
            ] {
                let response = try await send(.get, "\(host)/\(path)")
                #expect(response.status == .notFound, "\(path)")
                #expect(response.headers["Content-Type"] == "application/problem+json", "\(path)")
            }
            for path in ["..%2f..%2fetc/passwd", "%2e%2e/%2e%2e/etc/passwd", "EPUB/..%2f..%2fx", "EPUB/%00"] {
                let status = try await send(.get, addresses.publication + path).status
                #expect(status == .badRequest || status == .notFound, "\(path)")
            }
            for foreign in ["evil.example", "evil.example:80", "10.0.0.1"] {
                let answer = try await send(.get, addresses.publication + "manifest.json", ["Host": foreign])
                #expect(answer.status == .misdirectedRequest, "\(foreign)")
            }
        }
    }

    @Test func `answers who has no token the same to every method`() async throws {
        try await withServer(try await book().open()) { addresses in
            let content = try #require(addresses.publication.split(separator: "/").last)
            let host = "http://" + (addresses.publication.split(separator: "/")[1])
            let form = ["Content-Type": "application/x-www-form-urlencoded"] as HTTPFields
            let (page, rights) = ("manifest.json", "~readium/rights/copy")
            for method in [.post, .put, .delete, .options, .head, HTTPMethod(rawValue: "BREW")] as [HTTPMethod] {
                for path in ["publication/\(content.dropLast())/\(page)", "protection/\(content)/\(rights)", "none", ""] {
                    let answer = try await send(method, "\(host)/\(path)", form)
                    #expect(answer.status == .forbidden, "\(method) \(path)")
                    #expect(answer.headers["Allow"] == nil, "\(method) \(path)")
                }
            }
            // who has a token learns why
            let refused = try await send(.post, addresses.publication + page)
            #expect(refused.status == .methodNotAllowed && refused.headers["Allow"] == "GET, HEAD")
            #expect(try await send(.post, addresses.protection + rights, form).status == .unsupportedMediaType)
            #expect(try await send(HTTPMethod(rawValue: "BREW"), addresses.publication + page).status == .notImplemented)
        }
    }

    @Test func `refuses programs of other users`() async throws {
        guard geteuid() == 0 else { try Test.cancel("only root can be another user: nothing to test with") }
        let (setpriv, curl) = (try requirePeer("setpriv"), try requirePeer("curl"))
        try await withServer(try await book().open()) { addresses in
            for (request, answer) in [
                ([addresses.publication + "manifest.json"], "200"),
                ([addresses.protection + "~readium/content-protection"], "200"),
                ([addresses.protection + "none"], "404"), ([addresses.publication + "none"], "404"),
                (["-X", "DELETE", addresses.publication + "manifest.json"], "405"),
                (["-d", "text=a", addresses.protection + "~readium/rights/copy"], "415"),
            ] {
                func status(_ prefix: [String]) async throws -> String {
                    let command = prefix + [curl, "-sS", "-o", "/dev/null", "-w", "%{http_code}"] + request
                    return String(decoding: try await runProcess(command).output, as: UTF8.self)
                }
                let (own, other) = (
                    try await status([]), try await status([setpriv, "--reuid=65534", "--regid=65534", "--clear-groups"])
                )
                #expect(own == answer && other == "403", "\(request)")
            }
        }
    }

    @Test func `says what protects a publication`() async throws {
        let free = try await book().open()
        try await withServer(free) { addresses in
            let response = try await send(.get, addresses.protection + "~readium/content-protection")
            #expect(response.headers["Content-Type"] == "application/vnd.readium.content-protection+json")
            #expect(response.headers["Cache-Control"] == "no-store")
            #expect(try json(response) == ["isRestricted": false, "rights": ["canCopy": true, "canPrint": true]])
        }
        let protection = StatedProtection(rights: CountedRights(characters: 10, pages: 0))
        try await withServer(try await book().open(StatedProtection.adding(protection))) { addresses in
            let state = try json(try await send(.get, addresses.protection + "~readium/content-protection"))
            #expect(
                state == ["isRestricted": false, "name": ["en": "Test Lock"], "rights": ["canCopy": true, "canPrint": false]]
            )
        }
    }

    @Test func `gives of a restricted publication its manifest, its cover and the reason`() async throws {
        var book = book()
        book.files["cover.svg"] = Array("<svg xmlns=\"http://www.w3.org/2000/svg\"/>".utf8)
        let protection = StatedProtection(
            rights: AllRestrictedUserRights(),
            error: Publication.OpeningError(.forbidden, "the loan is over")
        )
        let publication = try await book.open { builder in
            StatedProtection.adding(protection)(&builder)
            for index in builder.manifest.resources.indices where builder.manifest.resources[index].href.hasSuffix("cover.svg") {
                builder.manifest.resources[index].relations = ["cover"]
            }
        }
        try await withServer(publication) { addresses in
            #expect(try await send(.get, addresses.publication + "manifest.json").status == .ok)
            #expect(try await send(.get, addresses.publication + "EPUB/cover.svg").status == .ok)
            let cover = try await send(.get, addresses.publication + "~readium/cover")
            #expect(cover.status == .ok && cover.headers["Content-Type"] == "image/svg+xml")
            for path in ["EPUB/chapter1.xhtml", "EPUB/data.bin", "~readium/positions"] {
                let refused = try await send(.get, addresses.publication + path)
                #expect(refused.status == .forbidden, "\(path)")
                #expect(try json(refused)["detail"]?.string == "the loan is over")
            }
            let state = try json(try await send(.get, addresses.protection + "~readium/content-protection"))
            #expect(state["isRestricted"]?.bool == true)
            #expect(state["error"]?["en"]?.string == "the loan is over")
            #expect(try json(try await send(.get, addresses.publication + "~readium/content-protection")) == state)
            #expect(try await send(.get, addresses.protection + "~readium/rights/copy?text=a").status == .forbidden)
            #expect(try await send(.get, addresses.protection + "~readium/rights/print?pageCount=1").status == .forbidden)
        }
    }

    @Test func `says below the publication, too, what may be done with it, and uses nothing up there`() async throws {
        let rights = CountedRights(characters: 10, pages: 3)
        try await withServer(try await book().open(StatedProtection.adding(StatedProtection(rights: rights)))) { addresses in
            let base = addresses.publication
            let manifest = try json(try await send(.get, base + "manifest.json"))
            let links = (manifest["links"]?.array ?? []).filter { $0["href"]?.string?.hasPrefix("~readium/") == true }
            #expect(
                links == [
                    ["href": "~readium/content-protection", "type": "application/vnd.readium.content-protection+json"],
                    [
                        "href": "~readium/rights/copy{?text,peek}", "templated": true,
                        "type": "application/vnd.readium.rights.copy+json",
                    ],
                    [
                        "href": "~readium/rights/print{?pageCount,peek}", "templated": true,
                        "type": "application/vnd.readium.rights.print+json",
                    ],
                ]
            )
            let state = try await send(.get, base + "~readium/content-protection")
            #expect(state.headers["Content-Type"] == "application/vnd.readium.content-protection+json")
            #expect(state.headers["Access-Control-Allow-Origin"] == "*")
            #expect(try json(state)["rights"] == ["canCopy": true, "canPrint": true])
            for (query, status) in [
                ("copy?text=abcdefghij&peek=true", HTTPStatus.ok), ("copy?text=abcdefghijk&peek=true", .forbidden),
                ("print?pageCount=3&peek=true", .ok), ("print?pageCount=4&peek=true", .forbidden),
                ("copy?peek=true", .badRequest), ("copy?text=a&peek=yes", .badRequest),
            ] {
                let response = try await send(.get, base + "~readium/rights/" + query)
                #expect(response.status == status, "\(query)")
            }
            for query in ["copy?text=a", "copy?text=a&peek=false", "print?pageCount=1"] {
                let refused = try await send(.get, base + "~readium/rights/" + query)
                let code = try json(refused)["code"]?.string
                #expect(refused.status == .forbidden && code == "reader.peek", "\(query)")
            }
            #expect(rights.charactersLeft == 10)
        }
        try await withServer(try await book().open()) { addresses in
            let manifest = try json(try await send(.get, addresses.publication + "manifest.json"))
            #expect(manifest["links"]?.array?.contains { $0["href"]?.string?.hasPrefix("~readium/") == true } == false)
        }
    }

    @Test func `consumes rights by GET as the proposal has it, and nothing when it only peeks`() async throws {
        let rights = CountedRights(characters: 10, pages: 3)
        try await withServer(try await book().open(StatedProtection.adding(StatedProtection(rights: rights)))) { addresses in
            let base = addresses.protection + "~readium/rights/"
            let peek = try await send(.get, base + "copy?text=h%C3%A9llo%20%E2%82%AC&peek=true")
            #expect(peek.status == .ok && rights.charactersLeft == 10)
            #expect(peek.headers["Content-Type"] == "application/vnd.readium.rights.copy+json")
            #expect(peek.headers["Cache-Control"] == "no-store")
            // seven scalars, whatever their bytes
            #expect(try await send(.get, base + "copy?text=h%C3%A9llo%20%E2%82%AC").status == .ok)
            #expect(rights.charactersLeft == 3)
            #expect(try await send(.get, base + "copy?text=abcd&peek=false").status == .forbidden)
            #expect(try await send(.get, base + "copy?text=abcd&peek=true").status == .forbidden)
            #expect(rights.charactersLeft == 3)
            #expect(try await send(.get, base + "print?pageCount=3&peek=true").status == .ok)
            let printed = try await send(.get, base + "print?pageCount=2")
            #expect(printed.status == .ok && rights.pagesLeft == 1)
            #expect(printed.headers["Content-Type"] == "application/vnd.readium.rights.print+json")
            #expect(printed.headers["Cache-Control"] == "no-store")
            #expect(try await send(.get, base + "print?pageCount=2").status == .forbidden)
            for bad in [
                "copy", "copy?peek=true", "copy?text=a&peek=maybe", "print", "print?pageCount=0", "print?pageCount=-1",
                "print?pageCount=x",
            ] {
                let answer = try await send(.get, base + bad)
                #expect(answer.status == .badRequest, "\(bad)")
                #expect(answer.headers["Content-Type"] == "application/problem+json")
            }
            #expect(rights.charactersLeft == 3 && rights.pagesLeft == 1)
        }
    }

    @Test func `consumes by POST once for each request id`() async throws {
        let rights = CountedRights(characters: 50_000, pages: 3)
        try await withServer(try await book().open(StatedProtection.adding(StatedProtection(rights: rights)))) { addresses in
            let base = addresses.protection + "~readium/rights/"
            let long = String(repeating: "x", count: 40_000)
            for _ in 1...3 {
                #expect(try await send(.post, base + "copy", json: ["text": .string(long), "requestId": "one"]).status == .ok)
            }
            #expect(rights.charactersLeft == 10_000)
            #expect(try await send(.post, base + "copy", json: ["text": .string(long), "requestId": "two"]).status == .forbidden)
            #expect(try await send(.post, base + "copy", json: ["text": "abc", "peek": true]).status == .ok)
            #expect(rights.charactersLeft == 10_000)
            #expect(try await send(.post, base + "print", json: ["pageCount": 2, "requestId": "three"]).status == .ok)
            #expect(rights.pagesLeft == 1)
            #expect(try await send(.post, base + "print", json: [1]).status == .badRequest)
            #expect(try await send(.post, base + "print", json: ["pageCount": 1.5]).status == .badRequest)
            // a page of another origin cannot, should it know the address; nor can a document without an origin
            for origin in ["http://evil.example", "null"] {
                let answer = try await send(.post, base + "copy", ["Origin": origin], json: ["text": "abc"])
                #expect(answer.status == .forbidden)
            }
            for site in ["cross-site", "same-site"] {
                #expect(try await send(.get, base + "copy?text=abc", ["Sec-Fetch-Site": site]).status == .forbidden)
            }
            #expect(rights.charactersLeft == 10_000)
        }
    }
}
