// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelHTTPClient
import CarrelHTTPServer
import CarrelHome
import CarrelPasswordHash
import CarrelReader
import CarrelServer
import CarrelStore
import CarrelSubscription
import CarrelTesting
import CarrelUpstream
import Testing

/// The client and the real service, with users for every case that an app can meet.
struct `The canned users and a subscription client` {
    /// Runs `body` with a client of the real service.
    private func withClient(form: Bool, _ body: (SubscriptionClient) async throws -> Void) async throws {
        let directory = TemporaryDirectory()
        var settings = CarrelService.Settings()
        settings.subscription.hasCannedUsers = true
        settings.passwordCost = .init(memory: 64, passes: 1)
        let service = try await CarrelService.open(
            try Home(at: directory.path),
            missing: .create,
            settings: settings,
            clock: ManualClock(Instant(milliseconds: 1_800_000_000_000))
        )
        var configuration = ServerConfiguration()
        configuration.workers = 1
        let server = HTTPServer(configuration: configuration, router: service.router)
        let port = try #require(try server.start().first?.port)
        var endpoints = SubscriptionEndpoints(base: "http://127.0.0.1:\(port)")
        endpoints.usesForm = form
        let calls = try SubscriptionCalls(endpoints, client: HTTPClient())
        try await body(SubscriptionClient(name: "carrel", calls: calls, store: MemoryStore(), device: "test"))
        await server.shutdown(grace: .seconds(1))
        await service.database.close()
    }

    private static let first = "com.pugpig.edition0001"
    private static let second = "com.pugpig.edition0002"

    @Test(arguments: [true, false])
    func `understand each other`(form: Bool) async throws {
        try await withClient(form: form) { client in
            /// Signs in, and says: the state, what is claimed, and what credentials come to for two editions.
            func story(_ user: String) async throws -> String {
                let state: String
                do {
                    switch try await client.signIn(name: user, password: "pan") {
                    case .updated(let known): state = known.answer.state.rawValue
                    case .kept(let known, let error):
                        state = "kept \(known?.answer.state.rawValue ?? "nothing") (\(error.status ?? 0) \(error.code))"
                    }
                } catch {
                    return "\(error.code) \(error.status ?? "") \(error.upstream?.status ?? 0)"
                }
                var words = [state]
                for product in [Self.first, Self.second] {
                    words.append(await client.claims(product) ? "claimed" : "unclaimed")
                    do throws(ReaderError) {
                        words.append(try await client.credentials(for: product).headers.isEmpty ? "empty" : "granted")
                    } catch {
                        words.append(error.code == .refused ? error.status ?? "no status" : "\(error.upstream?.status ?? 0)")
                    }
                }
                try await client.signOut()
                return words.joined(separator: " ")
            }
            let all = "claimed granted claimed granted"
            let denied = "unclaimed notentitled unclaimed notentitled"
            #expect(try await story("activeall") == "active \(all)")
            #expect(try await story("activenone") == "active \(denied)")
            #expect(try await story("activesome") == "active claimed granted unclaimed notentitled")
            #expect(try await story("lapsedall") == "inactive \(denied)")
            #expect(try await story("lapsedsome") == "inactive claimed granted unclaimed notentitled")
            #expect(try await story("lapsednone") == "inactive \(denied)")
            #expect(try await story("flipall") == "inactive \(denied)")
            #expect(try await story("yesbyproxy") == "active claimed notentitled claimed notentitled")
            #expect(try await story("longjson") == "active \(all)")
            #expect(try await story("credserror") == "active claimed no status claimed no status")
            #expect(try await story("expiredtoken") == "active \(all)")
            #expect(
                try await story("alwaysstaletoken") == "stale unclaimed notrecognised unclaimed notrecognised"
            )
            #expect(try await story("blockedtoken") == "stale unclaimed notrecognised unclaimed notrecognised")
            #expect(try await story("rubbish") == "reader.refused notrecognised 0")
            #expect(try await story("peter") == "active \(all)")
            #expect(try await story("500-200-200") == "reader.unavailable  500")
            #expect(try await story("000-200-200") == "reader.unavailable  0")
            #expect(try await story("200-500-200") == "kept nothing (500 upstream.status) unclaimed granted unclaimed granted")
            #expect(try await story("200-000-200") == "kept nothing (0 upstream.answer) unclaimed granted unclaimed granted")
            #expect(try await story("200-200-500") == "active claimed 500 claimed 500")
            _ = try await client.signIn(name: "activeglobal", password: "")
            #expect(await client.feedAuthorization?.hasPrefix("Basic ") == true)
        }
    }

    @Test func `are asked as one of several providers`() async throws {
        try await withClient(form: true) { first in
            try await withClient(form: true) { second in
                let providers = SubscriptionProviders([first, second])
                // neither knows `rubbish`; if the first provider recognizes a user, the second gets no request
                await #expect(throws: ReaderError.self) { try await providers.signIn(name: "rubbish", password: "") }
                #expect(try await providers.signIn(name: "activesome", password: "").client === first)
                _ = try await second.signIn(name: "activeall", password: "")
                let (own, other) = (await providers.provider(for: Self.first), await providers.provider(for: Self.second))
                #expect(own === first && other === second)
                for product in [Self.first, Self.second] {
                    #expect(try await providers.credentials(for: product).headers["Authorization"]?.hasPrefix("Basic ") == true)
                }
                // the last provider refuses names that none claims
                _ = try await second.signIn(name: "lapsednone", password: "")
                await providers.refresh()
                let refusal = await #expect(throws: ReaderError.self) { try await providers.credentials(for: Self.second) }
                #expect(refusal?.status == "notentitled")
                #expect(try await providers.credentials(for: Self.first).headers.isEmpty == false)
            }
        }
    }
}
