// SPDX-License-Identifier: Apache-2.0

import CarrelCrypto
import CarrelVault
import CarrelBytes
import CarrelHTTP
import CarrelReader
import CarrelSubscription
import CarrelTesting
import CarrelThreads
import CarrelUpstream
import Testing

struct `A subscription client` {
    private let clock = ManualClock(Instant(milliseconds: 1_800_000_000_000))

    private func client(
        _ provider: ScriptedProvider,
        store: any SubscriptionStore = MemoryStore(),
        device: String? = nil,
        _ change: (inout SubscriptionEndpoints) -> Void = { _ in }
    ) throws -> SubscriptionClient {
        try SubscriptionClient(name: "test", calls: try provider.calls(change), store: store, device: device, clock: clock)
    }

    private static let active = SubscriptionAnswer(.active, message: "Gold", categories: [.init(scheme: "a", term: "b")])

    private static func xml(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    /// A provider with one token, whose answers can be replaced.
    private static func provider(
        _ answers: [String: (Int, String)] = [:]
    ) throws -> ScriptedProvider {
        try ScriptedProvider { call, query in
            if let answer = answers[call] { return answer }
            switch call {
            case "sign_in":
                return (200, xml(SignInAnswer.token("T", globalAuthPassword: "G").write()))
            case "verify_subscription":
                return (200, xml(active.write()))
            case "edition_credentials":
                let headers = [CredentialsAnswer.Header(name: "X-Edge", value: "V"), .init(name: "X:Bad", value: "W")]
                return (200, xml(CredentialsAnswer.granted(userID: "U", password: "P", headers: headers).write()))
            default: return (200, "")
            }
        }
    }

    @Test func `signs in, verifies, gets credentials and signs out`() async throws {
        let provider = try Self.provider()
        let store = MemoryStore()
        let client = try client(provider, store: store, device: "D")
        let state = SubscriptionState(Self.active, verifiedAt: clock.now)
        #expect(try await client.signIn(name: "a&b", password: "p q+r") == .updated(state))
        #expect(await client.isSignedIn)
        #expect(await client.state == state)
        #expect(await client.feedAuthorization == "Basic VDpH")
        let access = try await client.credentials(for: "x/y z")
        #expect(access.headers["Authorization"] == "Basic VTpQ")
        #expect(access.headers["X-Edge"] == "V")
        #expect(access.headers.count == 2)
        #expect(!"\(access)".contains("VTpQ"))
        try await client.signOut()
        #expect(await !client.isSignedIn)
        #expect(store.bytes == nil)
        #expect(
            provider.questions() == [
                .init(call: "sign_in", method: "POST", parameters: ["username=a&b", "password=p q+r", "uuid=D"]),
                .init(call: "verify_subscription", method: "POST", parameters: ["token=T"]),
                .init(call: "edition_credentials", method: "POST", parameters: ["token=T", "product_id=x/y z"]),
                .init(call: "sign_out", method: "POST", parameters: ["token=T"]),
            ]
        )
        await #expect(throws: ReaderError.self) { try await client.refresh() }
        await #expect(throws: ReaderError.self) { try await client.credentials(for: "x") }
        await provider.stop()
    }

    @Test func `notifies the provider when another user signs in, and when stored data cannot be removed`() async throws {
        let tokens = Locked(["one", "two"])
        let provider = try ScriptedProvider { call, _ in
            switch call {
            case "sign_in": (200, Self.xml(SignInAnswer.token(tokens.withLock { $0.removeFirst() }).write()))
            case "verify_subscription": (200, Self.xml(Self.active.write()))
            default: (200, "")
            }
        }
        let client = try client(provider, store: StickyStore())
        for name in ["a", "b"] { _ = try await client.signIn(name: name, password: "p") }
        let error = await #expect(throws: ReaderError.self) { try await client.signOut() }
        #expect(error?.code == .store)
        #expect(await !client.isSignedIn)
        let left = provider.questions().filter { $0.call == "sign_out" }.flatMap(\.parameters)
        #expect(left == ["token=one", "token=two"])
        await provider.stop()
    }

    @Test func `answers while the disk takes its time`() async throws {
        let provider = try Self.provider()
        let store = SlowStore()
        let client = try client(provider, store: store)
        let signing = Task { try await client.signIn(name: "a", password: "b") }
        try await store.began()
        #expect(await client.isSignedIn)
        store.go()
        _ = try await signing.value
        #expect(!store.wasLate, "the client was busy until the disk was done")
        await provider.stop()
    }

    @Test func `reads nothing from an invalid file`() {
        let directory = TemporaryDirectory()
        let store = FileSubscriptionStore(path: directory.path)
        #expect(throws: ReaderError.self) { try store.load() }
    }

    @Test func `asks by the method, addresses and names that the provider wants`() async throws {
        let provider = try Self.provider()
        let client = try client(provider) {
            $0.usesForm = false
            $0.names = [.username: "email", .token: "key"]
            $0.verify = provider.base + "/verify?client=5"
            $0.credentials = provider.base + "/creds?t={token}&p={product_id}&v=1"
            $0.signOut = nil
        }
        await #expect(throws: ReaderError.self) { try await client.credentials(for: "x") }
        _ = try await client.signIn(name: "a", password: "b")
        _ = try? await client.credentials(for: "é&")
        try await client.signOut()
        #expect(
            provider.questions() == [
                .init(call: "sign_in", method: "GET", parameters: ["email=a", "password=b"]),
                .init(call: "verify", method: "GET", parameters: ["client=5", "key=T"]),
                .init(call: "creds", method: "GET", parameters: ["t=T", "p=é&", "v=1"]),
            ]
        )
        let form = try self.client(provider) { $0.signIn = provider.base + "/login?u={username}&w={password}&fixed=1" }
        _ = try? await form.signIn(name: "a", password: "b")
        #expect(provider.questions() == [.init(call: "login", method: "POST", parameters: ["u=a", "w=b", "fixed=1"])])
        await provider.stop()
    }

    @Test func `keeps the token and the last answer, never what was typed`() async throws {
        let directory = TemporaryDirectory()
        let provider = try Self.provider()
        let path = directory.file("subscription")
        let store = FileSubscriptionStore(path: path)
        _ = try await client(provider, store: store).signIn(name: "somebody", password: "swordfish")
        let kept = String(decoding: try #require(directory.read("subscription")), as: UTF8.self)
        #expect(kept.contains("\"T\""))
        #expect(!kept.contains("somebody") && !kept.contains("swordfish"))
        let again = try client(provider, store: store)
        #expect(await again.isSignedIn)
        #expect(await again.state == SubscriptionState(Self.active, verifiedAt: clock.now))
        #expect(await again.claims("x"))
        try await again.signOut()
        #expect(directory.read("subscription") == nil)
        _ = directory.write("subscription", "{\"version\": 2}")
        #expect(throws: ReaderError.self) { try client(provider, store: store) }
        await provider.stop()
    }

    @Test func `keeps the token sealed by a vault, and takes over a file in the clear`() async throws {
        let directory = TemporaryDirectory()
        let provider = try Self.provider()
        let path = directory.file("subscription")
        _ = try await client(provider, store: FileSubscriptionStore(path: path)).signIn(name: "somebody", password: "swordfish")
        let clear = try #require(directory.read("subscription"))
        let cost = try Scrypt(cost: 1024, blockSize: 8, parallelism: 1)
        let vault = try await Vault.file(folder: directory.file("vault"), passphrase: Secret([1]), create: true, scrypt: cost)
        let store = try await FileSubscriptionStore(path: path, sealedBy: vault)
        let sealed = try #require(directory.read("subscription"))
        #expect(
            sealed.starts(with: Array("carrel sealed file 1\n".utf8))
                && !String(decoding: sealed, as: UTF8.self).contains("\"T\"")
        )
        #expect(try store.load() == clear)
        let again = try await FileSubscriptionStore(path: path, sealedBy: vault)
        #expect(await (try client(provider, store: again)).isSignedIn)
        #expect(throws: ReaderError(.store, "")) { try FileSubscriptionStore(path: path).load() }
        #expect(throws: ReaderError(.store, "")) { try FileSubscriptionStore(path: path).save([1]) }
        // two of one new file have one key
        let fresh = directory.file("fresh")
        let (one, two) = (
            try await FileSubscriptionStore(path: fresh, sealedBy: vault),
            try await FileSubscriptionStore(path: fresh, sealedBy: vault)
        )
        try one.save([1])
        #expect(try two.load() == [1])
        try two.save([2])
        #expect(try one.load() == [2])
        _ = directory.write("fresh", "{}")
        #expect(throws: ReaderError(.store, "")) { try one.load() }
        let other = try await Vault.file(folder: directory.file("other"), passphrase: Secret([1]), create: true, scrypt: cost)
        await #expect(throws: ReaderError(.store, "")) { try await FileSubscriptionStore(path: path, sealedBy: other) }
        #expect(directory.read("subscription") == sealed)
        for place in [25, sealed.count / 2, sealed.count - 1] {
            var altered = sealed
            altered[place] ^= 1
            _ = directory.write("subscription", altered)
            #expect(throws: ReaderError(.store, "")) { try again.load() }
        }
        _ = directory.write("subscription", sealed)
        try await client(provider, store: again).signOut()
        #expect(directory.read("subscription") == nil)
        await provider.stop()
    }

    @Test(arguments: [
        (500, "<subscription state=\"inactive\"/>"), (302, "<subscription state=\"inactive\"/>"),
        (403, "<subscription state=\"inactive\"/>"), (200, "<html>oops</html>"), (200, ""), (503, ""),
    ])
    func `keeps what it knew where the answer does not count`(status: Int, body: String) async throws {
        let isDown = Locked(false)
        let provider = try ScriptedProvider { call, _ in
            if call == "sign_in" { return (200, "<token>T</token>") }
            return isDown.withLock { $0 } ? (status, body) : (201, "<subscription state=\"active\"/>")
        }
        let client = try client(provider)
        _ = try await client.signIn(name: "a", password: "b")
        let state = SubscriptionState(SubscriptionAnswer(.active), verifiedAt: clock.now)
        #expect(await client.state == state)
        isDown.withLock { $0 = true }
        clock.advance(by: .seconds(60))
        guard case .kept(state, let error) = try await client.refresh() else {
            Issue.record("the answer was believed")
            return
        }
        #expect(error.code == (status == 200 ? .answer : .status))
        #expect(await client.state == state)
        await #expect(throws: ReaderError.self) { try await client.credentials(for: "x") }
        await provider.stop()
        guard case .kept(state, _) = try await client.refresh() else {
            Issue.record("a provider that is gone was believed")
            return
        }
        #expect(await client.isSignedIn)
    }

    @Test func `renews a stale token once`() async throws {
        let provider = try ScriptedProvider { call, query in
            let token = query["token"] ?? ""
            switch call {
            case "sign_in": return (200, "<token>old</token>")
            case "renew_token": return (200, "<token>\(token)er</token>")
            case "verify_subscription":
                return (200, "<subscription state=\"\(token == "older" ? "active" : "stale")\"/>")
            default:
                return (
                    200,
                    token == "older"
                        ? "<credentials><userid>U</userid><password>P</password></credentials>"
                        : "<error status=\"notrecognised\"/>"
                )
            }
        }
        let store = MemoryStore()
        let client = try client(provider, store: store)
        _ = try await client.signIn(name: "a", password: "b")
        #expect(await client.state?.answer.state == .active)
        #expect(provider.calls() == ["sign_in", "verify_subscription", "renew_token", "verify_subscription"])
        #expect(String(decoding: try #require(store.bytes), as: UTF8.self).contains("\"older\""))
        #expect(try await client.credentials(for: "x").product == "x")
        await provider.stop()
    }

    @Test func `does not renew for ever`() async throws {
        let provider = try ScriptedProvider { call, query in
            switch call {
            case "sign_in", "renew_token": return (200, "<token>\(query["token"] ?? "")+</token>")
            case "verify_subscription": return (200, "<subscription state=\"stale\"/>")
            default: return (200, "<credentials><error status=\"notrecognised\"/></credentials>")
            }
        }
        let client = try client(provider)
        _ = try await client.signIn(name: "a", password: "b")
        #expect(await client.state?.answer.state == .stale)
        #expect(provider.calls() == ["sign_in", "verify_subscription", "renew_token", "verify_subscription"])
        await #expect(throws: ReaderError.self) { try await client.credentials(for: "x") }
        #expect(
            provider.calls() == [
                "edition_credentials", "verify_subscription", "renew_token", "verify_subscription", "edition_credentials",
            ]
        )
        await provider.stop()
    }

    @Test func `says that a token is stale where it cannot be renewed, and only there`() async throws {
        let renewal = Locked((200, "<error status=\"notrecognised\"/>"))
        let isStale = Locked(true)
        let provider = try ScriptedProvider { call, _ in
            switch call {
            case "sign_in": return (200, "<token>T</token>")
            case "renew_token": return renewal.withLock { $0 }
            default: return (200, "<subscription state=\"\(isStale.withLock { $0 } ? "stale" : "active")\"/>")
            }
        }
        let blocked = try client(provider)
        _ = try await blocked.signIn(name: "a", password: "b")
        #expect(await blocked.state?.answer.state == .stale)
        #expect(await blocked.isSignedIn)
        let without = try client(provider) { $0.renew = nil }
        _ = try await without.signIn(name: "a", password: "b")
        #expect(await without.state?.answer.state == .stale)
        // A renewal without a response must not lock users out.
        isStale.withLock { $0 = false }
        let client = try client(provider)
        _ = try await client.signIn(name: "a", password: "b")
        isStale.withLock { $0 = true }
        renewal.withLock { $0 = (500, "") }
        guard case .kept = try await client.refresh() else {
            Issue.record("the state changed")
            return
        }
        #expect(await client.state?.answer.state == .active)
        await provider.stop()
    }

    @Test func `shares one question between those who ask at the same time`() async throws {
        let provider = try Self.provider()
        let client = try client(provider)
        _ = try await client.signIn(name: "a", password: "b")
        _ = provider.calls()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<20 { group.addTask { _ = try await client.refresh() } }
            try await group.waitForAll()
        }
        #expect(provider.calls().count < 20)
        await provider.stop()
    }

    @Test func `says in whose words it was refused`() async throws {
        let provider = try Self.provider([
            "sign_in": (200, "<error status=\"DEVICE_LIMIT\" message=\"Too many\"/>")
        ])
        let client = try client(provider)
        do {
            _ = try await client.signIn(name: "a", password: "b")
            Issue.record("it was not refused")
        } catch {
            #expect(error.code == .refused)
            #expect(error.status == "devicelimit")
            #expect(error.providerMessage == "Too many")
        }
        #expect(await !client.isSignedIn)
        await provider.stop()
    }

    @Test func `allows what is listed whatever the state, and anything only while active`() {
        func state(_ state: SubscriptionAnswer.State, _ issues: [String]?) -> SubscriptionState {
            SubscriptionState(SubscriptionAnswer(state, issues: issues), verifiedAt: clock.now)
        }
        #expect(state(.active, nil).allows("x"))
        #expect(!state(.active, []).allows("x"))
        #expect(state(.inactive, ["x"]).allows("x"))
        #expect(!state(.inactive, ["x"]).allows("y"))
        for other in [SubscriptionAnswer.State.inactive, .unknown, .suspended, .stale] { #expect(!state(other, nil).allows("x")) }
    }
}

struct `Several providers` {
    private static func provider(_ name: String, issues: [String]?, isKnown: Bool = true) throws -> ScriptedProvider {
        try ScriptedProvider { call, _ in
            switch call {
            case "sign_in": return (200, isKnown ? "<token>T</token>" : "<error status=\"notrecognised\"/>")
            case "verify_subscription":
                return (200, String(decoding: SubscriptionAnswer(.inactive, issues: issues).write(), as: UTF8.self))
            default: return (200, "<credentials><userid>\(name)</userid><password>P</password></credentials>")
            }
        }
    }

    private static func client(_ name: String, _ provider: ScriptedProvider) throws -> SubscriptionClient {
        try SubscriptionClient(name: name, calls: try provider.calls(), store: MemoryStore())
    }

    @Test func `are asked in order, and the last one where none claims a product`() async throws {
        let scripts = [
            try Self.provider("a", issues: ["1"]), try Self.provider("b", issues: ["1", "2"]),
            try Self.provider("c", issues: nil),
        ]
        var clients: [SubscriptionClient] = []
        for (name, script) in zip(["a", "b", "c"], scripts) { clients.append(try Self.client(name, script)) }
        let providers = SubscriptionProviders(clients)
        for client in clients { _ = try await client.signIn(name: "x", password: "y") }
        #expect(await providers.provider(for: "1").name == "a")
        #expect(await providers.provider(for: "2").name == "b")
        #expect(await providers.provider(for: "3").name == "c")
        #expect(try await providers.credentials(for: "2").headers["Authorization"] == "Basic YjpQ")
        await providers.refresh()
        try await clients[1].signOut()
        #expect(await providers.provider(for: "2").name == "c")
        for script in scripts { await script.stop() }
    }

    @Test func `sign in with the first that recognises what was typed`() async throws {
        let (stranger, friend) = (try Self.provider("a", issues: [], isKnown: false), try Self.provider("b", issues: []))
        let providers = SubscriptionProviders([try Self.client("a", stranger), try Self.client("b", friend)])
        #expect(try await providers.signIn(name: "x", password: "y").client.name == "b")
        await friend.stop()
        await #expect(throws: ReaderError.self) { try await providers.signIn(name: "x", password: "y") }
        await stranger.stop()
    }
}
