// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelAdministration
import CarrelAuthority
import CarrelBytes
import CarrelHTTP
import CarrelJSON
import CarrelRights
import CarrelServer
import CarrelServerTesting
import CarrelStore
import CarrelStreaming
import Testing

/// A reader in a browser, and the page that they type codes on.
private struct Reader {
    let test: TestService
    let account: Account
    let session: String

    init(_ test: TestService, _ name: String) async throws {
        self.test = test
        account = try await test.service.accounts.findOrCreate(named: name)
        session = try await test.service.accounts.issueSession(for: account)
    }

    func post(
        _ form: String,
        from address: String = "192.0.2.1",
        site: String = "same-origin"
    ) async throws -> (status: Int, page: String) {
        let request = HTTPRequest(
            .post,
            "/account/link",
            headers: [
                "Content-Type": "application/x-www-form-urlencoded", "Cookie": "carrel_session=\(session)",
                "Sec-Fetch-Site": site,
            ],
            body: Array(form.utf8),
            peer: .network(address: address, port: 1)
        )
        let response = await test.service.router.respond(to: request)
        return (response.status.rawValue, String(decoding: try await response.body.collect(upTo: 1 << 20), as: UTF8.self))
    }
}

@Suite(.onBothDatabases) struct `A code that links a player` {
    private func codes(_ answer: JSON) throws -> (device: String, user: String) {
        (try #require(answer["device_code"]?.string), try #require(answer["user_code"]?.string))
    }

    @Test func `is typed by a signed-in reader, who sees the device and says yes`() async throws {
        let test = try await TestService { $0.stream.publicURL = "https://books.example.org" }
        let player = try await TestPlayer().personalized(by: test)
        let asked = try await player.linkCode(of: test)
        #expect(asked.status == 200 && asked.answer["expires_in"] == 600 && asked.answer["interval"] == 5)
        let (device, user) = try codes(asked.answer)
        #expect(user.count == 9 && user.split(separator: "-").map(\.count) == [4, 4])
        #expect(asked.answer["verification_uri"] == "https://books.example.org/account/link")
        #expect(asked.answer["verification_uri_complete"]?.string == "https://books.example.org/account/link/\(user)")
        #expect(try await player.linkOutcome(device, of: test).answer["error"] == "authorization_pending")
        let alice = try await Reader(test, "alice")
        let typed = user.lowercased().replacing("-", with: " ")
        let page = try await alice.post("code=\(typed.replacing(" ", with: "+"))")
        #expect(page.status == 200)
        for fact in ["phone", "Reader 1.0", "in a file with a passphrase", "192.0.2.1, the same as yours now", "alice"] {
            #expect(page.page.contains(fact), "\(fact)")
        }
        #expect(try await test.service.players.find(player.id).account == nil, "looking links nothing")
        #expect(try await alice.post("code=\(user)", from: "198.51.100.9").page.contains("not the one you are in now"))
        #expect(try await alice.post("code=\(user)&answer=yes").page.contains("Device linked"))
        test.clock.advance(by: .seconds(5))
        let done = try await player.linkOutcome(device, of: test)
        #expect(done.status == 200 && done.answer["account"] == "alice" && done.answer["player"]?.string == player.id)
        let linked = try await test.service.players.find(player.id)
        #expect(linked.account == alice.account.id && linked.device != nil && linked.linkExpiresAt == linked.expiresAt)
        let audited = try await test.service.audit.list(AuditFilter()).filter { $0.action == "player.link" }
        #expect(audited.map(\.actor) == [alice.account.id] && audited.map(\.subject) == [player.id])
        let bob = try await Reader(test, "bob")
        for answer in ["", "&answer=yes", "&answer=no"] {
            #expect(try await bob.post("code=\(user)\(answer)").status == 404, "a code works once")
        }
        #expect(try await test.service.players.find(player.id).account == alice.account.id)
    }

    @Test func `is refused, ends after ten minutes, and ends with the next one`() async throws {
        let test = try await TestService()
        let player = try await TestPlayer().personalized(by: test)
        let alice = try await Reader(test, "alice")
        let first = try codes(try await player.linkCode(of: test).answer)
        #expect(try await alice.post("code=\(first.user)&answer=no").page.contains("Device refused"))
        #expect(try await player.linkOutcome(first.device, of: test).answer["error"] == "access_denied")
        #expect(try await alice.post("code=\(first.user)&answer=yes").status == 404)
        let second = try codes(try await player.linkCode(of: test).answer)
        let third = try codes(try await player.linkCode(of: test).answer)
        #expect(try await player.linkOutcome(second.device, of: test).answer["error"] == "invalid_grant")
        #expect(try await alice.post("code=\(second.user)&answer=yes").status == 404)
        test.clock.advance(by: .seconds(600))
        #expect(try await alice.post("code=\(third.user)&answer=yes").status == 404)
        #expect(try await player.linkOutcome(third.device, of: test).answer["error"] == "expired_token")
        #expect(try await test.service.players.find(player.id).account == nil)
    }

    @Test func `is given only to the player that signs for it`() async throws {
        let test = try await TestService()
        let player = try await TestPlayer().personalized(by: test)
        let thief = TestPlayer.Personalized(
            player: TestPlayer(),
            id: player.id,
            certificate: player.certificate,
            keys: player.keys
        )
        #expect(try await thief.linkCode(of: test).answer["code"] == "link.request")
        let nonce = try await player.player.challenge(of: test)
        #expect(try await player.linkCode(of: test, nonce: nonce).status == 200)
        #expect(
            try await player.linkCode(of: test, nonce: nonce).answer["code"] == "personalization.nonce",
            "a nonce counts once"
        )
        #expect(try await player.linkCode(of: test, nonce: "x").answer["code"] == "personalization.nonce")
        for text in ["", "a.b.c", String(repeating: "A", count: 9000)] {
            #expect(try await test.post(text, to: "/v1/device/code").answer["code"] == "link.request")
        }
        // a message of another kind, signed with the same key
        let other = try await player.player.request(nonce: try await player.player.challenge(of: test), at: test.clock.now)
        #expect(try await test.post(other, to: "/v1/device/code").answer["code"] == "link.request")
        let elsewhere = try await TestPlayer().personalized(by: try await TestService())
        #expect(try await elsewhere.linkCode(of: test).answer["code"] == "link.not-personalized")
        _ = try await test.service.players.change(player.id, .suspend, by: .operator)
        #expect(try await player.linkCode(of: test).answer["code"] == "personalization.suspended")
        test.clock.advance(by: .seconds(91 * 86_400))
        #expect(try await player.linkCode(of: test).answer["code"] == "link.not-personalized")
    }

    @Test func `obeys the device limit, and waits until there is a slot`() async throws {
        let test = try await TestService { $0.subscription.devices.limit = 1 }
        let alice = try await Reader(test, "alice")
        let first = try await TestPlayer().personalized(by: test)
        let second = try await TestPlayer().personalized(by: test)
        let one = try codes(try await first.linkCode(of: test).answer)
        #expect(try await alice.post("code=\(one.user)&answer=yes").status == 200)
        let two = try codes(try await second.linkCode(of: test).answer)
        let full = try await alice.post("code=\(two.user)&answer=yes")
        #expect(full.status == 409 && full.page.contains("no place for another device"))
        #expect(try await second.linkOutcome(two.device, of: test).answer["error"] == "authorization_pending")
        _ = try await test.service.players.change(first.id, .revoke, by: .operator)
        #expect(try await first.linkOutcome(one.device, of: test).answer["error"] == "access_denied")
        test.clock.advance(by: .seconds(1))
        let bob = try await Reader(test, "bob")
        let three = try codes(try await second.linkCode(of: test).answer)
        #expect(try await bob.post("code=\(three.user)&answer=yes").status == 200)
        let again = try codes(try await second.linkCode(of: test).answer)
        let taken = try await alice.post("code=\(again.user)&answer=yes")
        #expect(taken.status == 409 && taken.page.contains("linked to another account"))
    }

    @Test func `is not typed from another site, without a session, or by guessing`() async throws {
        let test = try await TestService()
        let player = try await TestPlayer().personalized(by: test)
        let user = try codes(try await player.linkCode(of: test).answer).user
        let alice = try await Reader(test, "alice")
        #expect(try await alice.post("code=\(user)&answer=yes", site: "cross-site").status == 403)
        #expect(try await test.send(.get, "/account/link/\(user)").status == 401)
        let page = try await test.send(.get, "/account/link/\(user)", headers: ["Cookie": "carrel_session=\(alice.session)"])
        #expect(page.status == 200 && String(decoding: page.body, as: UTF8.self).contains("value=\"\(user)\""))
        let script = try await test.send(
            .get,
            "/account/link/%22%3E%3Cb%3E",
            headers: ["Cookie": "carrel_session=\(alice.session)"]
        )
        #expect(!String(decoding: script.body, as: UTF8.self).contains("<b>"))
        for guess in 0..<20 { #expect(try await alice.post("code=BCDF-BCD\(["F", "G"][guess % 2])").status == 404) }
        #expect(try await alice.post("code=\(user)&answer=yes").status == 429, "a right code does not help after too many")
        #expect(try await test.service.players.find(player.id).account == nil)
        // by many accounts of one network
        var throttled = 0
        for number in 0..<10 {
            let other = try await Reader(test, "reader \(number)")
            for _ in 0..<10 where try await other.post("code=BCDF-BCDF", from: "198.51.100.1").status == 429 { throttled += 1 }
        }
        #expect(throttled == 40)
        test.clock.advance(by: .seconds(60))
        #expect(try await alice.post("code=\(user)&answer=yes").status == 200)
    }

    @Test func `is decided on once when twenty readers answer at the same time`() async throws {
        let test = try await TestService()
        let player = try await TestPlayer().personalized(by: test)
        let user = try codes(try await player.linkCode(of: test).answer).user
        var readers: [Reader] = []
        for number in 0..<20 { readers.append(try await Reader(test, "reader \(number)")) }
        let linked = try await withThrowingTaskGroup(of: Bool.self) { [readers] group in
            for reader in readers {
                group.addTask { try await reader.post("code=\(user)&answer=yes").page.contains("Device linked") }
            }
            return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(linked == 1)
        let account = try await test.service.players.find(player.id).account
        #expect(readers.count { $0.account.id == account } == 1)
        let entries = try await test.service.audit.list(AuditFilter()).count { $0.action == "player.link" }
        #expect(entries == 1)
    }

    @Test func `is slowed down when its player asks too often`() async throws {
        let test = try await TestService()
        let player = try await TestPlayer().personalized(by: test)
        let device = try codes(try await player.linkCode(of: test).answer).device
        func error() async throws -> String? { try await player.linkOutcome(device, of: test).answer["error"]?.string }
        #expect(try await error() == "authorization_pending")
        test.clock.advance(by: .seconds(3))
        #expect(try await error() == "slow_down")
        test.clock.advance(by: .seconds(5))
        #expect(try await error() == "slow_down", "the interval is ten seconds now")
        test.clock.advance(by: .seconds(15))
        #expect(try await error() == "authorization_pending")
        #expect(try await player.linkOutcome("cdc_other", of: test).answer["error"] == "invalid_grant")
        let wrong = try await test.call(.post, "/v1/device/token", body: ["grant_type": "password", "device_code": "x"])
        #expect(wrong.status == 400 && wrong.json["error"] == "unsupported_grant_type")
    }

    @Test func `that was typed in its last second still tells its device so`() async throws {
        let test = try await TestService()
        let player = try await TestPlayer().personalized(by: test)
        let (device, user) = try codes(try await player.linkCode(of: test).answer)
        test.clock.advance(by: .seconds(599))
        let alice = try await Reader(test, "alice")
        #expect(try await alice.post("code=\(user)&answer=yes").page.contains("Device linked"))
        test.clock.advance(by: .seconds(6))
        while try await test.service.housekeeping.run() > 0 {}
        #expect(try await player.linkOutcome(device, of: test).answer["account"] == "alice")
        test.clock.advance(by: .seconds(60))
        while try await test.service.housekeeping.run() > 0 {}
        #expect(try await player.linkOutcome(device, of: test).answer["error"] == "invalid_grant")
    }

    @Test func `shows the device's name between isolates, which its letters cannot leave`() async throws {
        let test = try await TestService()
        let player = try await TestPlayer().personalized(by: test)
        try await test.service.database.write { transaction in
            // as an earlier version stored it
            let name = SQL("UPDATE players SET name = $2 WHERE id = $1")
            try transaction.run(name, [.text(player.id), .text("\u{2069}\u{202e}enohp")])
        }
        let alice = try await Reader(test, "alice")
        let (_, user) = try codes(try await player.linkCode(of: test).answer)
        let asked = try await alice.post("code=\(user)").page
        #expect(asked.contains("\u{2068}enohp\u{2069}") && asked.contains("\u{2068}Reader 1.0\u{2069}"))
        let linked = try await alice.post("code=\(user)&answer=yes").page
        #expect(linked.contains("\u{2068}enohp\u{2069} is linked") && !linked.unicodeScalars.contains("\u{202e}"))
    }

    @Test func `is one of fifty that a network may have at the same time`() async throws {
        let test = try await TestService()
        for _ in 0..<50 {
            test.clock.advance(by: .seconds(6))
            let player = try await TestPlayer().personalized(by: test)
            #expect(try await player.linkCode(of: test).status == 200)
        }
        test.clock.advance(by: .seconds(6))
        let player = try await TestPlayer().personalized(by: test)
        #expect(try await player.linkCode(of: test).answer["code"] == "link.too-many")
        #expect(try await player.linkCode(of: test, from: "198.51.100.1").status == 200)
        test.clock.advance(by: .seconds(600))
        #expect(try await player.linkCode(of: test).status == 200)
    }

    @Test func `that was decided on counts no more`() async throws {
        let test = try await TestService()
        let alice = try await Reader(test, "alice")
        for _ in 0..<51 {
            test.clock.advance(by: .seconds(6))
            let player = try await TestPlayer().personalized(by: test)
            let asked = try await player.linkCode(of: test)
            #expect(asked.status == 200)
            let waiting = try await test.service.links.decide(
                try codes(asked.answer).user,
                isApproved: false,
                for: alice.account,
                from: "198.51.100.1",
                requestID: ""
            )
            #expect(waiting != nil)
        }
    }

    @Test func `gives way to one of a smaller network when too many wait`() async throws {
        let test = try await TestService { $0.players.linkLimit = 4 }
        func ask(_ address: String) async throws -> String {
            test.clock.advance(by: .seconds(6))
            let player = try await TestPlayer().personalized(by: test)
            return try codes(try await player.linkCode(of: test, from: address).answer).device
        }
        func isWaiting(_ code: String) async throws -> Bool {
            let player = try await TestPlayer().personalized(by: test)
            return try await player.linkOutcome(code, of: test).answer["error"] == "authorization_pending"
        }
        let reader = try await ask("192.0.2.7")
        // one network has many smaller ones
        var flood: [String] = []
        for number in 0..<6 { flood.append(try await ask("2001:db8:1:\(number)::1")) }
        #expect(try await isWaiting(reader))
        let late = try await ask("198.51.100.3")
        for code in [reader, late] + flood.suffix(2) { #expect(try await isWaiting(code)) }
        for code in flood.prefix(4) { #expect(try await !isWaiting(code)) }
    }

    @Test func `is one of five hundred that a larger network may have`() {
        #expect(LinkCodeStore.site(ofNetwork: "2001:db8:1:9") == "2001:db8:1")
        #expect(LinkCodeStore.site(ofNetwork: "192.0.2.9") == "192.0.2")
    }
}

@Suite(.onBothDatabases) struct `A request for a certificate in a file` {
    private func certify(_ text: String, _ test: TestService, query: String = "") async throws -> (status: Int, answer: JSON) {
        try await test.post(text, to: "/admin/v1/players\(query)", peer: .local(userID: 0))
    }

    private func request(_ player: TestPlayer, at clock: Instant) async throws -> String {
        try await player.request(nonce: PersonalizationRequest.makeOfflineNonce(), at: clock)
    }

    @Test func `is certified by staff, once, and may link the player`() async throws {
        let test = try await TestService { $0.players.needsAccount = true }
        let alice = try await test.service.accounts.findOrCreate(named: "alice")
        let text = try await request(TestPlayer(), at: test.clock.now)
        #expect(try await test.post(text, to: "/admin/v1/players").status == 401)
        let made = try await certify(text, test, query: "?account=alice")
        #expect(made.status == 200)
        let response = try PersonalizationResponse(made.answer)
        _ = try response.trust.verified(from: nil)
        #expect(try await test.service.players.find(response.player).account == alice.id)
        #expect(try await certify(text, test).answer["code"] == "personalization.nonce")
        let audited = try await test.service.audit.list(AuditFilter()).first { $0.action == "player.certify" }
        #expect(audited?.subject == response.player && audited?.actor == "operator")
        let other = try await request(TestPlayer(), at: test.clock.now)
        #expect(try await certify(other, test, query: "?account=nobody").status == 404)
        #expect(try await certify(other, test).status == 200, "what was refused can be tried again")
    }

    @Test func `is at most thirty days old, and not from the future`() async throws {
        let test = try await TestService()
        let now = test.clock.now
        func code(_ clock: Instant) async throws -> String? {
            try await certify(try await request(TestPlayer(), at: clock), test).answer["code"]?.string
        }
        #expect(try await code(now - .seconds(30 * 86_400)) == nil)
        #expect(try await code(now - .seconds(30 * 86_400 + 1)) == "personalization.old")
        #expect(try await code(now + .seconds(86_400)) == nil)
        #expect(try await code(now + .seconds(86_401)) == "personalization.old")
    }

    @Test func `is not a request with a nonce of the service, and the other way round`() async throws {
        let test = try await TestService()
        let player = TestPlayer()
        let online = try await player.request(nonce: try await player.challenge(of: test), at: test.clock.now)
        #expect(try await certify(online, test).answer["code"] == "personalization.nonce")
        let offline = try await request(player, at: test.clock.now)
        #expect(try await player.send(offline, to: test).answer["code"] == "personalization.nonce")
        for bad in ["offline.", "offline.AAAA", "offline"] {
            let text = try await player.request(nonce: bad, at: test.clock.now)
            #expect(try await certify(text, test).answer["code"] == "personalization.nonce", "\(bad)")
        }
        #expect(try await certify("a.b.c", test).answer["code"] == "personalization.rejected")
    }
}
