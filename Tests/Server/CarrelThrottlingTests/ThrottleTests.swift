// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelJSON
import CarrelPasswordHash
import CarrelServer
import CarrelServerTesting
import CarrelStore
import Testing

@Suite(.onBothDatabases)
struct `A password guesser` {
    private let password = "correct horse battery"
    private let staff = AuditActor("operator")

    private enum Answer: Equatable { case token, wrong, throttled, busy, other(String) }

    private func service(cost: Argon2id.Parameters = .init(memory: 64, passes: 1)) async throws -> TestService {
        let test = try await TestService(with: .editionDelivery) { $0.passwordCost = cost }
        _ = try await test.service.desk.create("alice", password: password, by: staff)
        return test
    }

    private func attempt(
        _ test: TestService,
        _ password: String,
        name: String = "alice",
        device: String? = nil,
        from address: String = "192.0.2.1",
        at service: CarrelService? = nil
    ) async throws -> Answer {
        var parameters = ["username": name, "password": password]
        parameters["uuid"] = device
        let reply = try await test.ask("sign_in", parameters, from: address, at: service)
        if reply.status == 503 { return .busy }
        if reply.xml.hasPrefix("<token>") { return .token }
        if reply.xml.contains("status=\"throttled\"") { return .throttled }
        if reply.xml.contains("status=\"notrecognised\"") { return .wrong }
        return .other(reply.xml)
    }

    private func refusals(_ test: TestService, _ reason: String) async throws -> [AuditEntry] {
        var filter = AuditFilter()
        filter.action = "session.start"
        filter.outcome = .refused
        filter.limit = 1000
        return try await test.service.audit.list(filter).filter { $0.reason == reason }
    }

    private func count(_ test: TestService) async throws -> Int64 {
        try await test.service.database.read { try $0.row(SQL("SELECT count(*) FROM throttle"), [])?.integer(0) ?? -1 }
    }

    // MARK: Counters

    @Test func `from one network is slowed down there, while another network signs in`() async throws {
        let test = try await service()
        for number in 1...5 { #expect(try await attempt(test, "wrong \(number)") == .wrong) }
        #expect(try await attempt(test, password) == .throttled)
        #expect(try await attempt(test, password, from: "198.51.100.7") == .token)
        test.clock.advance(by: .seconds(1))
        #expect(try await attempt(test, password) == .token)
    }

    @Test func `from everywhere does not lock out a device or a network that signed in before`() async throws {
        let test = try await service()
        #expect(try await attempt(test, password, device: "phone", from: "198.51.100.9") == .token)
        func guess(_ round: Int) async throws {
            for number in 1...20 {
                #expect(try await attempt(test, "wrong \(number)", from: "10.\(round).0.\(number)") == .wrong)
            }
            #expect(try await attempt(test, password, from: "10.\(round).1.0") == .throttled)
            #expect(try await attempt(test, password, device: "tablet", from: "10.\(round).1.1") == .throttled)
        }
        try await guess(1)
        #expect(try await attempt(test, password, device: "phone", from: "10.1.1.2") == .token)
        try await guess(2)
        #expect(try await attempt(test, password, from: "198.51.100.9") == .token)
        let account = try #require(try await test.service.accounts.find(named: "alice"))
        _ = try await test.service.devices.revokeAll(of: account, by: staff)
        try await guess(3)
        #expect(try await attempt(test, password, device: "phone", from: "10.3.1.2") == .throttled, "it was revoked")
    }

    @Test func `over many names is slowed down by the network, to thirty a minute`() async throws {
        let test = try await service()
        for number in 1...30 { #expect(try await attempt(test, "x", name: "name \(number)") == .wrong) }
        #expect(try await attempt(test, password) == .throttled)
        #expect(try await attempt(test, password, from: "192.0.2.2") == .token)
        for number in 31...33 {
            test.clock.advance(by: .seconds(2))
            #expect(try await attempt(test, "x", name: "name \(number)") == .wrong)
            #expect(try await attempt(test, "x", name: "again") == .throttled)
        }
        test.clock.advance(by: .seconds(61))
        #expect(try await attempt(test, password) == .token)
    }

    @Test func `over many names is forgotten by the network a minute after, and by no right password`() async throws {
        for (pause, isForgotten) in [(Duration.milliseconds(59_999), false), (.seconds(60), true)] {
            let test = try await service()
            for number in 1...30 { #expect(try await attempt(test, "x", name: "name \(number)") == .wrong) }
            test.clock.advance(by: pause)
            #expect(try await attempt(test, "x", name: "later") == .wrong)
            #expect(try await attempt(test, "x", name: "again") == (isForgotten ? .wrong : .throttled))
        }
        let test = try await service()
        for number in 1...30 { #expect(try await attempt(test, "x", name: "name \(number)") == .wrong) }
        test.clock.advance(by: .seconds(2))
        #expect(try await attempt(test, password) == .token)
        #expect(try await attempt(test, password) == .throttled)
    }

    @Test func `does not count where the account signed in within ninety days`() async throws {
        for (pause, answer) in [(Duration.milliseconds(-1), Answer.token), (.zero, .throttled)] {
            let test = try await service()
            #expect(try await attempt(test, password, from: "198.51.100.9") == .token)
            test.clock.advance(by: .seconds(90 * 24 * 3600) + pause)
            for number in 1...20 { #expect(try await attempt(test, "wrong \(number)", from: "10.0.0.\(number)") == .wrong) }
            #expect(try await attempt(test, password, from: "198.51.100.9") == answer)
        }
    }

    @Test func `over many names is slowed down as the operator says: a school may share an address`() async throws {
        let test = try await TestService(with: .editionDelivery) {
            $0.passwordCost = .init(memory: 64, passes: 1)
            $0.signInNetworkLimit = 90
        }
        for number in 1...90 { #expect(try await attempt(test, "x", name: "name \(number)") == .wrong) }
        #expect(try await attempt(test, "x", name: "one more") == .throttled)
        test.clock.advance(by: .milliseconds(667))
        #expect(try await attempt(test, "x", name: "one more") == .wrong)
        #expect(try await attempt(test, "x", name: "another") == .throttled)
        let strict = try await TestService(with: .editionDelivery) {
            $0.passwordCost = .init(memory: 64, passes: 1)
            $0.signInNetworkLimit = 1
        }
        #expect(try await attempt(strict, "x", name: "first") == .wrong)
        #expect(try await attempt(strict, "x", name: "second") == .throttled)
        strict.clock.advance(by: .seconds(60))
        #expect(try await attempt(strict, "x", name: "second") == .wrong)
    }

    @Test func `is not a network whose readers sign in rightly`() async throws {
        let test = try await service()
        for _ in 1...60 { #expect(try await attempt(test, password) == .token) }
    }

    @Test func `is one network within a 64 of IPv6, and each other 64 another`() async throws {
        let test = try await service()
        for number in 1...5 {
            #expect(try await attempt(test, "wrong \(number)", from: "2001:db8:0:1::\(number)") == .wrong)
        }
        #expect(try await attempt(test, password, from: "2001:db8:0:1:ffff::1") == .throttled)
        #expect(try await attempt(test, password, from: "2001:db8:0:2::1") == .token)
        for number in 1...5 { #expect(try await attempt(test, "wrong \(number)", from: "::7:0:0:0:\(number)") == .wrong) }
        #expect(try await attempt(test, password, from: "7::1") == .token)
    }

    @Test func `with a whole 48 of IPv6 is slowed down, and leaves no more rows`() async throws {
        let test = try await service()
        for number in 0..<240 {
            let subnet = String(number, radix: 16)
            #expect(try await attempt(test, "x", name: "name \(number)", from: "2001:db8:0:\(subnet)::1") == .wrong)
        }
        let rows = try await count(test)
        #expect(try await attempt(test, "x", name: "more", from: "2001:db8:0:f000::1") == .throttled)
        #expect(try await count(test) == rows)
        #expect(try await attempt(test, password, from: "2001:db8:1::1") == .token)
        test.clock.advance(by: .seconds(1))
        #expect(try await attempt(test, password, from: "2001:db8:0:f001::1") == .token)
    }

    @Test func `still waits after a restart`() async throws {
        let test = try await service()
        for number in 1...5 { #expect(try await attempt(test, "wrong \(number)") == .wrong) }
        let again = try await CarrelService.open(test.service.home, database: test.service.database, clock: test.clock)
        #expect(try await attempt(test, password, at: again) == .throttled)
    }

    @Test func `leaves nothing stored while too many wait`() async throws {
        let test = try await service(cost: .init(memory: 16_384, passes: 2))
        let answers = await withTaskGroup(of: Answer.self) { group in
            for number in 0..<200 {
                let (name, address) = ("name \(number)", "10.0.0.\(number)")
                group.addTask { (try? await attempt(test, "x", name: name, from: address)) ?? .other("error") }
            }
            return await group.reduce(into: [Answer]()) { $0.append($1) }
        }
        let wrong = answers.count { $0 == .wrong }
        #expect(answers.count { $0 == .busy } == 200 - wrong)
        #expect(wrong < 200)
        #expect(try await count(test) == Int64(3 * wrong))
    }

    // MARK: The same again

    @Test(arguments: ["alice", "nobody"])
    func `with the same wrong password is answered from memory, without taking a turn`(name: String) async throws {
        let test = try await service()
        var answers: [Answer] = []
        for _ in 1...65 { answers.append(try await attempt(test, "the old one", name: name)) }
        #expect(answers == Array(repeating: .wrong, count: 61) + Array(repeating: .throttled, count: 4))
        #expect(try await refusals(test, "password").count == 1)
        #expect(try await refusals(test, "throttled").count == 1)
        #expect(try await count(test) == 3)
        #expect(try await attempt(test, password) == .token)
        #expect(try await attempt(test, "the old one", name: name) == .throttled)
        test.clock.advance(by: .seconds(1))
        #expect(try await attempt(test, "the old one", name: name) == .wrong)
    }

    @Test func `with the same wrong password counts for the network if it is not cached`() async throws {
        let test = try await service()
        for _ in 1...30 {
            let fresh = try await CarrelService.open(test.service.home, database: test.service.database, clock: test.clock)
            #expect(try await attempt(test, "the old one", at: fresh) == .wrong)
        }
        #expect(try await attempt(test, "the old one") == .throttled)
    }

    @Test func `is let in by a password that was wrong a moment ago`() async throws {
        let test = try await service()
        for _ in 1...3 { #expect(try await attempt(test, "a new one that is long") == .wrong) }
        let account = try #require(try await test.service.accounts.find(named: "alice"))
        try await test.service.desk.setPassword("a new one that is long", of: account.id, by: staff)
        #expect(try await attempt(test, "a new one that is long") == .token)
        for _ in 1...3 { #expect(try await attempt(test, "x", name: "bob") == .wrong) }
        _ = try await test.service.desk.create("bob", password: "a third that is long", by: staff)
        #expect(try await attempt(test, "a third that is long", name: "bob") == .token)
    }

    @Test func `is in the audit log once for as long as a counter refuses`() async throws {
        let test = try await service()
        let account = try #require(try await test.service.accounts.find(named: "alice"))
        for number in 1...5 { #expect(try await attempt(test, "wrong \(number)") == .wrong) }
        for number in 1...10 { #expect(try await attempt(test, "worse \(number)") == .throttled) }
        let entries = try await refusals(test, "throttled")
        #expect(entries.map(\.subject) == [account.id])
        #expect(try await refusals(test, "password").map(\.subject) == Array(repeating: account.id, count: 5))
        #expect(try await attempt(test, "x", name: "nobody", from: "198.51.100.7") == .wrong)
        #expect(try await refusals(test, "password").count { $0.subject.isEmpty } == 1)
        test.clock.advance(by: .seconds(15 * 60))
        #expect(try await attempt(test, "worst 1") == .wrong)
        #expect(try await attempt(test, "worst 2") == .throttled)
        #expect(try await refusals(test, "throttled").count == 2)
    }

    @Test func `is told how long to wait, in seconds or minutes`() async throws {
        let test = try await service()
        func wait() async throws -> String {
            let reply = try await test.ask("sign_in", ["username": "alice", "password": "guess"])
            return String(reply.xml.split(separator: "Try again in ").last?.prefix { $0 != "." } ?? "")
        }
        for number in 1...5 { #expect(try await attempt(test, "wrong \(number)") == .wrong) }
        #expect(try await wait() == "1 seconds")
        test.clock.advance(by: .milliseconds(600))
        #expect(try await wait() == "1 seconds", "never none")
        // Each further one doubles it: 2, 4, …, 128 seconds.
        test.clock.advance(by: .milliseconds(400))
        for power in 1...7 {
            #expect(try await attempt(test, "worse \(power)") == .wrong)
            if power < 7 { test.clock.advance(by: .seconds(1 << power)) }
        }
        #expect(try await wait() == "3 minutes")
        test.clock.advance(by: .seconds(28))
        #expect(try await wait() == "2 minutes")
        test.clock.advance(by: .seconds(1))
        #expect(try await wait() == "99 seconds")
    }

    // MARK: The clock, and the staff

    @Test func `does not keep others out when the clock goes back: no wait is longer than its rule`() async throws {
        let test = try await service()
        for number in 1...12 {
            _ = try await attempt(test, "wrong \(number)")
            test.clock.advance(by: .seconds(3600))
        }
        #expect(try await attempt(test, "last") == .wrong)
        test.clock.set(test.clock.now - .seconds(3 * 24 * 3600))
        #expect(try await attempt(test, password) == .token, "a counter from the future counts for nothing")
        for number in 1...5 { #expect(try await attempt(test, "typo \(number)") == .wrong) }
        #expect(try await attempt(test, password) == .throttled, "new counters count as always")
        test.clock.set(test.clock.now - .seconds(30))
        #expect(try await attempt(test, password) == .throttled, "another node's clock may be behind by a minute")
        let reply = try await test.ask("sign_in", ["username": "alice", "password": "guess"])
        #expect(reply.xml.contains("Try again in 1 seconds"), "the rule's wait, not half a minute more")
        test.clock.set(test.clock.now - .seconds(31))
        #expect(try await attempt(test, password) == .token)
    }

    private func clear(_ test: TestService, _ body: JSON) async throws -> (status: Int, cleared: Int?) {
        let reply = try await test.call(.post, "/admin/v1/throttle/clear", body: body, peer: .local(userID: 0))
        return (reply.status, reply.json["cleared"]?.int)
    }

    @Test func `is let in again by the staff, by name, by network, or all, and the audit log says so`() async throws {
        let test = try await service()
        let account = try #require(try await test.service.accounts.find(named: "alice"))
        func block(_ name: String = "alice", _ address: String = "192.0.2.1") async throws {
            for number in 1...5 { _ = try await attempt(test, "wrong \(number)", name: name, from: address) }
            #expect(try await attempt(test, "x", name: name, from: address) == .throttled)
        }
        try await block()
        try await block("bob", "198.51.100.7")
        #expect(try await clear(test, ["account": "alice"]) == (200, 2), "of the account, here and from everywhere")
        #expect(try await attempt(test, password) == .token)
        #expect(try await attempt(test, "y", name: "bob", from: "198.51.100.7") == .throttled)
        #expect(try await clear(test, ["network": "198.51.100.7"]).status == 200)
        #expect(try await attempt(test, "y", name: "bob", from: "198.51.100.7") == .wrong)
        for number in 1...40 { _ = try await attempt(test, "x", name: "name \(number)", from: "2001:db8::7") }
        #expect(try await attempt(test, "x", name: "more", from: "2001:db8::7") == .throttled)
        #expect(try await clear(test, ["network": "2001:db8::1234"]).status == 200)
        #expect(try await attempt(test, "x", name: "more", from: "2001:db8::7") == .wrong, "the same /64")
        try await block("carol", "203.0.113.1")
        #expect(try await clear(test, ["all": true]).status == 200)
        #expect(try await count(test) == 0)
        #expect(try await attempt(test, "z", name: "carol", from: "203.0.113.1") == .wrong)
        var filter = AuditFilter()
        filter.action = "throttle.clear"
        let entries = try await test.service.audit.list(filter)
        #expect(entries.map(\.reason).sorted() == ["account", "all", "network", "network"])
        #expect(entries.first { $0.reason == "account" }?.subject == account.id)
    }

    @Test(arguments: ["{}", "{\"all\": false}", "{\"all\": true, \"account\": \"a\"}", "{\"other\": 1}"])
    func `is cleared by a body that says exactly what`(body: String) async throws {
        let test = try await service()
        #expect(try await clear(test, try JSON.parse(Array(body.utf8).rawSpan)).status == 400)
    }

    // MARK: Devices

    @Test(arguments: ["192.0.2.1", "2001:db8::1"])
    func `does not lock out a device that signed in before`(address: String) async throws {
        let test = try await service()
        func phone(_ word: String) async throws -> Answer { try await attempt(test, word, device: "phone", from: address) }
        #expect(try await phone(password) == .token)
        for number in 1...20 {
            _ = try await attempt(test, "wrong \(number)", device: "tablet", from: address)
            test.clock.advance(by: .seconds(1))
        }
        #expect(try await attempt(test, password, device: "tablet", from: address) == .throttled, "of the account here")
        #expect(try await phone(password) == .token)
        for number in 1...60 { _ = try await attempt(test, "x", name: "name \(number)", from: address) }
        #expect(try await attempt(test, "x", name: "one more", from: address) == .throttled, "of the network")
        for _ in 1...5 { #expect(try await phone(password) == .token) }
        _ = try await test.ask("sign_out", ["token": try await test.ask("sign_in", signingIn("phone"), from: address).token])
        #expect(try await phone(password) == .token, "it signed out, and is the same device")
        for subnet in 0..<260 {
            let other = String(subnet, radix: 16)
            _ = try await attempt(test, "x", name: "guest \(subnet)", from: "2001:db8:0:\(other)::7")
        }
        #expect(try await phone(password) == .token, "whatever is in the wider network")
        for number in 1...5 { #expect(try await phone("bad \(number)") == .wrong) }
        #expect(try await phone(password) == .throttled, "what it did itself")
        #expect(try await attempt(test, password, device: "phone", from: "198.51.100.7") == .token, "elsewhere it is as anybody")
    }

    @Test func `with the id of a device has a few more guesses, from wherever, and locks it out of nowhere else`() async throws {
        let test = try await service()
        #expect(try await attempt(test, password, device: "phone", from: "198.51.100.9") == .token)
        var looked = 0
        for number in 1...200 {
            let answer = try await attempt(test, "wrong \(number)", device: "phone", from: "10.0.0.\(number)")
            if answer == .wrong { looked += 1 }
        }
        #expect(looked == 25, "five of the device's counter, and the account's twenty")
        for number in 1...5 { _ = try await attempt(test, "worse \(number)", device: "phone", from: "10.0.1.1") }
        #expect(try await attempt(test, password, device: "phone", from: "198.51.100.9") == .token)
    }

    @Test func `cannot make room for others' passwords by knowing one of their own`() async throws {
        let test = try await service()
        var looked = 0
        for number in 1...60 {
            #expect(try await attempt(test, password, device: "phone") == .token)
            if try await attempt(test, "x", name: "name \(number)") == .wrong { looked += 1 }
        }
        #expect(looked == 30)
    }

    private func signingIn(_ device: String) -> [String: String] { ["username": "alice", "password": password, "uuid": device] }

    @Test(arguments: ["", " ", "0", "00000000-0000-0000-0000-000000000000", "null", "(null)"])
    func `sends no device does not share it with all others who send none`(nothing: String) async throws {
        let test = try await service()
        let account = try #require(try await test.service.accounts.find(named: "alice"))
        for _ in 1...2 { #expect(try await attempt(test, password, device: nothing) == .token) }
        #expect(try await test.service.devices.list(of: account).count == 2)
        let both = ["username": "alice", "password": password, "uuid": nothing, "device_id": "phone"]
        for _ in 1...2 { #expect(try await test.ask("sign_in", both).xml.hasPrefix("<token>")) }
        #expect(try await test.service.devices.list(of: account).count == 3)
        for number in 1...20 { _ = try await attempt(test, "wrong \(number)", from: "10.0.0.\(number)") }
        #expect(try await attempt(test, password, device: nothing, from: "10.0.1.1") == .throttled)
    }
}
