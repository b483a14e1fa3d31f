// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelHTTPClient
import CarrelHTTPServer
import CarrelReader
import CarrelSubscription
import CarrelTesting
import CarrelThreads
import CarrelUpstream
import Testing

@testable import CarrelPublication

@Suite("The protection of the manual that signs in")
struct SignInProtectionTests {
    /// Keeps a subscription as long as the test.
    private final class MemoryStore: SubscriptionStore {
        private let kept = Locked<[UInt8]?>(nil)

        func load() -> [UInt8]? { kept.withLock { $0 } }
        func save(_ bytes: [UInt8]?) { kept.withLock { $0 = bytes } }
    }

    /// A server with a public manifest, and with chapters and a whole book for clients with the token.
    private final class Library: Sendable {
        let base: String
        /// The `Authorization` of every request that was not a call, or "none".
        let seen = Locked<[String]>([])
        /// The token that the server accepts.
        let token = Locked("T1")
        private let server: HTTPServer

        init(redirectingTo other: String? = nil) throws {
            var router = Router()
            let (seen, token) = (seen, token)
            let answer: @Sendable ([UInt8]) -> HTTPResponse = { .bytes($0, type: "text/xml") }
            router.on(.post, "sign_in{/}", acceptsForms: true, acceptsOtherOrigins: true) { request, _ in
                let text = String(decoding: try await request.body.collect(upTo: 65_536), as: UTF8.self)
                return answer(
                    text.contains("sesame")
                        ? SignInAnswer.token("T1").write() : SignInAnswer.refused(status: "notrecognised", message: nil).write()
                )
            }
            for call in ["verify_subscription", "renew_token"] {
                router.on(.post, "\(call){/}", acceptsForms: true, acceptsOtherOrigins: true) { _, _ in
                    answer(SubscriptionAnswer(.active).write())
                }
            }
            router.on(.get, "{name}") { request, parameters in
                let sent = request.headers["Authorization"]
                seen.withLock { $0.append("\(parameters["name"]) \(sent ?? "none")") }
                let manifest = #"""
                    {"metadata": {"title": "A tale"}, "readingOrder": [{"href": "one.xhtml", "type": "application/xhtml+xml"}]}
                    """#
                let file: [UInt8]
                switch parameters["name"] {
                case "manifest.json": file = Array(manifest.utf8)
                case "away.xhtml":
                    return HTTPResponse(.found, headers: ["Location": "\(other ?? "")/one.xhtml"])
                default:
                    guard sent == "Bearer " + token.withLock({ $0 }) else { return HTTPResponse(.unauthorized) }
                    file = parameters["name"] == "closed.json" ? Array(manifest.utf8) : Array("<p>words</p>".utf8)
                }
                return .serving(Representation(file, contentType: "application/webpub+json", etag: "\"1\""), for: request)
            }
            server = HTTPServer(configuration: ServerConfiguration(), router: router)
            base = "http://127.0.0.1:\(try #require(try server.start().first?.port))"
        }

        func stop() async { await server.shutdown(grace: .zero) }
    }

    private func protection(_ library: Library) throws -> SignInProtection {
        let client = HTTPClient()
        let calls = try SubscriptionCalls(SubscriptionEndpoints(base: library.base), client: client)
        let subscription = try SubscriptionClient(name: "library", calls: calls, store: MemoryStore())
        return SignInProtection(server: library.base, account: "ada", subscription: subscription, client: client)
    }

    @Test func `asks for the password when that is allowed, and sends the token along`() async throws {
        let library = try Library()
        let protection = try protection(library)
        let answers = Locked(["wrong", "sesame"])
        let asked = Locked<[String]>([])
        let streamer = Streamer(
            contentProtections: [protection],
            onAskCredentials: { dialog, _ in
                asked.withLock { $0.append(dialog.message.description) }
                return answers.withLock { $0.isEmpty ? nil : $0.removeFirst() }
            }
        )
        let asset = PublicationAsset(url: "\(library.base)/manifest.json")
        // without asking, the shelf has it, closed
        let shelved = try await streamer.open(asset: asset, allowUserInteraction: false)
        #expect(shelved.metadata.title == "A tale")
        #expect(shelved.isRestricted)
        #expect((shelved.protectionError as? Publication.OpeningError)?.code == .credentialsRequired)
        #expect(shelved.protectionName == "Sign-in")
        await #expect(throws: ResourceError(.forbidden, "")) { try await shelved.get("one.xhtml").read(0..<9) }
        #expect(asked.withLock { $0.isEmpty })
        #expect(library.seen.withLock { $0.allSatisfy { $0 == "manifest.json none" } })

        let book = try await streamer.open(asset: asset, allowUserInteraction: true)
        #expect(asked.withLock { $0.count } == 2)
        #expect(!book.isRestricted)
        let words = try await book.get("one.xhtml").read(upTo: 100)
        #expect(words == Array("<p>words</p>".utf8))
        // signed in: no further prompt, and a background import opens immediately
        let again = try await streamer.open(asset: asset, allowUserInteraction: false)
        #expect(!again.isRestricted)
        #expect(asked.withLock { $0.count } == 2)
        await library.stop()
    }

    @Test func `of a publication that is closed altogether says so, or opens all of it`() async throws {
        let library = try Library()
        let asset = PublicationAsset(url: "\(library.base)/closed.json")
        await #expect(throws: Publication.OpeningError(.forbidden, "")) {
            try await Streamer(onAskCredentials: nil).open(asset: asset, allowUserInteraction: false)
        }
        let streamer = Streamer(contentProtections: [try protection(library)], onAskCredentials: nil)
        for password in [nil, "wrong"] {
            await #expect(throws: Publication.OpeningError(.credentialsRequired, "")) {
                try await streamer.open(asset: asset, allowUserInteraction: false, credentials: password)
            }
        }
        let book = try await streamer.open(asset: asset, allowUserInteraction: false, credentials: "sesame")
        #expect(book.metadata.title == "A tale")
        #expect(book.format.conforms(to: .rwpm))
        let words = try await book.get("one.xhtml").read(upTo: 100)
        #expect(words == Array("<p>words</p>".utf8))
        await library.stop()
    }

    @Test func `of a token that is refused leaves the publication restricted, with the reason`() async throws {
        let library = try Library()
        let streamer = Streamer(contentProtections: [try protection(library)], onAskCredentials: nil)
        let asset = PublicationAsset(url: "\(library.base)/manifest.json")
        let book = try await streamer.open(asset: asset, allowUserInteraction: false, credentials: "sesame")
        library.token.withLock { $0 = "T2" }
        await #expect(throws: ResourceError(.forbidden, "")) { try await book.get("one.xhtml").read(0..<9) }
        let closed = PublicationAsset(url: "\(library.base)/closed.json")
        await #expect(throws: Publication.OpeningError(.forbidden, "")) {
            try await streamer.open(asset: closed, allowUserInteraction: false)
        }
        await library.stop()
    }

    @Test func `keeps the token from every other origin, across redirects too`() async throws {
        let other = try Library()
        let library = try Library(redirectingTo: other.base)
        let protection = try protection(library)
        let streamer = Streamer(contentProtections: [protection], onAskCredentials: nil)
        let asset = PublicationAsset(url: "\(library.base)/manifest.json")
        let book = try await streamer.open(asset: asset, allowUserInteraction: false, credentials: "sesame")
        await #expect(throws: ResourceError(.forbidden, "")) { try await book.get("away.xhtml").read(0..<9) }
        await #expect(throws: ResourceError(.forbidden, "")) { try await book.get("\(other.base)/one.xhtml").read(0..<9) }
        #expect(other.seen.withLock { !$0.isEmpty && $0.allSatisfy { $0 == "one.xhtml none" } })
        #expect(library.seen.withLock { $0.contains("away.xhtml Bearer T1") })
        // another scheme, port or spelling of the host is another origin: not its own
        let host = library.base.dropFirst("http://".count)
        for url in ["https://\(host)/manifest.json", "http://ada@\(host)/manifest.json", "\(other.base)/manifest.json"] {
            let answer = try await protection.open(
                PublicationAsset(url: url),
                fetcher: SingleResourceFetcher(BytesResource(Link(href: "a"), [])),
                allowUserInteraction: false,
                credentials: nil,
                sender: nil,
                onAskCredentials: nil
            )
            #expect(answer == nil)
        }
        await library.stop()
        await other.stop()
    }
}
