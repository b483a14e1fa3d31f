// SPDX-License-Identifier: Apache-2.0

import CarrelAudit
import CarrelBytes
import CarrelCrypto
import CarrelEditionDelivery
import CarrelEntitlementSources
import CarrelHTTP
import CarrelHTTPServer
import CarrelJSON
import CarrelMetrics
import CarrelPasswordHash
import CarrelServer
import CarrelServerTesting
import CarrelStore
import CarrelSubscription
import CarrelThreads
import CarrelUpstream
import CarrelWorks
import Testing

private let active = #"{"state": "active", "message": "Gold"}"#
private let granted = #"{"granted": true}"#

/// The answer that gives a token.
private func giving(_ token: String) -> String { "{\"token\": \"\(token)\"}" }

/// The answer that refuses.
private func refusing(_ status: String?, _ message: String = "No") -> String {
    let status = status.map { "\"status\": \"\($0)\", " } ?? ""
    return "{\"error\": {\(status)\"message\": \"\(message)\"}}"
}

/// The effect of each statement of an upstream system, by itself and together with another system's.
struct `Statements of an upstream system` {
    /// The systems live as long as the test.
    private let kept = Locked<[ToldUpstream]>([])

    private func service(
        _ upstreams: [ToldUpstream],
        _ policy: FailPolicy = .closed,
        accountsFirst: Bool = false,
        _ configure: (inout UpstreamSettings, inout CarrelService.Settings) -> Void = { _, _ in }
    ) async throws -> TestService {
        kept.withLock { $0 += upstreams }
        return try await TestService(.silence, with: [.feeds, .administration]) { settings in
            settings.passwordCost = .init(memory: 64, passes: 1)
            settings.subscription.sources = accountsFirst ? [.accounts] : []
            for (number, upstream) in upstreams.enumerated() {
                var one = upstream.settings(number == 0 ? "bureau" : "second")
                one.policy = policy
                configure(&one, &settings)
                settings.subscription.sources.append(.upstream(one))
            }
            if !accountsFirst { settings.subscription.sources.append(.accounts) }
        }
    }

    private func verify(_ test: TestService, _ token: String) async throws -> String {
        let reply = try await test.ask("verify_subscription", ["token": token])
        return reply.status == 200 ? reply.xml : "\(reply.status)"
    }

    private func credentials(_ test: TestService, _ token: String, _ product: String = "p1") async throws -> String {
        let reply = try await test.ask("edition_credentials", ["token": token, "product_id": product])
        if reply.pair != nil { return "granted" }
        return reply.status == 200 ? reply.xml : "\(reply.status)"
    }

    private func health(_ test: TestService) async throws -> JSON {
        let answer = try await test.call(.get, "/admin/v1/health", peer: .local(userID: 0))
        return answer.json["sources"]?.array?.first ?? .null
    }

    private func count(_ test: TestService, _ sql: SQL) async throws -> Int64 {
        try await test.service.database.read { try $0.row(sql, [])?.integer(0) ?? -1 }
    }

    private let tokens = SQL("SELECT count(*) FROM upstream_tokens")
    private let grants = SQL("SELECT count(*) FROM upstream_grants")

    // MARK: Signing in and renewing

    @Test func `to a signing-in user is passed to the app`() async throws {
        for (said, xml) in [
            (refusing(nil), "<error status=\"notrecognised\" message=\"No\"/>"),
            (refusing("blocked", "Pay"), "<error status=\"blocked\" message=\"Pay\"/>"),
            (#"{"token": "T", "global_auth_password": "G"}"#, "<token global_auth_password=\"G\">T</token>"),
        ] {
            let test = try await service([ToldUpstream(["sign_in": said])])
            #expect(try await test.ask("sign_in", ["username": "a", "password": "b"]).xml == xml)
        }
    }

    /// The first system that knows the account is decisive, otherwise the last; "unknown" hides no statement.
    @Test(
        arguments: [
            (["notrecognised A", "notrecognised B"], "notrecognised A"), (["notrecognised A", "blocked B"], "blocked B"),
            (["blocked A", "notrecognised B"], "blocked A"), (["blocked A", "suspended B"], "suspended B"),
            (["", "blocked B"], "blocked B"), (["blocked A", ""], "blocked A"), (["", "notrecognised B"], "503"),
        ] as [([String], String)]
    )
    func `about an account together with another system`(words: [String], heard: String) async throws {
        let upstreams = words.map { word in
            let parts = word.split(separator: " ").map(String.init)
            return ToldUpstream(parts.isEmpty ? [:] : ["sign_in": refusing(parts[0], parts[1])])
        }
        let test = try await service(upstreams)
        let reply = try await test.ask("sign_in", ["username": "a", "password": "b"])
        let parts = reply.xml.split(separator: "\"")
        #expect((reply.status == 200 ? "\(parts[1]) \(parts[3])" : "\(reply.status)") == heard)
    }

    @Test func `of a token that is to be renewed`() async throws {
        let upstream = ToldUpstream(["sign_in": giving("T")])
        let test = try await service([upstream])
        _ = try await test.ask("sign_in", ["username": "a", "password": "b"])
        func renew(_ token: String) async throws -> String {
            let reply = try await test.ask("renew_token", ["token": token])
            return reply.status == 200 ? reply.xml : "\(reply.status)"
        }
        let unknown = "<error status=\"notrecognised\" message=\"Credentials not recognised\"/>"
        #expect(try await renew("T") == "503")
        upstream.answer("renew_token", "", status: 501)
        #expect(try await renew("T") == unknown)
        upstream.answer("renew_token", refusing("blocked", "Pay"))
        #expect(try await renew("strange") == unknown)
        #expect(try await renew("T") == "<error status=\"blocked\" message=\"Pay\"/>")
        upstream.answer("renew_token", refusing(nil, "Pay"))
        #expect(try await renew("T") == "<error status=\"notrecognised\" message=\"Pay\"/>")
    }

    @Test(
        arguments: [
            (giving("new"), nil, "<token>new</token>"), (nil, giving("new"), "<token>new</token>"),
            ("501", giving("new"), "<token>new</token>"), (refusing("blocked"), giving("new"), "<token>new</token>"),
            ("501", nil, "503"), (nil, "501", "503"),
        ] as [(String?, String?, String)]
    )
    func `of a token that is to be renewed and may be another's`(first: String?, second: String?, answer: String) async throws {
        let upstreams = [ToldUpstream(), ToldUpstream()]
        for (upstream, word) in zip(upstreams, [first, second]) {
            if let word { upstream.answer("renew_token", word, status: word == "501" ? 501 : 200) }
        }
        let reply = try await service(upstreams).ask("renew_token", ["token": "strange"])
        #expect((reply.status == 200 ? reply.xml : "\(reply.status)") == answer)
    }

    @Test func `about an unknown token are requested from each system when it is to end`() async throws {
        let upstreams = [ToldUpstream(["sign_out": "{}"]), ToldUpstream(["sign_out": "{}"])]
        #expect(try await service(upstreams).ask("sign_out", ["token": "strange"]).status == 200)
        #expect(upstreams.map(\.calls) == [["sign_out"], ["sign_out"]])
    }

    @Test func `may be a token of sixteen kilobytes, and no longer one`() async throws {
        let (most, more) = (String(repeating: "t", count: 16_384), String(repeating: "t", count: 16_385))
        let upstream = ToldUpstream([
            "sign_in": giving(most), "renew_token": giving(most), "verify_subscription": active,
        ])
        let test = try await service([upstream])
        #expect(try await test.ask("sign_in", ["username": "a", "password": "b"]).xml == "<token>\(most)</token>")
        #expect(try await verify(test, most).contains("active"))
        #expect(try await test.ask("renew_token", ["token": "T"]).xml == "<token>\(most)</token>")
        upstream.answer("sign_in", giving(more))
        upstream.answer("renew_token", giving(more))
        #expect(try await test.ask("sign_in", ["username": "a", "password": "b"]).status == 503)
        #expect(try await test.ask("renew_token", ["token": "T"]).status == 503)
    }

    @Test func `is not heard of a token that is too long, which may be another's`() async throws {
        let upstream = ToldUpstream()
        let test = try await service([upstream]) { $1.subscription.hasCannedUsers = true }
        let token = "llaevitca." + String(repeating: "x", count: 16_385 - 10)
        #expect(try await verify(test, token).contains("You are an active subscriber"))
        #expect(try await credentials(test, token, "com.pugpig.edition0001") == "granted")
        #expect(try await test.ask("renew_token", ["token": token]).xml == "<token>\(token)</token>")
        #expect(try await test.ask("sign_out", ["token": token]).status == 200)
        #expect(upstream.calls == [])
    }

    // MARK: Guessing

    @Test func `is asked of no more names than a network may try, each of which counts once`() async throws {
        for accountsFirst in [true, false] {
            let upstream = ToldUpstream(["sign_in": refusing("notrecognised")])
            let test = try await service([upstream], accountsFirst: accountsFirst)
            for number in 1...30 {
                let reply = try await test.ask("sign_in", ["username": "name \(number)", "password": "x"])
                #expect(reply.xml.contains("notrecognised"), "\(number)")
            }
            #expect(try await test.ask("sign_in", ["username": "one more", "password": "x"]).xml.contains("throttled"))
            #expect(upstream.calls.count == 30)
        }
    }

    @Test func `is asked of no more passwords than an account may be tried with, from wherever`() async throws {
        let upstream = ToldUpstream(["sign_in": refusing("notrecognised")])
        let test = try await service([upstream])
        func attempt(_ number: Int) async throws -> String {
            try await test.ask("sign_in", ["username": "a", "password": "x\(number)"], from: "10.0.0.\(number)").xml
        }
        for number in 1...20 { #expect(try await attempt(number).contains("notrecognised")) }
        #expect(try await attempt(21).contains("throttled"))
    }

    // MARK: Products

    @Test func `about a product together with another system`() async throws {
        let upstreams = [ToldUpstream(), ToldUpstream(["edition_credentials": refusing("notentitled", "B")])]
        let test = try await service(upstreams)
        #expect(
            try await credentials(test, "strange") == "<credentials><error status=\"notentitled\" message=\"B\"/></credentials>"
        )
        upstreams[0].answer("edition_credentials", refusing("expired", "A"))
        #expect(try await credentials(test, "strange") == "<credentials><error status=\"expired\" message=\"A\"/></credentials>")
        upstreams[1].answer("edition_credentials", granted)
        #expect(try await credentials(test, "strange") == "granted")
    }

    @Test func `without a status is on record as an error`() async throws {
        let test = try await service([ToldUpstream(["edition_credentials": refusing(nil)])])
        #expect(try await credentials(test, "T") == "<credentials><error message=\"No\"/></credentials>")
        let entries = try await test.service.audit.list(AuditFilter()).filter { $0.action == "edition.credentials" }
        #expect(entries.map(\.reason) == ["error"])
    }

    @Test func `of no product, or one whose name nothing can hold, opens nothing and is not remembered`() async throws {
        let test = try await service([ToldUpstream(["edition_credentials": granted])], .lastKnownGood(.seconds(3600)))
        #expect(try await credentials(test, "T", "").contains("notentitled"))
        _ = try await credentials(test, "T", "p\u{0}")
        #expect(try await count(test, grants) == 0)
        #expect(try await credentials(test, "T") == "granted")
        #expect(try await count(test, grants) == 1)
    }

    @Test(arguments: [("suspended", "503"), ("notentitled", "granted")])
    func `of an account together with a product is remembered`(status: String, later: String) async throws {
        let upstream = ToldUpstream(["sign_in": giving("T"), "edition_credentials": refusing(status)])
        let test = try await service([upstream], .open(.seconds(3600), perMinute: 9))
        _ = try await test.ask("sign_in", ["username": "a", "password": "b"])
        #expect(try await credentials(test, "T").contains(status))
        upstream.fail()
        #expect(try await credentials(test, "T") == later)
    }

    @Test func `once claims an unknown token as its own`() async throws {
        let upstreams = [ToldUpstream(["edition_credentials": granted]), ToldUpstream()]
        let test = try await service(upstreams)
        #expect(try await credentials(test, "strange") == "granted")
        #expect(try await count(test, tokens) == 1)
        upstreams[0].answer("edition_credentials", refusing("notentitled"))
        #expect(try await credentials(test, "strange").contains("notentitled"))
        #expect(upstreams[1].calls == [])
    }

    @Test func `counts no more for a product that is out no longer, as the explanation says`() async throws {
        let test = try await service([ToldUpstream(["sign_in": giving("T"), "edition_credentials": granted])])
        try await test.add(product: "p1")
        _ = try await test.ask("sign_in", ["username": "a", "password": "b"])
        #expect(try await credentials(test, "T") == "granted")
        func verdict() async throws -> JSON? {
            try await test.call(.get, "/admin/v1/explanations?name=a&product=p1", peer: .local(userID: 0)).json["verdict"]
        }
        #expect(try await verdict() == "asked")
        try await test.service.database.write { transaction in
            _ = try transaction.run(SQL("UPDATE editions SET updated_at = updated_at + 1, state = 'withdrawn'"))
        }
        test.clock.advance(by: .seconds(2))
        #expect(try await verdict() == "notentitled")
    }

    // MARK: Feeds

    @Test(
        arguments: [
            (#"{"state": "active"}"#, ["Free", "Paid"]), (#"{"state": "active", "issues": []}"#, ["Free"]),
            (#"{"state": "active", "issues": ["paid"]}"#, ["Free", "Paid"]), (#"{"state": "inactive"}"#, ["Free"]),
            (#"{"state": "inactive", "issues": ["paid"]}"#, ["Free", "Paid"]), (#"{"state": "suspended"}"#, []),
            (#"{"state": "suspended", "issues": ["paid"]}"#, []), (#"{"state": "stale"}"#, nil), (#"{"state": "unknown"}"#, nil),
        ] as [(String, [String]?)]
    )
    func `of a reader is what their shelf holds`(said: String, titles: [String]?) async throws {
        let token = #"{"token": "T", "global_auth_password": ""}"#
        let test = try await service([ToldUpstream(["sign_in": token, "verify_subscription": said])]) {
            $1.editions.feedsNeedSignIn = true
        }
        for title in ["Free", "Paid"] { try await test.add(product: title.lowercased(), metadata: .init(title: title)) }
        try await test.service.database.write { transaction in
            _ = try transaction.run(SQL("UPDATE editions SET price = 'free' WHERE product_id = 'free'"))
        }
        let signedIn = try await test.ask("sign_in", ["username": "a", "password": "b"])
        #expect(signedIn.xml == "<token global_auth_password=\"\(test.service.feedPasswords.password(of: "T"))\">T</token>")
        let basic = Base64.encode("T:\(test.service.feedPasswords.password(of: "T"))")
        func get(_ path: String) async throws -> (status: Int, json: JSON) {
            try await test.call(.get, path, headers: ["Authorization": "Basic \(basic)"])
        }
        let shelf = try await get("/opds/v2/shelf")
        let found = (shelf.json["publications"]?.array ?? []).compactMap { $0["metadata"]?["title"]?.string }
        #expect(shelf.status == (titles == nil ? 401 : 200) && found.sorted() == titles ?? [])
        // The catalog is not public: who is suspended sees nothing of it.
        #expect(try await get("/opds/v2").status == (said.contains("suspended") ? 401 : shelf.status))
    }

    // MARK: What is remembered

    @Test func `that is no word changes nothing that was said`() async throws {
        let upstream = ToldUpstream(["verify_subscription": active])
        let test = try await service([upstream], .lastKnownGood(.seconds(3600)))
        #expect(try await verify(test, "T").contains("Gold"))
        upstream.answer("verify_subscription", #"{"state": "unknown"}"#)
        #expect(try await verify(test, "T").contains("unknown"))
        upstream.fail()
        #expect(try await verify(test, "T").contains("Gold"))
    }

    @Test func `is repeated in its last form`() async throws {
        let upstream = ToldUpstream(["verify_subscription": active])
        let test = try await service([upstream], .lastKnownGood(.seconds(3600)))
        _ = try await verify(test, "T")
        test.clock.advance(by: .seconds(1))
        upstream.answer("verify_subscription", #"{"state": "active", "message": "Silver"}"#)
        _ = try await verify(test, "T")
        upstream.fail()
        #expect(try await verify(test, "T").contains("Silver"))
    }

    @Test(arguments: [(262_144, true), (262_145, false)])
    func `is repeated where it is short enough to be kept`(length: Int, isKept: Bool) async throws {
        func answer(_ last: Int) -> SubscriptionAnswer {
            let issues = (0..<8).map { String(repeating: "\($0)", count: 32_000) } + [String(repeating: "x", count: last)]
            return SubscriptionAnswer(.active, issues: issues)
        }
        let said = answer(1 + length - answer(1).write().count)
        #expect(said.write().count == length)
        let issues = JSON.array((said.issues ?? []).map { .string($0) })
        let words = String(decoding: JSON.object(["state": "active", "issues": issues]).write(), as: UTF8.self)
        let upstream = ToldUpstream(["verify_subscription": words])
        let test = try await service([upstream], .lastKnownGood(.seconds(3600)))
        #expect(try await verify(test, "T").contains("active"))
        upstream.fail()
        #expect(try await verify(test, "T").contains("active") == isKept)
    }

    @Test func `is not kept where it could not be read again`() async throws {
        let words = String(repeating: "Gold ", count: 20_000)
        let upstream = ToldUpstream(["verify_subscription": "{\"state\": \"active\", \"message\": \"\(words)\"}"])
        let test = try await service([upstream], .lastKnownGood(.seconds(3600)))
        #expect(try await verify(test, "T").contains("Gold"))
        upstream.fail()
        #expect(try await verify(test, "T") == "503")
    }

    @Test func `holds for the successor of a token, too`() async throws {
        let upstream = ToldUpstream([
            "sign_in": giving("A"), "renew_token": giving("B"), "verify_subscription": active,
            "edition_credentials": granted,
        ])
        let test = try await service([upstream], .lastKnownGood(.seconds(3600)))
        _ = try await test.ask("sign_in", ["username": "a", "password": "b"])
        _ = try await verify(test, "A")
        #expect(try await credentials(test, "A") == "granted")
        _ = try await test.ask("renew_token", ["token": "A"])
        upstream.fail()
        #expect(try await verify(test, "B").contains("Gold"))
        #expect(try await credentials(test, "B") == "granted")
        let entries = try await test.service.audit.list(AuditFilter())
        let readers = entries.filter { $0.action.hasPrefix("session.") || $0.action == "edition.credentials" }.map(\.actor)
        #expect(readers.count == 4 && Set(readers).count == 1, "all of one account")
    }

    @Test func `again in the same moment is not written again`() async throws {
        let upstream = ToldUpstream(["verify_subscription": active])
        kept.withLock { $0.append(upstream) }
        var settings = upstream.settings()
        settings.policy = .lastKnownGood(.seconds(3600))
        var all = CarrelService.Settings()
        all.subscription.sources = [.upstream(settings)]
        let test = try await TestService(with: [.feeds, .administration])
        let (counting, service) = try await test.counted(all)
        #expect(try await test.ask("verify_subscription", ["token": "T"], at: service).xml.contains("Gold"))
        let before = counting.writes
        for _ in 1...3 { _ = try await test.ask("verify_subscription", ["token": "T"], at: service) }
        #expect(counting.writes == before)
    }

    // MARK: Its health

    @Test(arguments: [403, 404, 501])
    func `is not a failure if it refuses one request`(status: Int) async throws {
        let upstream = ToldUpstream()
        for call in ["renew_token", "verify_subscription"] { upstream.answer(call, "", status: status) }
        let test = try await service([upstream])
        for _ in 1...6 {
            _ = try await test.ask(status == 501 ? "renew_token" : "verify_subscription", ["token": "T"])
            test.clock.advance(by: .milliseconds(1))
        }
        #expect(upstream.calls.count == 6)
        let health = try await health(test)
        #expect(health["state"] == "available" && health["failure"]?.isNull ?? true)
        #expect(health["answeredAt"]?.string == (test.clock.now + .milliseconds(-1)).description)
    }

    @Test func `is counted, what failed too`() async throws {
        let upstream = ToldUpstream(["verify_subscription": active])
        let test = try await service([upstream])
        _ = try await verify(test, "T")
        upstream.fail()
        for _ in 1...2 { _ = try await verify(test, "T") }
        let metrics = test.service.metrics.text()
        for (outcome, count) in [("answered", 1), ("failed", 2)] {
            let line =
                "carrel_upstream_calls_total{source=\"bureau\",call=\"verify_subscription\",outcome=\"\(outcome)\"} \(count)"
            #expect(metrics.contains(line))
        }
    }

    @Test func `has a limited number of waiting requests, and one while it is probed`() async throws {
        let upstream = ToldUpstream()
        let test = try await service([upstream]) { one, _ in
            one.concurrency = 2
            one.breaker.failures = 1
        }
        func asking(_ count: Int) async throws -> Task<String, any Error> {
            let task = Task { try await verify(test, "T") }
            while upstream.calls.count < count { try await Task.sleep(for: .milliseconds(2)) }
            return task
        }
        upstream.answer("verify_subscription", active)
        #expect(try await verify(test, "T").contains("active"))  // a token that is not confirmed takes half of the places
        upstream.hold(true)
        let two = [try await asking(2), try await asking(3)]
        #expect(try await health(test)["asking"] == 2)
        #expect(try await verify(test, "T") == "503")
        #expect(upstream.calls.count == 3)
        upstream.hold(false)
        for task in two { #expect(try await task.value.contains("active")) }

        upstream.fail()
        #expect(try await verify(test, "T") == "503")
        test.clock.advance(by: .seconds(5))
        upstream.answer("verify_subscription", active)
        upstream.hold(true)
        let probe = try await asking(5)
        #expect(try await health(test)["state"] == "probing")
        #expect(try await verify(test, "T") == "503")
        upstream.hold(false)
        #expect(try await probe.value.contains("active"))
        #expect(try await health(test)["state"] == "available")
    }
}
