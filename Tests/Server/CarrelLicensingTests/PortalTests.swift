// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAdministration
import CarrelAudit
import CarrelAuthority
import CarrelBytes
import CarrelCatalog
import CarrelKeyStore
import CarrelCrypto
import CarrelHTTP
import CarrelJSON
import CarrelLicensing
import CarrelRights
import CarrelServer
import CarrelServerTesting
import CarrelStore
import CarrelStreaming
import CarrelTesting
import CarrelTokens
import Testing

/// Two portals with a back-office key each.
private struct Portals {
    let test: TestService
    let first: (id: String, text: String)
    let second: (id: String, text: String)

    static let key = "000102030405060708090a0b0c0d0e0f"
    static let local = Peer.local(userID: 0)

    init(_ contents: TestService.Contents = .nothing, role: Role = .portal) async throws {
        test = try await TestService(contents, with: [.licensing, .administration]) {
            $0.stream.publicURL = "https://books.example.org"
        }
        let accounts = test.service.accounts
        let (one, oneText) = try await accounts.createServiceKey(name: "films", role: role, by: .operator)
        let (two, twoText) = try await accounts.createServiceKey(name: "books", role: role, by: .operator)
        (first, second) = ((one.id, oneText), (two.id, twoText))
    }

    /// Asks the token API as a portal.
    func ask(_ path: String, _ parameters: [String: String], as portal: (id: String, text: String)) async throws -> (
        status: Int, text: String
    ) {
        let all = parameters.merging(["customerAuthenticator": "\(portal.id),\(portal.text)", "errorFormat": "json"]) { $1 }
        let form = all.map { "\(PercentEncoding.encode($0.key))=\(PercentEncoding.encode($0.value))" }.joined(separator: "&")
        let request = HTTPRequest(
            .post,
            path,
            headers: ["Content-Type": "application/x-www-form-urlencoded"],
            body: Array(form.utf8),
            peer: .network(address: "192.0.2.1", port: 1)
        )
        let response = await test.service.router.respond(to: request)
        let bytes = try await response.body.collect(upTo: 1 << 20)
        return (response.status.rawValue, String(decoding: bytes, as: UTF8.self))
    }

    func token(_ parameters: [String: String], as portal: (id: String, text: String)) async throws -> (status: Int, text: String)
    {
        let license = ["actionTokenType": "1", "rightsType": "BuyToOwn"]
        return try await ask("/hms/bb/token", parameters.merging(license) { $1 }, as: portal)
    }

    func store(_ id: KeyID, as portal: (id: String, text: String)?, owner: String? = nil) async throws -> Int {
        var body: JSONObject = ["key": .string(Self.key)]
        body["owner"] = owner.map { .string($0) }
        let path = "/admin/v1/content-keys/\(id.hex)"
        guard let portal else { return try await test.send(.put, path, body: .object(body), peer: Self.local).status }
        return try await test.send(.put, path, headers: ["Authorization": "Bearer \(portal.text)"], body: .object(body)).status
    }

    /// Redeems an action token.
    func redeem(_ text: String, _ session: KeyRequest.Session = .persist) async throws -> String? {
        let player = try await TestPlayer().personalized(by: test)
        let bytes = Array(text.utf8)
        let token = Base64URL.encode(try ActionToken(parsing: bytes.rawSpan).businessToken)
        return try await player.send(try await player.request(session, of: test, token: token), to: test).problem
    }

    /// The number of the refusal of a token.
    func refusal(_ parameters: [String: String], as portal: (id: String, text: String)) async throws -> Int? {
        code(try await token(parameters, as: portal).text)
    }

    func code(_ text: String) -> Int? {
        let bytes = Array(text.utf8)
        return (try? JSON.parse(bytes.rawSpan))?["errorCode"]?.int
    }
}

@Suite(.onBothDatabases) struct `A portal` {
    @Test func `reads the records of its own tokens alone`() async throws {
        let portals = try await Portals(.silence)
        for (portal, name) in [(portals.first, "one"), (portals.second, "two")] {
            let answer = try await portals.token(
                ["contentId": "cid:\(name)", "contentKey": Portals.key, "cookie": "order"],
                as: portal
            )
            #expect(try await portals.redeem(answer.text) == nil)
        }
        let made = try await portals.test.call(
            .post,
            "/admin/v1/tokens",
            headers: ["Authorization": "Bearer \(portals.first.text)"],
            body: ["title": .string(portals.test.title.id), "redemptions": 2, "serviceURL": "https://books.example.org"]
        )
        #expect(try await portals.redeem(try #require(made.json["bb"]?.string)) == nil)
        let message = try #require(made.json["jwt"]?.string)
        let player = try await TestPlayer().personalized(by: portals.test)
        let redeemed = try await player.send(
            try await player.request(.persist, of: portals.test, token: message),
            to: portals.test
        )
        #expect(redeemed.problem == nil)
        let title = "urn:carrel:title:\(portals.test.title.id)"
        func contents(_ portal: (id: String, text: String), _ parameters: [String: String] = [:]) async throws -> [String] {
            let text = try await portals.ask("/cmiapi/getrecord", parameters, as: portal).text
            let bytes = Array(text.utf8)
            return (try JSON.parse(bytes.rawSpan)["records"]?.array ?? []).compactMap { $0["contentId"]?.string }.sorted()
        }
        #expect(try await contents(portals.first) == ["cid:one", title, title])
        #expect(try await contents(portals.first, ["cookie": "order"]) == ["cid:one"])
        #expect(try await contents(portals.second) == ["cid:two"])
    }

    @Test func `names its own keys, and those without an owner`() async throws {
        let portals = try await Portals()
        let (own, common, other) = (KeyID(label: "own"), KeyID(label: "common"), KeyID(label: "other"))
        #expect(try await portals.store(own, as: portals.first) == 204)
        #expect(try await portals.store(common, as: nil) == 204)
        #expect(try await portals.store(other, as: nil, owner: portals.second.id) == 204)
        for (id, status) in [(own, 200), (common, 200), (other, 404), (KeyID(label: "missing"), 404)] {
            let answer = try await portals.token(["kid": id.hex], as: portals.first)
            #expect(answer.status == status)
            if status == 200 {
                #expect(try await portals.redeem(answer.text) == nil)
            } else {
                #expect(portals.code(answer.text) == -4019)
            }
            let stream = try await portals.ask("/hms/ms3/token", ["kid": id.hex], as: portals.first)
            #expect(status == 200 || portals.code(stream.text) == -4019)
        }
        #expect(try await portals.token(["kid": "^own"], as: portals.first).status == 200)
        #expect(try await portals.refusal(["kid": "^own"], as: portals.second) == -4019)
        #expect(try await portals.refusal(["kid": "^missing"], as: portals.first) == -4019)
        #expect(try await portals.token(["kid": other.hex], as: portals.second).status == 200)
        let list = try await portals.test.call(.get, "/admin/v1/content-keys", peer: Portals.local).json["keys"]?.array ?? []
        let owners = Dictionary(list.map { ($0["kid"]?.string, $0["owner"]?.string) }) { first, _ in first }
        #expect(owners[own.hex] == portals.first.id && owners[common.hex] == .some(nil) && owners[other.hex] == portals.second.id)
    }

    @Test(arguments: [false, true])
    func `names its own keys in messages under a communication key of its own`(hasOwner: Bool) async throws {
        let portals = try await Portals()
        let (own, common, other) = (KeyID(label: "own"), KeyID(label: "common"), KeyID(label: "other"))
        #expect(try await portals.store(own, as: portals.first) == 204)
        #expect(try await portals.store(common, as: nil) == 204)
        #expect(try await portals.store(other, as: portals.second) == 204)
        let id = try #require(KeyID(uuid: "11111111-2222-3333-4444-555555555555"))
        let secret = Array<UInt8>(0..<32)
        let (path, text) = ("/admin/v1/communication-keys/\(id.uuid)", JSON.string(Hex.encode(secret)))
        var body: JSONObject = ["key": text]
        if hasOwner { body["owner"] = .string(portals.first.id) }
        func add(_ body: JSONObject) async throws -> Int {
            try await portals.test.send(.put, path, body: .object(body), peer: Portals.local).status
        }
        #expect(try await add(["key": text, "owner": "nobody"]) == 404)
        #expect(try await add(body) == 204)
        #expect(try await add(["key": text, "owner": .string(portals.second.id)]) == 409, "its owner stays")
        let key = try LicenseMessage.CommunicationKey(id: id, secret: Secret(secret))
        func outcome(_ kid: KeyID) async throws -> String? {
            var entitlement = LicenseMessage.Entitlement(keys: .stored([.init(id: kid)]))
            entitlement.allowsPersistence = true
            entitlement.access.preventsReuse = true
            let message = try LicenseMessage(communicationKeyID: id, id: kid.hex, entitlement: entitlement).write(under: key)
            let player = try await TestPlayer().personalized(by: portals.test)
            return try await player.send(try await player.request(.persist, of: portals.test, token: message), to: portals.test)
                .problem
        }
        #expect(try await outcome(common) == nil)
        #expect(try await outcome(own) == (hasOwner ? nil : "license.key"))
        #expect(try await outcome(other) == "license.key")
        let records = try await portals.ask("/cmiapi/getrecord", [:], as: portals.first).text
        #expect(records.contains(own.contentID) == hasOwner && !records.contains(other.contentID))
        let listed = try await portals.test.call(.get, "/admin/v1/communication-keys", peer: Portals.local).json["keys"]?.array
        #expect(listed?.last?["owner"]?.string == (hasOwner ? portals.first.id : nil))
    }

    @Test(arguments: [Role.portal, .service])
    func `has users of its own, unless it may change accounts`(role: Role) async throws {
        let portals = try await Portals(role: role)
        let accounts = portals.test.service.accounts
        let alice = try await portals.test.service.desk.create("alice", by: .operator)
        let content = ["contentId": "cid:x", "contentKey": Portals.key, "userId": "alice", "userKey": Portals.key]
        let first = try await portals.token(content, as: portals.first)
        #expect(try await portals.redeem(first.text) == nil)
        let linked = try await portals.test.service.players.list(of: alice.id).count
        let own = try await accounts.find(named: "\(portals.first.id):alice")
        #expect(role == .portal ? linked == 0 && own != nil : linked == 1 && own == nil, "\(linked)")
        if role == .portal { #expect(try await accounts.find(named: "\(portals.second.id):alice") == nil) }
    }

    @Test func `stores keys for itself alone, and none of a title`() async throws {
        let portals = try await Portals(.silence)
        let title = KeyID(label: "urn:carrel:title:\(portals.test.title.id)")
        #expect(try await portals.store(title, as: portals.first) == 403)
        #expect(try await portals.store(title, as: nil, owner: portals.first.id) == 403)
        #expect(try await portals.store(title, as: nil) == 204)
        #expect(try await portals.store(KeyID(label: "x"), as: portals.first, owner: portals.second.id) == 403)
        #expect(try await portals.store(KeyID(label: "x"), as: portals.first, owner: portals.first.id) == 204)
        #expect(try await portals.store(KeyID(label: "x"), as: portals.second) == 409, "its key is not the other's to confirm")
        #expect(try await portals.store(KeyID(label: "x"), as: portals.first) == 204)
        #expect(try await portals.store(KeyID(label: "y"), as: nil, owner: "nobody") == 404)
    }

    @Test func `stores no key that a protected edition will have`() async throws {
        let portals = try await Portals()
        let file = portals.test.directory.write("x.epub", EditionFiles.epub())
        let edition = try await portals.test.ingest(file, "book") { $0.licensed = .also }.edition
        for number in [2, 3, 65] {
            let id = TitleContent.keyID(ofTitle: edition.title.id, number: number)
            #expect(id == KeyID(label: "urn:carrel:title:\(edition.title.id)\n\(number)"))
            #expect(try await portals.store(id, as: portals.first) == 403, "\(number)")
        }
    }

    @Test func `loses a token's key when another portal stores one under its id`() async throws {
        let portals = try await Portals()
        let id = KeyID(label: "film")
        #expect(try await portals.store(id, as: portals.first) == 204)
        let token = try await portals.token(["kid": id.hex], as: portals.first).text
        #expect(try await portals.test.send(.delete, "/admin/v1/content-keys/\(id.hex)", peer: Portals.local).status == 204)
        #expect(try await portals.redeem(token) == "license.key")
        #expect(try await portals.store(id, as: portals.second) == 204)
        #expect(try await portals.redeem(token) == "license.key")
    }

    @Test func `asks for tokens and does nothing else`() async throws {
        let portals = try await Portals()
        let field: HTTPFields = ["Authorization": "Bearer \(portals.first.text)"]
        #expect(Role.portal.permissions == [.issueTokens])
        for path in ["accounts", "orders", "plans", "titles", "licenses", "players", "health", "content-keys"] {
            #expect(try await portals.test.send(.get, "/admin/v1/\(path)", headers: field).status == 403, "\(path)")
        }
        let answer = try await portals.token(["contentId": "cid:x", "contentKey": Portals.key], as: portals.first)
        #expect(answer.status == 200)
    }

    @Test func `says how many devices may redeem a token`() async throws {
        let portals = try await Portals()
        let content = ["contentId": "cid:x", "contentKey": Portals.key]
        for value in ["0", "-1", "1000001", "x", ""] {
            let answer = try await portals.token(content.merging(["redemptions": value]) { $1 }, as: portals.first)
            #expect(portals.code(answer.text) == -2035 || value.isEmpty, "\(value): \(answer.text)")
        }
        let two = try await portals.token(content.merging(["redemptions": "2"]) { $1 }, as: portals.first).text
        #expect(try await portals.redeem(two) == nil)
        #expect(try await portals.redeem(two) == nil)
        #expect(try await portals.redeem(two) == "license.token-used")
    }

    @Test(arguments: ["pr", "wv"]) func `is told in the form that it wants that a system is not served`(system: String)
        async throws
    {
        let portals = try await Portals()
        let answer = try await portals.ask("/hms/\(system)/token", [:], as: portals.first)
        #expect(answer.status == 404 && portals.code(answer.text) == -2031)
        let request = HTTPRequest(.get, "/hms/\(system)/token?errorFormat=html", peer: .network(address: "192.0.2.1", port: 1))
        let response = await portals.test.service.router.respond(to: request)
        #expect(response.status == .notFound && response.headers["Content-Type"] == "text/html; charset=utf-8")
    }

    @Test func `sees a malformed key and a key of another length apart`() async throws {
        let portals = try await Portals()
        let malformed = String(repeating: "zz", count: 16)
        for (key, number) in [(malformed, -2005), ("00", -2027)] {
            #expect(try await portals.refusal(["contentId": "cid:x", "contentKey": key], as: portals.first) == number)
        }
    }
}

@Suite(.onBothDatabases) struct `A content key that was revoked` {
    @Test func `is in the list of revocations for good, and is not added again`() async throws {
        let portals = try await Portals()
        let id = KeyID(label: "leaked")
        #expect(try await portals.store(id, as: portals.first) == 204)
        let token = try await portals.token(["kid": id.hex], as: portals.first).text
        let before = try await portals.test.service.authority.revocationNumber()
        let path = "/admin/v1/content-keys/\(id.hex)"
        #expect(try await portals.redeem(token) == nil)
        #expect(
            try await portals.test.send(.delete, "\(path)?revoke=true", peer: Portals.local).status == 409,
            "a live license has it"
        )
        #expect(try await portals.test.send(.delete, "\(path)?revoke=true&force=true", peer: Portals.local).status == 204)
        #expect(try await portals.test.service.authority.revocationNumber() > before)
        let keys = try await portals.test.service.authority.keys().document
        let list = try Revocations(try await portals.test.service.authority.revocations(), keys: keys)
        #expect(list.keyIDs == [id.hex])
        #expect(try await portals.store(id, as: portals.first) == 409)
        #expect(try await portals.store(id, as: nil) == 409)
        let inline = ["kid": id.hex, "contentKey": Portals.key]
        #expect(try await portals.refusal(inline, as: portals.first) == -4019, "no device would play it")
        let byStaff = try await portals.test.service.database.read {
            try $0.row(SQL("SELECT by_staff FROM revoked_rights WHERE kind = 'kid'"))?.integer(0)
        }
        #expect(byStaff == 1, "it never gives way to other entries")
        portals.test.clock.advance(by: .seconds(400 * 86_400))
        while try await portals.test.service.housekeeping.run() > 0 {}
        let later = try Revocations(
            try await portals.test.service.authority.revocations(),
            keys: try await portals.test.service.authority.keys().document
        )
        #expect(later.keyIDs == [id.hex])
    }

    @Test func `can have been removed before`() async throws {
        let portals = try await Portals()
        let id = KeyID(label: "leaked")
        #expect(try await portals.test.send(.delete, "/admin/v1/content-keys/\(id.hex)", peer: Portals.local).status == 404)
        #expect(
            try await portals.test.send(.delete, "/admin/v1/content-keys/\(id.hex)?revoke=true", peer: Portals.local).status
                == 204
        )
    }
}
