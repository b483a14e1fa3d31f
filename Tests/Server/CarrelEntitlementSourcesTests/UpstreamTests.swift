// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelCrypto
import CarrelEntitlementSources
import CarrelEntitlements
import CarrelHTTP
import CarrelHTTPServer
import CarrelJSON
import CarrelMetrics
import CarrelPasswordHash
import CarrelServer
import CarrelServerTesting
import CarrelStore
import CarrelSubscription
import CarrelTesting
import CarrelThreads
import CarrelUpstream
import Testing

@Suite(.onBothDatabases)
struct `An upstream system as a source` {
    private static func service(
        _ upstream: ScriptedUpstream,
        _ policy: FailPolicy = .closed,
        accountsFirst: Bool = false
    ) async throws -> TestService {
        try await TestService(with: [.editionDelivery, .administration]) {
            var settings = upstream.settings
            settings.policy = policy
            settings.timeout = .seconds(20)
            $0.subscription.sources = accountsFirst ? [.accounts, .upstream(settings)] : [.upstream(settings), .accounts]
            $0.passwordCost = .init(memory: 64, passes: 1)
        }
    }

    @Test func `is asked the five calls, and its tokens and words go to apps`() async throws {
        let upstream = ScriptedUpstream()
        let test = try await Self.service(upstream)
        let signedIn = try await test.ask("sign_in", ["username": "reader", "password": "right"])
        #expect(signedIn.xml == "<token>T-reader</token>")
        #expect(
            try await test.ask("verify_subscription", ["token": "T-reader"]).xml
                == "<subscription state=\"active\" message=\"Gold\"><userinfo><category scheme=\"tier\" term=\"gold\"/></userinfo>"
                + "</subscription>"
        )
        let asked = try await test.ask("edition_credentials", ["token": "T-reader", "product_id": "p1"])
        let userID = try #require(asked.xml.split(separator: "<userid>").last?.split(separator: "<").first)
        let password = try #require(asked.xml.split(separator: "<password>").last?.split(separator: "<").first)
        #expect(userID != "theirs" && password != "theirs")
        #expect(
            try await test.ask("edition_credentials", ["token": "T-reader", "product_id": "x"]).xml
                == "<credentials><error status=\"notentitled\" message=\"Not yours\"/></credentials>"
        )
        #expect(try await test.ask("renew_token", ["token": "T-reader"]).xml == "<token>T-reader+</token>")
        #expect(try await test.ask("sign_out", ["token": "T-reader"]).status == 200)
        #expect(
            upstream.calls() == [
                "sign_in", "verify_subscription", "edition_credentials", "edition_credentials", "renew_token", "sign_out",
            ]
        )
        // Its owner has signed out, whatever the system still thinks of the token.
        #expect(try await test.ask("verify_subscription", ["token": "T-reader"]).xml.contains("stale"))
        #expect(
            try await test.ask("edition_credentials", ["token": "T-reader", "product_id": "p1"]).xml.contains("notrecognised")
        )
        #expect(upstream.calls().isEmpty)
        #expect(try await test.ask("edition_credentials", ["token": "T-reader+", "product_id": "p2"]).xml.contains("<userid>"))
        let actions = try await test.service.audit.list(AuditFilter()).map { "\($0.action) \($0.outcome) \($0.reason)" }
        for entry in [
            "session.start allowed upstream bureau", "edition.credentials allowed upstream bureau",
            "edition.credentials refused notentitled", "session.renew allowed upstream bureau", "session.end allowed ",
        ] {
            #expect(actions.contains(entry), "\(actions)")
        }
        let metrics = test.service.metrics.text()
        #expect(
            metrics.contains("carrel_upstream_calls_total{source=\"bureau\",call=\"edition_credentials\",outcome=\"answered\"} 3")
        )
        #expect(metrics.contains("carrel_upstream_unavailable{source=\"bureau\"} 0"))
        #expect(metrics.contains("carrel_upstream_seconds_count{source=\"bureau\"} 7"))
    }

    @Test(arguments: [true, false])
    func `works together with Carrel's own accounts, in either order`(accountsFirst: Bool) async throws {
        let upstream = ScriptedUpstream()
        let test = try await Self.service(upstream, accountsFirst: accountsFirst)
        _ = try await test.service.desk.create("alice", password: "a good long password", by: AuditActor("test"))
        let own = try await test.ask("sign_in", ["username": "alice", "password": "a good long password"])
        let token = try #require(own.xml.split(separator: ">").dropFirst().first?.split(separator: "<").first.map(String.init))
        #expect(token.hasPrefix("cs_"))
        _ = upstream.calls()
        #expect(try await test.ask("verify_subscription", ["token": token]).xml.contains("inactive"))
        #expect(try await test.ask("edition_credentials", ["token": token, "product_id": "p1"]).xml.contains("notentitled"))
        #expect(try await test.ask("renew_token", ["token": token]).xml.contains("<token>cs_"))
        // A token known to be ours is sent to no other system.
        #expect(upstream.calls().isEmpty)
        #expect(try await test.ask("sign_in", ["username": "reader", "password": "right"]).xml == "<token>T-reader</token>")
        let wrong = try await test.ask("sign_in", ["username": "reader", "password": "wrong"])
        #expect(wrong.xml.contains("notrecognised"))
        #expect(try await test.ask("verify_subscription", ["token": "never seen"]).xml.contains("stale"))
        #expect(try await test.ask("verify_subscription", ["token": ""]).xml.contains("No token!"))
        #expect(
            try await test.ask("edition_credentials", ["token": "never seen", "product_id": "p1"]).xml
                == "<credentials><error status=\"notrecognised\" message=\"Authentication details not recognised\"/></credentials>"
        )
    }

    @Test func `is trusted about tokens from before Carrel was introduced`() async throws {
        let upstream = ScriptedUpstream()
        let test = try await Self.service(upstream, accountsFirst: true)
        #expect(
            try await test.ask("verify_subscription", ["token": "T-lapsed"]).xml.contains("<issues><issue>p1</issue></issues>")
        )
        #expect(try await test.ask("edition_credentials", ["token": "T-lapsed", "product_id": "p1"]).xml.contains("<userid>"))
        #expect(try await test.ask("renew_token", ["token": "T-reader"]).xml == "<token>T-reader+</token>")
    }

    @Test(arguments: [false, true])
    func `receives no tokens that Carrel issued, of any kind`(isDown: Bool) async throws {
        let upstream = ScriptedUpstream()
        let test = try await Self.service(upstream)
        let page = "/opds/v2/editions/com.example.7/index.html"
        try await test.ingest(EditionFiles.folder(test.directory), "com.example.7")
        let alice = try await test.service.desk.create("alice", password: "a good long password", by: AuditActor("test"))
        _ = try await test.service.subscriptions.give("com.example.7", to: alice, as: .gift, by: AuditActor("test"))
        let token = try await test.service.accounts.issueSession(for: alice)
        if isDown { upstream.fail(.status500) }
        for (call, word) in [("verify_subscription", "com.example.7"), ("edition_credentials", "<userid>")] {
            #expect(try await test.ask(call, ["token": token, "product_id": "com.example.7"]).xml.contains(word))
        }
        let headers: HTTPFields = ["Authorization": "Basic \(Base64.encode("anybody:\(token)"))"]
        #expect(try await test.send(.get, page, headers: headers).status == 200)
        #expect(try await test.ask("renew_token", ["token": token]).xml.hasPrefix("<token>"))
        #expect(try await test.ask("sign_out", ["token": token]).status == 200)
        #expect(upstream.calls() == [])
    }

    @Test func `is explained by name next to Carrel's own accounts`() async throws {
        let upstream = ScriptedUpstream()
        let test = try await Self.service(upstream, .lastKnownGood(.seconds(3600)))
        try await test.add(product: "p1")
        let both = try await test.service.desk.create("reader", password: "a good long password", by: AuditActor("test"))
        _ = try await test.service.subscriptions.give("p1", to: both, as: .gift, by: AuditActor("test"))
        func explain(_ name: String) async throws -> JSON {
            let path = "/admin/v1/explanations?name=\(name)&product=p1"
            #expect(try await test.call(.get, path).status == 401)
            return try await test.call(.get, path, peer: .local(userID: 0)).json
        }
        let before = try await explain("reader")
        #expect(before["source"] == "accounts" && before["verdict"] == "granted" && before["rule"] == "gift")
        #expect(before["sources"]?.array?.map { $0["knows"] == true } == [false, true])
        #expect(try await explain("nobody")["source"]?.isNull == true)

        _ = try await test.ask("sign_in", ["username": "Reader", "password": "right"])
        _ = try await test.ask("sign_in", ["username": "reader", "password": "right"])
        _ = try await test.ask("verify_subscription", ["token": "T-reader"])
        _ = try await test.ask("edition_credentials", ["token": "T-reader", "product_id": "p1"])
        let asked = try await explain("reader")
        #expect(asked["source"] == "bureau" && asked["verdict"] == "asked" && asked["rule"]?.isNull == true)
        #expect(asked["lastGrant"]?["rule"] == "upstream bureau")
        let findings = (asked["findings"]?.array ?? []).map { "\($0["rule"]?.string ?? ""): \($0["effect"]?.string ?? "")" }
        #expect(
            findings == [
                "newest token: none", "last answer: grants", "last word on the product: grants",
                "fail policy last-known-good: grants",
            ]
        )
        upstream.fail(.status500)
        for _ in 0..<5 { _ = try await test.ask("edition_credentials", ["token": "T-reader", "product_id": "p2"]) }
        let down = try await explain("reader")
        #expect(down["verdict"] == "granted" && down["rule"] == "fail policy last-known-good")
        test.clock.advance(by: .seconds(3600))
        #expect(try await explain("reader")["verdict"] == "unavailable")
        #expect(upstream.calls().count == 9, "nobody is asked for an explanation")
    }

    @Test func `locks no user out of a device with an earlier sign-in, through it or to an account of it`() async throws {
        let upstream = ScriptedUpstream()
        let test = try await Self.service(upstream, accountsFirst: false)
        let alice = try await test.service.desk.create("alice", password: "correct horse battery", by: .operator)
        var network = 0
        /// Signs in from an unused network.
        func attempt(_ name: String, _ password: String, _ device: String?) async throws -> String {
            network += 1
            var parameters = ["username": name, "password": password]
            parameters["uuid"] = device
            let xml = try await test.ask("sign_in", parameters, from: "10.0.\(network / 250).\(network % 250)").xml
            return xml.hasPrefix("<token>") ? "token" : String(xml.split(separator: "\"").dropFirst().first ?? "")
        }
        func guess(_ name: String) async throws {
            for number in 0..<25 { _ = try await attempt(name, "guess \(number)", number.isMultiple(of: 2) ? "tablet" : nil) }
        }
        for (name, right) in [("reader", "right"), ("alice", "correct horse battery")] {
            #expect(try await attempt(name, right, "phone") == "token")
            try await guess(name)
            #expect(try await attempt(name, right, "tablet") == "throttled", "that was never signed in on")
            #expect(try await attempt(name, right, nil) == "throttled")
            #expect(try await attempt(name, right, "phone") == "token")
            try await guess(name)
            for number in 1...5 { #expect(try await attempt(name, "wrong \(number)", "phone") == "notrecognised") }
            #expect(try await attempt(name, right, "phone") == "throttled", "it has used up its own guesses")
            test.clock.advance(by: .seconds(24 * 3600))
            #expect(try await attempt(name, right, "phone") == "token")
        }
        // Support has revoked one, and the other is not cached anywhere.
        #expect(try await attempt("reader", "right", "phone") == "token")
        let device = try #require(try await test.service.devices.list(of: alice).first)
        try await test.service.devices.revoke(device.id, of: alice, isOwner: false, by: .operator)
        test.clock.advance(by: .seconds(90 * 24 * 3600))
        for name in ["reader", "alice"] {
            try await guess(name)
            #expect(try await attempt(name, name == "alice" ? "correct horse battery" : "right", "phone") == "throttled")
        }
        // An attacker who once knew the password could sign in on any number of devices: they share one counter.
        test.clock.advance(by: .seconds(24 * 3600))
        for number in 1...4 { #expect(try await attempt("reader", "right", "planted \(number)") == "token") }
        try await guess("reader")
        var taken = 0
        for number in 0..<12 where try await attempt("reader", "wrong \(number)", "planted \(number % 4 + 1)") == "notrecognised"
        {
            taken += 1
        }
        #expect(taken == 5)
        #expect(!upstream.calls().isEmpty)
    }

    @Test func `is guarded against guessing as accounts are, once for each attempt`() async throws {
        for accountsFirst in [true, false] {
            let upstream = ScriptedUpstream()
            let test = try await Self.service(upstream, accountsFirst: accountsFirst)
            var throttled = 0
            for attempt in 0..<10 {
                let answer = try await test.ask("sign_in", ["username": "reader", "password": "guess \(attempt)"])
                if answer.xml.contains("throttled") { throttled += 1 }
            }
            #expect(throttled == 5, "the fifth costs a wait")
            #expect(upstream.calls().count == 5)
            test.clock.advance(by: .seconds(60))
            #expect(try await test.ask("sign_in", ["username": "reader", "password": "right"]).xml == "<token>T-reader</token>")
        }
    }

    @Test(arguments: ScriptedUpstream.Kind.allCases)
    func `that throttles sign-ins does not block the next source`(kind: ScriptedUpstream.Kind) async throws {
        let upstream = ScriptedUpstream(kind)
        let test = try await Self.service(upstream)
        let (name, password) = (ScriptedUpstream.busy, "a good long password")
        let refused = try await test.ask("sign_in", ["username": name, "password": password])
        #expect(refused.xml == "<error status=\"throttled\" message=\"Later\"/>")
        _ = try await test.service.desk.create(name, password: password, by: AuditActor("test"))
        #expect(try await test.ask("sign_in", ["username": name, "password": password]).xml.hasPrefix("<token>cs_"))
        #expect(upstream.calls() == ["sign_in", "sign_in"])
    }

    @Test func `keeps neither tokens nor names nor passwords`() async throws {
        let upstream = ScriptedUpstream()
        let test = try await Self.service(upstream, .lastKnownGood(.seconds(3600)))
        _ = try await test.ask("sign_in", ["username": "reader", "password": "right"])
        _ = try await test.ask("verify_subscription", ["token": "T-reader"])
        _ = try await test.ask("edition_credentials", ["token": "T-reader", "product_id": "p1"])
        guard case .sqlite = Engine.current else { return }
        await test.service.database.close()
        let bytes = try #require(test.directory.read("carrel.db"))
        // tables and indexes have the password's word in their names
        let text = String(decoding: bytes, as: UTF8.self).replacing("rights", with: "")
        #expect(text.contains("bureau/"))
        #expect(!text.contains("T-reader") && !text.contains("right"))
    }
}

struct `A webhook as a source` {
    @Test func `is asked in JSON`() async throws {
        let asked = Locked<[String]>([])
        let server = LoopbackServer { connection in
            while let request = connection.readRequest() {
                let call = (try? JSON.parse(request.body.rawSpan))?["call"]?.string ?? ""
                asked.withLock { $0.append(call) }
                let answer =
                    switch call {
                    case "sign_in": "{\"token\": \"W\"}"
                    case "verify_subscription": "{\"state\": \"active\", \"issues\": [\"p1\"]}"
                    case "edition_credentials": "{\"granted\": true}"
                    default: "{\"error\": {\"status\": \"notrecognised\"}}"
                    }
                connection.respond(200, body: Array(answer.utf8))
            }
        }
        let url = "http://127.0.0.1:\(server.port)/"
        let test = try await TestService(with: [.editionDelivery, .administration]) {
            let secret = Secret([UInt8](repeating: 7, count: 32))
            $0.subscription.sources = [.upstream(UpstreamSettings(name: "hook", .webhook(url: url, secret: secret)))]
        }
        #expect(try await test.ask("sign_in", ["username": "a", "password": "b"]).xml == "<token>W</token>")
        #expect(
            try await test.ask("verify_subscription", ["token": "W"]).xml
                == "<subscription state=\"active\"><issues><issue>p1</issue></issues></subscription>"
        )
        #expect(try await test.ask("edition_credentials", ["token": "W", "product_id": "p1"]).xml.contains("<userid>"))
        #expect(try await test.ask("renew_token", ["token": "W"]).xml == "<error status=\"notrecognised\"/>")
        #expect(asked.withLock { $0 } == ["sign_in", "verify_subscription", "edition_credentials", "renew_token"])
    }
}

/// One Carrel in front of another, whose canned users show every case.
struct `Carrel in front of Carrel` {
    @Test func `says what the other says`() async throws {
        let inner = try await TestService(with: [.editionDelivery, .administration]) {
            $0.subscription.hasCannedUsers = true
            $0.passwordCost = .init(memory: 64, passes: 1)
        }
        var configuration = ServerConfiguration()
        configuration.workers = 1
        let server = HTTPServer(configuration: configuration, router: inner.service.router)
        let port = try #require(try server.start().first?.port)
        let outer = try await TestService(with: [.editionDelivery, .administration]) {
            let endpoints = SubscriptionEndpoints(base: "http://127.0.0.1:\(port)")
            $0.subscription.sources = [.upstream(UpstreamSettings(name: "inner", .calls(endpoints)))]
        }
        for user in CannedUsers.names where !user.hasSuffix("random") && !user.contains("zzz") && !user.contains("-") {
            let token = CannedUsers.token(of: user)
            let calls: [(String, [String: String])] = [
                ("sign_in", ["username": user, "password": "pan"]), ("verify_subscription", ["token": token]),
                ("edition_credentials", ["token": token, "product_id": "com.pugpig.edition0001"]),
                ("edition_credentials", ["token": token, "product_id": "com.pugpig.edition0002"]),
                ("renew_token", ["token": token]),
            ]
            for (call, parameters) in calls {
                func plain(_ test: TestService) async throws -> String {
                    let reply = try await test.ask(call, parameters)
                    let xml = reply.without("global_auth_password=\"", as: "G").without("<userid>", as: "U")
                        .without("<password>", as: "P").xml
                    // download fields apply to the downloads of their system only
                    guard let start = xml.firstRange(of: "<header"), let end = xml.firstRange(of: "</header>") else {
                        return "\(reply.status) \(xml)"
                    }
                    return "\(reply.status) \(xml[..<start.lowerBound])\(xml[end.upperBound...])"
                }
                // both throttle who signs in
                inner.clock.advance(by: .seconds(300 * 2))
                outer.clock.set(inner.clock.now)
                let (expected, found) = (try await plain(inner), try await plain(outer))
                #expect(found == expected, "\(user) \(call)")
            }
        }
        for (user, statuses) in [
            ("500-200-200", [503, 200, 200]), ("200-000-200", [200, 503, 200]), ("200-200-500", [200, 200, 503]),
        ] {
            let token = String(user.reversed())
            #expect(try await outer.ask("sign_in", ["username": user]).status == statuses[0])
            #expect(try await outer.ask("verify_subscription", ["token": token]).status == statuses[1])
            let asked = try await outer.ask("edition_credentials", ["token": token, "product_id": "p"])
            #expect(asked.status == statuses[2])
        }
        await server.shutdown(grace: .seconds(1))
    }
}
