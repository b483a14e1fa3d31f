// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelJSON
import CarrelOrders
import CarrelPasswordHash
import CarrelServer
import CarrelServerTesting
import Testing

/// Views and changes of devices and listening history, by readers and by staff for them.
@Suite(.onBothDatabases)
struct `A reader's devices and history` {
    private let password = "correct horse battery"
    private let local = Peer.local(userID: 0)

    private func service() async throws -> (test: TestService, account: Account, session: HTTPFields) {
        let test = try await TestService(.silence) { $0.passwordCost = .init(memory: 64, passes: 1) }
        let account = try await test.service.desk.create("alice", password: password, by: AuditActor("operator"))
        let token = try await test.service.accounts.issueSession(for: account)
        return (test, account, ["Authorization": "Bearer \(token)"])
    }

    private func signIn(_ test: TestService, _ name: String) async throws {
        let words = ["username": "alice", "password": password, "uuid": "1", "device_name": name]
        #expect(try await test.ask("sign_in", words).xml.hasPrefix("<token>"))
    }

    @Test func `have the name that people give them, whatever the app says later`() async throws {
        let (test, account, session) = try await service()
        try await signIn(test, "SM-G973F")
        let id = try #require(try await test.service.devices.list(of: account).first?.id)
        let (own, staff) = ("/v1/account/devices/\(id)", "/admin/v1/accounts/\(account.id)/devices/\(id)")
        let named = try await test.call(.patch, own, headers: session, body: ["name": "  My\u{7} telephone "])
        #expect(named.json["name"] == "My telephone" && named.json["appName"] == "SM-G973F")
        try await signIn(test, "SM-G973F with a new system")
        let listed = try await test.call(.get, "/v1/account/devices", headers: session).json["devices"]?.array?.first
        #expect(listed?["name"] == "My telephone" && listed?["appName"] == "SM-G973F with a new system")
        let live = try await test.call(.get, "/admin/v1/sessions", peer: local).json["sessions"]?.array ?? []
        #expect(live.contains { $0["deviceName"] == "My telephone" })
        let entries = try await test.call(.get, "/admin/v1/audit?action=device.rename", peer: local).json["entries"]?.array
        #expect(entries?.map { $0["actor"]?.string } == [account.id])

        // It signs out and comes back, and is still called so.
        try await test.service.devices.revoke(id, of: account, isOwner: false, by: AuditActor("operator"))
        try await signIn(test, "x")
        #expect(try await test.service.devices.list(of: account).first?.name == "My telephone")
        let plain = try await test.call(.patch, staff, body: ["name": .null], peer: local)
        #expect(plain.json["name"] == "x")
        for body: JSON in [["name": " \t"], [:], ["name": 7], ["other": "x"]] {
            #expect(try await test.call(.patch, staff, body: body, peer: local).status == 400, "\(body)")
        }
        #expect(try await test.call(.patch, "\(staff)0", body: ["name": "x"], peer: local).status == 404)
        let bob = try await test.service.desk.create("bob", by: AuditActor("operator"))
        let others = "/admin/v1/accounts/\(bob.id)/devices/\(id)"
        #expect(try await test.call(.patch, others, body: ["name": "mine"], peer: local).status == 404)
        #expect(try await test.send(.patch, own, body: ["name": "mine"]).status == 401)
    }

    @Test func `are all signed out immediately by staff, like by their owner`() async throws {
        let (test, account, session) = try await service()
        try await signIn(test, "telephone")
        let bob = try await test.service.desk.create("bob", by: AuditActor("operator"))
        let bobs = try await test.service.accounts.issueSession(for: bob)
        let link = try await test.service.desk.makeResetLink(for: account.id, by: AuditActor("operator"))
        let path = "/admin/v1/accounts/\(account.id)/sessions"
        #expect(try await test.call(.get, path, peer: local).json["sessions"]?.array?.count == 2)
        let ended = try await test.call(.delete, path, peer: local)
        #expect(ended.status == 200 && ended.json == ["ended": 2])
        #expect(try await test.call(.get, path, peer: local).json["sessions"] == [])
        #expect(try await test.send(.get, "/v1/account", headers: session).status == 401)
        #expect(try await test.service.devices.list(of: account).allSatisfy { $0.freedAt != nil })
        #expect(try await test.send(.get, "/v1/account", headers: ["Authorization": "Bearer \(bobs)"]).status == 200)
        #expect(try await test.send(.get, "/reset/\(link)").status != 200, "the link is void")
        let entries = try await test.call(.get, "/admin/v1/audit?action=session.end", peer: local).json["entries"]?.array
        #expect(entries?.count == 2)
        #expect(try await test.call(.delete, path, peer: local).json == ["ended": 0])
        #expect(try await test.send(.delete, path).status == 401)
    }

    @Test func `come as a table that a spreadsheet can read and cannot be made to run`() async throws {
        let (test, account, session) = try await service()
        let empty = try await test.send(.get, "/v1/account/history.csv", headers: session)
        #expect(String(decoding: empty.body, as: UTF8.self) == "\u{FEFF}Title,Started (UTC),Ended (UTC),From,To,Speed,Device\r\n")
        let order = try await test.order(.init(account: "alice", isbn: TestService.isbn))
        let start = test.clock.now + .seconds(-7200)
        let names = ["a \"phone\", mine", "=1+1", "@x", "-", "plain"]
        let report = (0..<1005).map { index -> JSON in
            let begin = start + .seconds(index)
            return [
                "id": .string(order.id), "startUtc": .string(begin.description),
                "endUtc": .string((begin + .seconds(1)).description), "startPosition": .integer(index % 590),
                "endPosition": .integer(index % 590 + 1), "deviceName": .string(names[index % 5]), "speed": 1.5,
            ]
        }
        #expect(try await test.call(.post, "/v2/states/", body: .array(report)).json["accepted"] == 1005)
        let answer = try await test.send(.get, "/v1/account/history.csv", headers: session)
        #expect(answer.headers["Content-Type"] == "text/csv; charset=utf-8")
        #expect(answer.headers["Content-Disposition"] == "attachment; filename=\"listening-history.csv\"")
        #expect(answer.headers["Cache-Control"] == "no-store")
        let lines = String(decoding: answer.body, as: UTF8.self).split(separator: "\r\n").map(String.init)
        #expect(lines.count == 1006)
        #expect(lines[1] == "Silence,\(start),\(start + .seconds(1)),0:00:00,0:00:01,1.5,\"a \"\"phone\"\", mine\"")
        #expect(lines[2].hasSuffix(",0:00:01,0:00:02,1.5,'=1+1") && lines[3].hasSuffix(",'@x") && lines[4].hasSuffix(",'-"))
        #expect(lines[200].contains(",0:03:19,0:03:20,"))
        #expect(try await test.send(.get, "/v1/account/history.csv").status == 401)

        let path = "/admin/v1/accounts/\(account.id)/history"
        let titles = try await test.call(.get, path, peer: local).json["titles"]?.array
        #expect(titles?.first?["title"] == "Silence" && titles?.count == 1)
        let table = try await test.send(.get, path + ".csv", peer: local)
        #expect(table.body == answer.body)
        let looked = try await test.call(.get, "/admin/v1/audit?action=account.history", peer: local).json["entries"]?.array
        #expect(looked?.map { $0["subject"]?.string } == [account.id, account.id])
        let support = try await test.staffPage(.support)
        #expect(try await support.call(.get, path).status == 403)
        #expect(try await support.send(.get, path + ".csv").status == 403)
    }

    @Test func `are as many as the account's own limit, which can be changed and taken away`() async throws {
        let (test, account, _) = try await service()
        let path = "/admin/v1/accounts/\(account.id)"
        #expect(try await test.call(.get, path, peer: local).json["deviceLimit"]?.isNull == true)
        #expect(try await test.call(.patch, path, body: ["deviceLimit": 1], peer: local).json["deviceLimit"] == 1)
        try await signIn(test, "one")
        let words = ["username": "alice", "password": password, "uuid": "2"]
        #expect(try await test.ask("sign_in", words).xml.contains("devicelimit"))
        #expect(try await test.call(.patch, path, body: ["deviceLimit": .null], peer: local).json["deviceLimit"]?.isNull == true)
        #expect(try await test.ask("sign_in", words).xml.hasPrefix("<token>"))
        let shown = try await test.call(.get, path, peer: local).json
        #expect(shown["hasPassword"] == true && shown["createdAt"]?.string == test.clock.now.description)
    }
}
