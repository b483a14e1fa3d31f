// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelCatalog
import CarrelCrypto
import CarrelHTTP
import CarrelJSON
import CarrelLicensing
import CarrelPasswordHash
import CarrelRelay
import CarrelRights
import CarrelServer
import CarrelServerTesting
import CarrelStore
import CarrelTesting
import CarrelTokens
import Glibc
import Testing

/// The record of who did what.
struct `The audit log` {
    /// Something that staff can do.
    struct Act {
        /// Its route.
        let route: String
        let target: String
        var body: JSON?
        var upload: [UInt8] = []
        /// Its name in the log.
        let action: String
        /// The subject; nil for a new one, whose id is not known before.
        let subject: String?
        let type: String

        init(
            _ route: String,
            _ target: String? = nil,
            _ body: JSON? = nil,
            upload: [UInt8] = [],
            type: String = "application/octet-stream",
            as action: String,
            on subject: String? = nil
        ) {
            self.route = route
            self.target = target ?? String(route.split(separator: " ")[1])
            self.body = body
            self.upload = upload
            self.action = action
            self.subject = subject
            self.type = type
        }
    }

    /// Calls without changes: signing in and out, which has its own tests, and reading. Purchases in a store need the store's
    /// signatures, and have their own tests too.
    private static let exempt: Set<String> = [
        "POST /admin/v1/session", "DELETE /admin/v1/session", "POST /admin/v1/setup", "POST /admin/v1/audit/verify",
        "POST /admin/v1/audit/archive/verify",
        "POST /admin/v1/canned-users/{user}/check", "POST /admin/v1/accounts/{account}/receipts",
        "DELETE /admin/v1/accounts/{account}/receipts/{environment}/{original}",
        // Only a command on the home itself does these; its tests look into the log too.
        "POST /admin/v1/accessions/titles", "POST /admin/v1/accessions/editions", "POST /admin/v1/accessions/take-back",
        "POST /admin/v1/accessions/pages", "POST /admin/v1/audit/archived", "POST /admin/v1/pki/export-root",
        "POST /admin/v1/pki/remove-root", "POST /admin/v1/pki/import-root",
    ]

    /// Every staff action, once, on existing objects.
    private func acts(_ test: TestService, _ page: StaffPage) async throws -> [Act] {
        let service = test.service
        let alice = try await service.desk.create("alice", password: StaffPage.password, by: .operator)
        for device in ["phone", "tablet"] {
            _ = try await test.ask("sign_in", ["username": "alice", "password": StaffPage.password, "uuid": device])
        }
        func ids(_ path: String, _ list: String) async throws -> [String] {
            let found = try await page.call(.get, "/admin/v1/accounts/\(alice.id)/\(path)").json[list]?.array ?? []
            return found.compactMap { $0["id"]?.string }
        }
        func made(_ target: String, _ body: JSON) async throws -> String {
            try #require(try await page.call(.post, "/admin/v1/\(target)", body).json["id"]?.string, "\(target)")
        }
        let dora = try await service.desk.create("dora", password: nil, by: .operator)
        let (path, account) = ("/admin/v1/accounts/\(alice.id)", "/admin/v1/accounts/{account}")
        let device = try #require(try await ids("devices", "devices").first)
        let session = try #require(
            try await page.call(.get, "/admin/v1/accounts/\(alice.id)/sessions").json["sessions"]?.array?
                .first { $0["device"]?.string != device }?["id"]?.string
        )
        _ = try await page.call(.post, "/admin/v1/plans", ["name": "gold"])
        let subscription = try await made("accounts/\(alice.id)/subscriptions", ["plan": "gold"])
        let purchase = try await made("accounts/\(alice.id)/purchases", ["product": "issue-1"])
        let password = try await made("accounts/\(alice.id)/app-passwords", ["name": "reader", "scopes": ["opds"]])
        let key = try await made("service-keys", ["name": "shop", "role": "service"])
        var orders: [String] = []
        for number in 1...3 {
            orders.append(
                try await made(
                    "orders",
                    ["account": "bob", "title": .string(test.title.id), "orderNumber": .string("\(number)")]
                )
            )
        }
        _ = try await test.ingest(EditionFiles.folder(test.directory), "issue-1")
        let identity = "issuer=https%3A%2F%2Fid.example&subject=a1"
        let other: JSON = ["account": "carol", "title": .string(test.title.id), "orderNumber": "9"]
        let player = try #require(try await TestPlayer().personalize(test).answer["player"]?.string)
        let licensed = try await TestPlayer().personalized(by: test)
        var rules = BusinessRules(kind: .license, expiresAt: test.clock.now + .seconds(3600))
        rules.contents = [.init(contentID: "cid:x", keyID: KeyID(label: "x"), key: .random(count: 16))]
        (rules.rights, rules.isStorable) = (.buyToOwn, true)
        let token = try await service.businessTokens.seal(rules, at: test.clock.now).text
        let asked = try await licensed.request(.persist, of: test, token: token)
        let license = try #require(try await licensed.send(asked, to: test).license).id
        let playerActs = ["suspend", "resume", "revoke"].map { verb in
            Act(
                "POST /admin/v1/players/{player}/\(verb)",
                "/admin/v1/players/\(player)/\(verb)",
                as: "player.\(verb)",
                on: player
            )
        }
        let offline = try await TestPlayer().request(nonce: PersonalizationRequest.makeOfflineNonce(), at: test.clock.now)
        return playerActs + [
            Act(
                "POST /admin/v1/players",
                upload: Array(offline.utf8),
                type: "application/jose",
                as: "player.certify"
            ),
            Act(
                "POST /admin/v1/licenses/{license}/revoke",
                "/admin/v1/licenses/\(license)/revoke",
                as: "license.revoke",
                on: license
            ),
            Act(
                "PUT /admin/v1/content-keys/{kid}",
                "/admin/v1/content-keys/000102030405060708090a0b0c0d0e0f",
                ["key": "000102030405060708090a0b0c0d0e0f"],
                as: "content-key.add",
                on: "000102030405060708090a0b0c0d0e0f"
            ),
            Act(
                "PATCH /admin/v1/content-keys/{kid}",
                "/admin/v1/content-keys/000102030405060708090a0b0c0d0e0f",
                ["clearKey": true],
                as: "content-key.clear-key",
                on: "000102030405060708090a0b0c0d0e0f"
            ),
            Act(
                "POST /admin/v1/relays/{name}/messages",
                "/admin/v1/relays/fairplay/messages",
                ["entitlement": ["type": "entitlement_message", "version": 1, "keys_based_on_request": true]],
                as: "relay.message",
                on: "fairplay"
            ),
            Act(
                "DELETE /admin/v1/content-keys/{kid}",
                "/admin/v1/content-keys/000102030405060708090a0b0c0d0e0f",
                as: "content-key.remove",
                on: "000102030405060708090a0b0c0d0e0f"
            ),
            Act(
                "POST /admin/v1/tokens",
                nil,
                ["title": .string(test.title.id), "account": "dora", "serviceURL": "https://books.example.org"],
                as: "token.issue"
            ),
            Act(
                "PUT /admin/v1/communication-keys/{id}",
                "/admin/v1/communication-keys/11111111-2222-3333-4444-555555555555",
                ["key": "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"],
                as: "communication-key.add",
                on: "11111111-2222-3333-4444-555555555555"
            ),
            Act(
                "DELETE /admin/v1/communication-keys/{id}",
                "/admin/v1/communication-keys/11111111-2222-3333-4444-555555555555",
                as: "communication-key.remove",
                on: "11111111-2222-3333-4444-555555555555"
            ),
            Act("POST /admin/v1/pki/rotate", nil, ["use": "license"], as: "pki.rotate", on: "license"),
            Act(
                "POST /admin/v1/accounts",
                nil,
                ["name": "carol", "password": .string(StaffPage.password)],
                as: "account.create"
            ),
            Act(
                "PATCH \(account)/devices/{device}",
                "\(path)/devices/\(device)",
                ["name": "pad"],
                as: "device.rename",
                on: device
            ),
            Act("DELETE /admin/v1/upstream-readers", "/admin/v1/upstream-readers?name=bob", as: "upstream.forget", on: ""),
            Act("DELETE \(account)/devices/{device}", "\(path)/devices/\(device)", as: "device.revoke", on: device),
            Act("DELETE \(account)/sessions/{session}", "\(path)/sessions/\(session)", as: "session.end", on: session),
            Act("DELETE \(account)/devices", "\(path)/devices", as: "device.revoke-all", on: alice.id),
            Act("PATCH \(account)", path, ["suspended": true], as: "account.suspend", on: alice.id),
            Act("PATCH \(account)", path, ["suspended": false], as: "account.resume", on: alice.id),
            Act("PATCH \(account)", path, ["deviceLimit": 3], as: "account.device-limit", on: alice.id),
            Act(
                "POST \(account)/app-passwords",
                "\(path)/app-passwords",
                ["name": "e-reader", "scopes": ["opds"]],
                as: "app-password.create"
            ),
            Act(
                "DELETE \(account)/app-passwords/{password}",
                "\(path)/app-passwords/\(password)",
                as: "app-password.revoke",
                on: alice.id
            ),
            Act("PATCH \(account)", path, ["password": "another password"], as: "account.password", on: alice.id),
            Act("POST \(account)/reset-links", "\(path)/reset-links", as: "account.reset-link", on: alice.id),
            Act(
                "POST \(account)/identities",
                "\(path)/identities",
                ["issuer": "https://id.example", "subject": "a1"],
                as: "identity.link",
                on: alice.id
            ),
            Act("DELETE \(account)/identities", "\(path)/identities?\(identity)", as: "identity.unlink", on: alice.id),
            Act("PUT \(account)/role", "\(path)/role", ["role": "support"], as: "staff.role", on: alice.id),
            Act("POST /admin/v1/setup-links", nil, [:], as: "setup-link.create"),
            Act("POST /admin/v1/sign-in-links", nil, ["account": "alice"], as: "sign-in-link.create", on: alice.id),
            Act("POST /admin/v1/sessions", nil, ["account": "alice"], as: "session.issue", on: alice.id),
            Act("DELETE \(account)/sessions", "\(path)/sessions", as: "session.end"),
            Act("POST /admin/v1/service-keys", nil, ["role": "admin"], as: "service-key.create"),
            Act("DELETE /admin/v1/service-keys/{key}", "/admin/v1/service-keys/\(key)", as: "service-key.revoke", on: key),
            Act("POST /admin/v1/plans", nil, ["name": "silver"], as: "plan.create", on: "silver"),
            Act(
                "POST \(account)/subscriptions",
                "\(path)/subscriptions",
                ["plan": "gold", "number": "2"],
                as: "subscription.create",
                on: alice.id
            ),
            Act(
                "POST /admin/v1/subscriptions/{subscription}/end",
                "/admin/v1/subscriptions/\(subscription)/end",
                [:],
                as: "subscription.end",
                on: subscription
            ),
            Act(
                "POST /admin/v1/subscriptions/{subscription}/revoke",
                "/admin/v1/subscriptions/\(subscription)/revoke",
                as: "subscription.revoke",
                on: subscription
            ),
            Act("POST \(account)/purchases", "\(path)/purchases", ["product": "issue-2"], as: "purchase.create", on: alice.id),
            Act(
                "POST /admin/v1/purchases/{purchase}/end",
                "/admin/v1/purchases/\(purchase)/end",
                [:],
                as: "purchase.end",
                on: purchase
            ),
            Act("POST /admin/v1/credentials/revoke", nil, ["account": "alice"], as: "credentials.revoke", on: alice.id),
            Act("POST /admin/v1/throttle/clear", nil, ["account": "alice"], as: "throttle.clear", on: alice.id),
            Act("POST /admin/v1/credential-key/rotate", as: "credentials.rotate", on: ""),
            Act("POST /admin/v1/ticket-key/rotate", as: "ticket-key.rotate", on: ""),
            Act("POST /admin/v1/token-key/rotate", as: "token-key.rotate", on: ""),
            Act("POST /admin/v1/master-key/add", nil, [:], as: "master-key.add", on: ""),
            Act("POST /admin/v1/master-key/rotate", as: "master-key.rotate", on: ""),
            Act("POST /admin/v1/orders", nil, other, as: "order.create"),
            Act("POST /admin/v1/orders/{order}/cancel", "/admin/v1/orders/\(orders[0])/cancel", as: "order.cancelled"),
            Act("POST /admin/v1/orders/{order}/return", "/admin/v1/orders/\(orders[1])/return", as: "order.returned"),
            Act("POST /admin/v1/orders/{order}/revoke", "/admin/v1/orders/\(orders[2])/revoke", as: "order.revoked"),
            Act(
                "PATCH /admin/v1/editions/{product}",
                "/admin/v1/editions/issue-1",
                ["price": "free"],
                as: "edition.change",
                on: "issue-1"
            ),
            Act(
                "POST /admin/v1/editions/{product}/withdraw",
                "/admin/v1/editions/issue-1/withdraw",
                as: "edition.withdraw",
                on: "issue-1"
            ),
            Act(
                "POST /admin/v1/editions/{product}/publish",
                "/admin/v1/editions/issue-1/publish",
                as: "edition.publish",
                on: "issue-1"
            ),
            Act(
                "POST /admin/v1/editions",
                "/admin/v1/editions?productId=paper",
                upload: EditionFiles.pdf,
                as: "edition.ingest"
            ),
            Act(
                "POST \(account)/erase",
                "/admin/v1/accounts/\(dora.id)/erase",
                ["name": "dora"],
                as: "account.erase"
            ),
            Act(
                "PUT /admin/v1/titles/{title}/cover",
                "/admin/v1/titles/\(test.title.id)/cover",
                upload: [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3],
                as: "title.cover",
                on: test.title.id
            ),
            Act(
                "POST /admin/v1/titles",
                "/admin/v1/titles?title=Tone",
                upload: SilentMP3.frames(400),
                as: "title.ingest"
            ),
        ]
    }

    private func send(_ act: Act, _ test: TestService, _ page: StaffPage, id: String) async throws -> (status: Int, text: String)
    {
        let headers: HTTPFields = [
            "X-Carrel-Admin": "page", "Origin": "http://localhost", "Cookie": "carrel_admin=\(page.cookie ?? "")",
            "Content-Type": act.body == nil ? act.type : "application/json",
        ]
        let method = HTTPMethod(rawValue: String(act.route.split(separator: " ")[0]))
        let response = await test.service.router.respond(
            to: HTTPRequest(method, act.target, headers: headers, body: act.body?.write() ?? act.upload, id: id)
        )
        return (response.status.rawValue, String(decoding: try await response.body.collect(upTo: 1 << 20), as: UTF8.self))
    }

    private static let jam = SQL(
        "CREATE TRIGGER jam BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'the log takes nothing'); END"
    )
    private static let unjam = SQL("DROP TRIGGER jam")
    private static let tableNames = SQL(
        """
        SELECT name FROM sqlite_master
        WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND (name NOT LIKE 'edition_search%' OR name = 'edition_search')
        """
    )
    private static let tables = [
        "accounts": SQL("SELECT * FROM accounts"),
        "app_passwords": SQL("SELECT * FROM app_passwords"),
        "audit": SQL("SELECT * FROM audit"), "audit_pages": SQL("SELECT * FROM audit_pages"),
        "audit_marks": SQL("SELECT * FROM audit_marks"),
        "communication_keys": SQL("SELECT * FROM communication_keys"),
        "bookmarks": SQL("SELECT * FROM bookmarks"),
        "content_keys": SQL("SELECT * FROM content_keys"), "licenses": SQL("SELECT * FROM licenses"),
        "redemptions": SQL("SELECT * FROM redemptions"),
        "credential_serial": SQL("SELECT * FROM credential_serial"),
        "devices": SQL("SELECT * FROM devices"),
        "edition_resources": SQL("SELECT * FROM edition_resources"),
        "edition_search": SQL("SELECT * FROM edition_search"),
        "editions": SQL("SELECT * FROM editions"), "guests": SQL("SELECT * FROM guests"),
        "identities": SQL("SELECT * FROM identities"),
        "installation": SQL("SELECT * FROM installation"),
        "intervals": SQL("SELECT * FROM intervals"),
        "link_codes": SQL("SELECT * FROM link_codes"),
        "master_keys": SQL("SELECT * FROM master_keys"),
        "nodes": SQL("SELECT * FROM nodes"),
        "orders": SQL("SELECT * FROM orders"),
        "pki_documents": SQL("SELECT * FROM pki_documents"), "pki_keys": SQL("SELECT * FROM pki_keys"),
        "plan_products": SQL("SELECT * FROM plan_products"),
        "plans": SQL("SELECT * FROM plans"),
        "player_certificates": SQL("SELECT * FROM player_certificates"), "player_nonces": SQL("SELECT * FROM player_nonces"),
        "players": SQL("SELECT * FROM players"),
        "purchases": SQL("SELECT * FROM purchases"),
        "revoked_rights": SQL("SELECT * FROM revoked_rights"), "rights_numbers": SQL("SELECT * FROM rights_numbers"),
        "revocations": SQL("SELECT * FROM revocations"),
        "schema_version": SQL("SELECT * FROM schema_version"),
        "secrets": SQL("SELECT * FROM secrets"),
        "service_keys": SQL("SELECT * FROM service_keys"),
        "sessions": SQL("SELECT * FROM sessions"),
        "setup_links": SQL("SELECT * FROM setup_links"),
        "sign_in_networks": SQL("SELECT * FROM sign_in_networks"),
        "store_purchases": SQL("SELECT * FROM store_purchases"),
        "store_transactions": SQL("SELECT * FROM store_transactions"),
        "subscriptions": SQL("SELECT * FROM subscriptions"),
        "throttle": SQL("SELECT * FROM throttle"),
        "titles": SQL("SELECT * FROM titles"),
        "upstream_accounts": SQL("SELECT * FROM upstream_accounts"),
        "upstream_grants": SQL("SELECT * FROM upstream_grants"),
        "upstream_tokens": SQL("SELECT * FROM upstream_tokens"),
        "used_sign_ons": SQL("SELECT * FROM used_sign_ons"),
    ]

    /// All that the database holds, in words.
    private func everything(_ test: TestService) async throws -> [String: [String]] {
        try await test.service.database.read { transaction in
            try Self.tables.mapValues { try transaction.rows($0).map { "\($0)" } }
        }
    }

    @Test func `has every change that staff can make, and no change is made without it`() async throws {
        let key = try LicenseMessage.CommunicationKey(id: KeyID(label: "relay"), secret: Secret([UInt8](repeating: 1, count: 32)))
        let test = try await TestService(.silence) {
            $0.passwordCost = .init(memory: 64, passes: 1)
            $0.relays = [RelaySettings(name: "fairplay", url: "https://drm.example.org/", key: key)]
        }
        let page = try await test.staffPage(.owner)
        let acts = try await acts(test, page)
        let changes = test.service.router.routes.filter { $0.pattern.hasPrefix("admin/v1/") && !$0.method.isSafe }
            .map { "\($0.method) /\($0.pattern)" }
        #expect(Set(acts.map(\.route)) == Set(changes).subtracting(Self.exempt))

        let tables = try await test.service.database.read { try $0.rows(Self.tableNames).map { try $0.text(0) } }
        #expect(Set(tables) == Set(Self.tables.keys), "a new table is to be compared too: name it above")
        var secrets: Set<String> = [StaffPage.password, "another password", page.cookie ?? ""]
        for (number, act) in acts.enumerated() {
            _ = try await test.service.database.write { try $0.run(Self.jam) }
            let before = try await everything(test)
            let refused = try await send(act, test, page, id: "jammed-\(number)")
            #expect(refused.status >= 500, "\(act.route): \(refused)")
            let changed = try await everything(test).filter { $0.value != before[$0.key] }.keys.sorted()
            #expect(changed.isEmpty, "\(act.route) changed what the log does not have")
            _ = try await test.service.database.write { try $0.run(Self.unjam) }

            let answer = try await send(act, test, page, id: "request-\(number)")
            #expect((200...299).contains(answer.status), "\(act.route): \(answer)")
            let body = Array(answer.text.utf8)
            let json = body.isEmpty ? JSON.null : try JSON.parse(body.rawSpan)
            for name in ["key", "token", "password", "path"] { if let secret = json[name]?.string { secrets.insert(secret) } }
            var filter = AuditFilter()
            filter.limit = 1000
            let entries = try await test.service.audit.list(filter).filter { $0.requestID == "request-\(number)" }
            #expect(entries.map(\.action) == [act.action], "\(act.route)")
            for entry in entries {
                #expect(entry.actor == page.account?.id && entry.at == test.clock.now && entry.outcome == .allowed)
                if let subject = act.subject { #expect(entry.subject == subject, "\(act.route)") }
            }
            test.clock.advance(by: .milliseconds(1))
        }

        var all = AuditFilter()
        all.limit = 1000
        for entry in try await test.service.audit.list(all) {
            let text = "\(entry)"
            for secret in secrets where !secret.isEmpty {
                let word = secret.split { "/#=".contains($0) }.last.map(String.init) ?? secret
                #expect(!text.contains(word), "\(entry.action) has a secret")
            }
        }
        #expect(secrets.count >= 9, "keys, tokens, links and passwords were given out")
        try await test.service.audit.seal()
        guard case .intact(let count) = try await test.service.audit.verify() else {
            Issue.record("the chain is broken")
            return
        }
        #expect(count > acts.count)
    }
}
