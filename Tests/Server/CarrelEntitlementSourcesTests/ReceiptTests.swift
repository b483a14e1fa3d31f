// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelCrypto
import CarrelEntitlementSources
import CarrelEntitlements
import CarrelHTTP
import CarrelJSON
import CarrelReceipts
import CarrelServer
import CarrelServerTesting
import CarrelSubscription
import CarrelTesting
import Testing

@Suite(.onBothDatabases)
struct `Purchases in an app store` {
    let day = Duration.seconds(86_400)

    /// A service that trusts a store of the test's own; two accounts, two plans and an issue.
    struct Shop {
        let store: TestStore
        let test: TestService
        let (alice, bob): (Account, Account)

        init(_ configure: (inout CarrelService.Settings) -> Void = { _ in }) async throws {
            let store = try await TestStore()
            self.store = store
            test = try await TestService(with: [.editionDelivery, .administration]) { settings in
                if let root = try? Certificate(der: store.root), let roots = try? CertificateRoots([root]) {
                    settings.receipts.verifier = TransactionVerifier(roots: roots, bundleIDs: ["com.example.reader"])
                }
                settings.receipts.products = StoreProducts(plans: [
                    .init(pattern: "com.example.monthly", plan: "gold"), .init(pattern: "com.example.list.*", plan: "box"),
                    .init(pattern: "com.example.missing", plan: "missing"),
                ])
                configure(&settings)
            }
            let subscriptions = test.service.subscriptions
            try await subscriptions.createPlan(Plan(name: "gold", scope: .everything), by: AuditActor("operator"))
            let box = Plan(name: "box", scope: .listed, products: ["issue-2"])
            try await subscriptions.createPlan(box, by: AuditActor("operator"))
            let accounts = test.service.accounts
            (alice, bob) = try await (accounts.findOrCreate(named: "alice"), accounts.findOrCreate(named: "bob"))
            try await test.add(product: "issue-1")
            try await test.add(product: "issue-2")
        }

        var now: Instant { test.clock.now }

        func month(_ changes: [String: JSON?] = [:]) async throws -> String {
            try await store.sign(TestStore.month(now, changes))
        }
        func single(_ changes: [String: JSON?] = [:]) async throws -> String {
            try await store.sign(TestStore.single(now, changes))
        }

        /// Brings signed transactions as an account's app does.
        func bring(_ texts: [String], as account: Account) async throws -> [JSON] {
            let token = try await test.service.accounts.issueSession(for: account)
            let answer = try await test.call(
                .post,
                "/v1/receipts",
                headers: ["Authorization": "Bearer \(token)"],
                body: ["transactions": .array(texts.map { .string($0) })]
            )
            #expect(answer.status == 200, "\(answer.json)")
            return answer.json["transactions"]?.array ?? []
        }

        /// Sends a notification of the store.
        func notify(_ type: String, _ transaction: String) async throws -> Int {
            let data: JSON = [
                "bundleId": "com.example.reader", "environment": "Production", "signedTransactionInfo": .string(transaction),
            ]
            let text = try await store.sign([
                "notificationType": .string(type), "signedDate": .integer(Int(now.milliseconds)), "data": data,
            ])
            return try await test.call(.post, "/v1/receipts/notifications", body: ["signedPayload": .string(text)]).status
        }

        func verdict(_ account: Account, on product: String = "issue-1") async throws -> Entitlement.Verdict {
            try await test.service.subscriptions.explain(product, to: account).verdict
        }

        func audited(_ action: String) async throws -> [AuditEntry] {
            var filter = AuditFilter()
            filter.action = action
            return try await test.service.audit.list(filter).map(\.self)
        }

        /// Asks the old validator.
        func validate(_ body: String, _ query: String = "productid=issue-1") async throws -> SubscriptionReply {
            try await validate(Array(body.utf8), query)
        }

        func validate(_ body: [UInt8], _ query: String = "productid=issue-1") async throws -> SubscriptionReply {
            let request = HTTPRequest(
                .post,
                "/itunes_edition_credentials/?\(query)",
                headers: ["Content-Type": "application/x-www-form-urlencoded"],
                body: body,
                peer: .network(address: "192.0.2.1", port: 1)
            )
            let response = await test.service.router.respond(to: request)
            for (name, value) in [("Pragma", "no-cache"), ("Expires", "0"), ("Referrer-Policy", "no-referrer")] {
                #expect(response.headers[name] == value, "errors too")
            }
            #expect(response.headers["Cache-Control"]?.contains("no-store") == true)
            let text = String(decoding: try await response.body.collect(upTo: 1 << 20), as: UTF8.self)
            let prolog = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n"
            return SubscriptionReply(
                status: response.status.rawValue,
                headers: response.headers,
                xml: text.hasPrefix(prolog) ? String(text.dropFirst(prolog.count).dropLast()) : text
            )
        }
    }

    // MARK: With an account

    @Test func `give an account the plan until the store's end`() async throws {
        let shop = try await Shop()
        #expect(try await shop.verdict(shop.alice) == .notEntitled)
        let bought = try await shop.bring([try await shop.month()], as: shop.alice)
        #expect(bought.first?["status"] == "accepted" && bought.first?["plan"] == "gold")
        #expect(bought.first?["end"]?.string == (shop.now + day * 30).description)
        #expect(try await shop.verdict(shop.alice) == .granted("plan gold"))
        shop.test.clock.advance(by: day * 30)
        #expect(try await shop.verdict(shop.alice) == .expired)
        let renewed = try await shop.month(["transactionId": "2000000002"])
        #expect(try await shop.bring([renewed], as: shop.alice).first?["status"] == "accepted")
        #expect(try await shop.verdict(shop.alice) == .granted("plan gold"))
        #expect(try await shop.audited("receipt.add").map(\.reason) == ["Production/2000000001", "Production/2000000001"])
    }

    @Test func `of a single product last until the money is given back`() async throws {
        let shop = try await Shop()
        let single = try await shop.single()
        #expect(try await shop.bring([single], as: shop.alice).first?["product"] == "issue-1")
        #expect(try await shop.verdict(shop.alice) == .granted("purchase"))
        #expect(try await shop.verdict(shop.alice, on: "issue-2") == .notEntitled)
        shop.test.clock.advance(by: day * 300)
        #expect(try await shop.verdict(shop.alice) == .granted("purchase"))
        let refunded = try await shop.single(["revocationDate": .integer(Int(shop.now.milliseconds))])
        #expect(try await shop.bring([refunded], as: shop.alice).first?["status"] == "revoked")
        #expect(try await shop.verdict(shop.alice) == .notEntitled)
        // What was signed before the refund does not bring it back.
        #expect(try await shop.bring([single], as: shop.alice).first?["status"] == "revoked")
        #expect(try await shop.verdict(shop.alice) == .notEntitled)
    }

    @Test func `belong to the account that brought them first`() async throws {
        let shop = try await Shop()
        let month = try await shop.month()
        #expect(try await shop.bring([month, month], as: shop.alice).map { $0["status"] } == ["accepted", "accepted"])
        _ = try await shop.bring([month], as: shop.alice)
        let held = try await shop.test.service.subscriptions.entitlement(of: shop.alice)
        #expect(held.subscriptions.map(\.id) == ["app-store/Production/2000000001"])
        #expect(try await shop.audited("receipt.add").count == 1)
        // A renewal is of the same purchase.
        for text in [month, try await shop.month(["transactionId": "2000000002"])] {
            let refused = try await shop.bring([text], as: shop.bob)
            #expect(refused.first?["status"] == "refused" && refused.first?["code"] == "receipt.taken")
        }
        #expect(try await shop.verdict(shop.bob) == .notEntitled)
        #expect(try await shop.audited("receipt.add").filter { $0.outcome == .refused }.count == 2)
    }

    @Test func `can be taken from an account, and then be another's`() async throws {
        let shop = try await Shop()
        let month = try await shop.month()
        _ = try await shop.bring([month], as: shop.alice)
        let path = "/admin/v1/accounts/\(shop.alice.id)/receipts"
        let peer = Peer.local(userID: 0)
        #expect(try await shop.test.call(.delete, "\(path)/Production/2000000001").status == 401)
        for unknown in ["Production/1", "Sandbox/2000000001", "Nowhere/2000000001"] {
            #expect(try await shop.test.call(.delete, "\(path)/\(unknown)", peer: peer).status == 404)
        }
        #expect(try await shop.test.call(.delete, "\(path)/Production/2000000001", peer: peer).status == 204)
        #expect(try await shop.verdict(shop.alice) == .notEntitled)
        #expect(try await shop.bring([month], as: shop.bob).first?["status"] == "accepted")
        #expect(try await shop.verdict(shop.bob) == .granted("plan gold"))
        #expect(try await shop.bring([month], as: shop.alice).first?["code"] == "receipt.taken")
    }

    @Test func `are refused one by one`() async throws {
        let shop = try await Shop()
        let good = try await shop.month()
        let texts = [
            try await TestStore().sign(TestStore.month(shop.now)), good, "rubbish",
            try await shop.month(["bundleId": "com.example.other"]), try await shop.month(["environment": "Sandbox"]),
            try await shop.single(["type": "Consumable", "productId": "coins"]),
            try await shop.month(["productId": "com.example.missing", "originalTransactionId": "3"]),
        ]
        let codes = try await shop.bring(texts, as: shop.alice).map { $0["code"]?.string ?? $0["status"]?.string ?? "" }
        #expect(
            codes == [
                "receipt.untrusted", "accepted", "receipt.malformed", "receipt.bundle", "receipt.environment", "receipt.unmapped",
                "receipt.unmapped",
            ]
        )
        let list = try await shop.test.call(
            .get,
            "/v1/receipts",
            headers: ["Authorization": "Bearer \(try await shop.test.service.accounts.issueSession(for: shop.alice))"]
        )
        #expect(list.json["transactions"]?.array?.map { $0["transactionId"] } == ["2000000001"])
    }

    @Test func `are brought by who is signed in, and by those who may give plans`() async throws {
        let shop = try await Shop()
        let body: JSON = ["transactions": [.string(try await shop.month())]]
        #expect(try await shop.test.call(.post, "/v1/receipts", body: body).status == 401)
        #expect(try await shop.test.call(.get, "/v1/receipts").status == 401)
        let path = "/admin/v1/accounts/\(shop.alice.id)/receipts"
        #expect(try await shop.test.call(.post, path, body: body).status == 401)
        #expect(try await shop.test.call(.get, path).status == 401)
        let peer = Peer.local(userID: 0)
        #expect(try await shop.test.call(.post, path, body: body, peer: peer).status == 200)
        #expect(try await shop.test.call(.get, path, peer: peer).json["transactions"]?.array?.count == 1)
        for bad in [[:], ["transactions": []], ["transactions": [1]], ["transactions": "x"], ["other": 1]] as [JSON] {
            #expect(try await shop.test.call(.post, path, body: bad, peer: peer).status == 400)
        }
        let many = JSON.array(Array(repeating: "x", count: 101))
        #expect(try await shop.test.call(.post, path, body: ["transactions": many], peer: peer).status == 400)
    }

    // MARK: What the store tells

    @Test func `are renewed, ended and given back by what the store tells`() async throws {
        let shop = try await Shop()
        _ = try await shop.bring([try await shop.month()], as: shop.alice)
        shop.test.clock.advance(by: day * 29)
        let renewal = try await shop.month(["transactionId": "2000000002"])
        #expect(try await shop.notify("DID_RENEW", renewal) == 204)
        shop.test.clock.advance(by: day * 2)
        #expect(try await shop.verdict(shop.alice) == .granted("plan gold"))
        let token = try await shop.test.service.accounts.issueSession(for: shop.alice)
        let reply = try await shop.test.ask("edition_credentials", ["token": token, "product_id": "issue-1"])
        let pair = try #require(reply.pair)
        #expect(await shop.test.opening(pair, "issue-1") == .opens)
        shop.test.clock.advance(by: .seconds(2))
        let time = JSON.integer(Int(shop.now.milliseconds))
        let refund = try await shop.month(["transactionId": "2000000002", "revocationDate": time])
        #expect(try await shop.notify("REFUND", refund) == 204)
        #expect(try await shop.notify("REFUND", refund) == 204, "the store tells again until it is answered")
        #expect(try await shop.verdict(shop.alice) == .expired, "the first month is over")
        shop.test.clock.advance(by: .seconds(2))
        #expect(await shop.test.opening(pair, "issue-1") != .opens)
        #expect(try await shop.audited("receipt.change").map(\.reason).sorted() == ["DID_RENEW", "REFUND"])
        // The store may take a refund back.
        shop.test.clock.advance(by: .seconds(1))
        let reversed = try await shop.month(["transactionId": "2000000002"])
        #expect(try await shop.notify("REFUND_REVERSED", reversed) == 204)
        #expect(try await shop.verdict(shop.alice) == .granted("plan gold"))
    }

    @Test func `of a listed plan are gone with the money, though such plans stay readable`() async throws {
        let shop = try await Shop()
        let list = try await shop.month(["productId": "com.example.list.a"])
        _ = try await shop.bring([list], as: shop.alice)
        shop.test.clock.advance(by: day * 31)
        #expect(try await shop.verdict(shop.alice, on: "issue-2") == .granted("plan box"))
        let time = JSON.integer(Int(shop.now.milliseconds))
        let changes: [String: JSON?] = ["productId": "com.example.list.a", "revocationDate": time]
        #expect(try await shop.notify("REFUND", try await shop.month(changes)) == 204)
        #expect(try await shop.verdict(shop.alice, on: "issue-2") == .notEntitled)
    }

    @Test func `that the store reported before a user presented them have the store's last state`() async throws {
        let shop = try await Shop()
        let single = try await shop.single()
        shop.test.clock.advance(by: .seconds(1))
        let refund = try await shop.single(["revocationDate": .integer(Int(shop.now.milliseconds))])
        #expect(try await shop.notify("REFUND", refund) == 204)
        #expect(try await shop.bring([single], as: shop.alice).first?["status"] == "revoked")
        #expect(try await shop.verdict(shop.alice) == .notEntitled)
    }

    @Test func `are not changed by notifications about others`() async throws {
        let shop = try await Shop()
        let forged = try await TestStore().sign(TestStore.month(shop.now))
        #expect(try await shop.notify("REFUND", forged) == 403)
        for body in [["signedPayload": "x"], ["signedPayload": .string(try await shop.month())]] as [JSON] {
            #expect(try await shop.test.call(.post, "/v1/receipts/notifications", body: body).status == 403)
        }
        #expect(try await shop.test.call(.post, "/v1/receipts/notifications", body: [:]).status == 400)
        #expect(try await shop.audited("receipt.change").isEmpty)
    }

    @Test func `stay as support has left them until the store says something new`() async throws {
        let shop = try await Shop()
        let month = try await shop.month()
        _ = try await shop.bring([month], as: shop.alice)
        let bought = shop.now
        shop.test.clock.advance(by: day)
        try await shop.test.service.subscriptions.end("app-store/Production/2000000001", by: AuditActor("operator"))
        // The same again, and the same signed again.
        let time = JSON.integer(Int(shop.now.milliseconds))
        let anew = try await shop.store.sign(TestStore.month(bought, ["signedDate": time]))
        _ = try await shop.bring([month, anew], as: shop.alice)
        #expect(try await shop.verdict(shop.alice) == .expired)
        shop.test.clock.advance(by: day)
        _ = try await shop.bring([try await shop.month()], as: shop.alice)
        #expect(try await shop.verdict(shop.alice) == .granted("plan gold"))
    }

    // MARK: Without an account

    @Test func `are a token of the five calls`() async throws {
        let shop = try await Shop()
        let (month, single) = (try await shop.month(), try await shop.single())
        let active = try await shop.test.ask("verify_subscription", ["token": month])
        #expect(active.xml.hasPrefix("<subscription state=\"active\" message=\"Your subscription: gold\">"))
        let issues = try await shop.test.ask("verify_subscription", ["token": single])
        #expect(issues.xml.contains("<issues><issue>issue-1</issue></issues>"))
        let pair = try #require(try await shop.test.ask("edition_credentials", ["token": month, "product_id": "issue-2"]).pair)
        #expect(await shop.test.opening(pair, "issue-2") == .opens)
        let refused = try await shop.test.ask("edition_credentials", ["token": single, "product_id": "issue-2"])
        #expect(refused.xml.contains("status=\"notentitled\""))
        let both = try await shop.test.ask("edition_credentials", ["token": "\(single),\(month)", "product_id": "issue-2"])
        #expect(both.pair != nil)
        let forged = try await TestStore().sign(TestStore.month(shop.now))
        let stranger = try await shop.test.ask("edition_credentials", ["token": forged, "product_id": "issue-1"])
        #expect(stranger.xml.contains("status=\"notrecognised\""))
        #expect(try await shop.test.ask("verify_subscription", ["token": forged]).xml.contains("state=\"inactive\""))
        #expect(try await shop.test.ask("renew_token", ["token": month]).xml.contains("notrecognised"))
        shop.test.clock.advance(by: day * 30)
        let lapsed = try await shop.test.ask("edition_credentials", ["token": month, "product_id": "issue-1"])
        #expect(lapsed.xml.contains("status=\"expired\""))
        #expect(try await shop.test.ask("verify_subscription", ["token": month]).xml.contains("has expired"))
    }

    @Test func `that were refunded open nothing, and revoke issued credentials`() async throws {
        let shop = try await Shop()
        let single = try await shop.single()
        let pair = try #require(try await shop.test.ask("edition_credentials", ["token": single, "product_id": "issue-1"]).pair)
        shop.test.clock.advance(by: .seconds(2))
        #expect(await shop.test.opening(pair, "issue-1") == .opens)
        let refund = try await shop.single(["revocationDate": .integer(Int(shop.now.milliseconds))])
        #expect(try await shop.notify("REFUND", refund) == 204)
        shop.test.clock.advance(by: .seconds(2))
        #expect(await shop.test.opening(pair, "issue-1") != .opens)
        let refused = try await shop.test.ask("edition_credentials", ["token": single, "product_id": "issue-1"])
        #expect(refused.xml.contains("status=\"notentitled\""))
    }

    @Test func `of a suspended account are no way around it`() async throws {
        let shop = try await Shop()
        let month = try await shop.month()
        _ = try await shop.bring([month], as: shop.alice)
        try await shop.test.service.desk.setSuspended(true, shop.alice.id, by: AuditActor("operator"))
        let refused = try await shop.test.ask("edition_credentials", ["token": month, "product_id": "issue-1"])
        #expect(refused.xml.contains("status=\"suspended\""))
        #expect(try await shop.test.ask("verify_subscription", ["token": month]).xml.contains("state=\"suspended\""))
    }

    @Test func `in one token count each for itself: the refund of what opened a product ends that`() async throws {
        let shop = try await Shop()
        let month = try await shop.month()
        // Another purchase, which gives another product, comes first.
        let single = try await shop.single()
        let token = "\(single),\(month)"
        let pair = try #require(try await shop.test.ask("edition_credentials", ["token": token, "product_id": "issue-2"]).pair)
        let own = try #require(try await shop.test.ask("edition_credentials", ["token": token, "product_id": "issue-1"]).pair)
        shop.test.clock.advance(by: .seconds(2))
        #expect(await shop.test.opening(pair, "issue-2") == .opens)
        let time = JSON.integer(Int(shop.now.milliseconds))
        #expect(try await shop.notify("REFUND", try await shop.month(["revocationDate": time])) == 204)
        shop.test.clock.advance(by: .seconds(2))
        #expect(await shop.test.opening(pair, "issue-2") != .opens)
        #expect(await shop.test.opening(own, "issue-1") == .opens, "the other purchase was not given back")
        let refused = try await shop.test.ask("edition_credentials", ["token": token, "product_id": "issue-2"])
        #expect(refused.xml.contains("status=\"notentitled\""))
    }

    @Test func `in one token add nothing to a suspended account's`() async throws {
        let shop = try await Shop()
        let (single, month) = (try await shop.single(), try await shop.month())
        _ = try await shop.bring([single], as: shop.alice)
        _ = try await shop.bring([month], as: shop.bob)
        try await shop.test.service.desk.change(shop.bob.id, .init(isSuspended: true), by: AuditActor("operator"))
        for token in ["\(single),\(month)", "\(month),\(single)"] {
            let refused = try await shop.test.ask("edition_credentials", ["token": token, "product_id": "issue-2"])
            #expect(refused.xml.contains("status=\"suspended\""), "\(refused.xml)")
            let granted = try await shop.test.ask("edition_credentials", ["token": token, "product_id": "issue-1"])
            #expect(granted.pair != nil, "that is the other account's")
            let standing = try await shop.test.ask("verify_subscription", ["token": token])
            #expect(standing.xml.contains("<issues><issue>issue-1</issue></issues>"), "\(standing.xml)")
        }
    }

    // MARK: The old validator

    @Test func `are validated as before, with credentials for the requested product`() async throws {
        let shop = try await Shop()
        let (month, single) = (try await shop.month(), try await shop.single())
        let pair = try #require(try await shop.validate(month, "productid=issue-2").pair)
        #expect(await shop.test.opening(pair, "issue-2") == .opens)
        // A single product opens itself, and is what is meant where none is asked for.
        for query in ["productid=issue-1", "product_id=issue-1", ""] {
            let pair = try #require(try await shop.validate("  \(single)\n", query).pair)
            #expect(await shop.test.opening(pair, "issue-1") == .opens)
        }
        let other = try await shop.validate(single, "productid=issue-2")
        let words = "<error status=\"notentitled\" message=\"You are not entitled to this edition\"/>"
        #expect(other.status == 200 && other.xml == "<credentials>\(words)</credentials>")
        #expect(other.headers["Content-Type"] == "text/xml; charset=utf-8")
    }

    @Test func `are refused by the validator's own numbers, at the root`() async throws {
        let shop = try await Shop()
        let month = try await shop.month()
        func refusal(_ number: Int) -> String {
            "<error status=\"\(number)\" exception=\"\" validationurl=\"\"><subs_prefix>com.example.list.</subs_prefix>"
                + "<subs_list>com.example.monthly,com.example.missing</subs_list></error>"
        }
        for body in ["", "rubbish", "\u{0}", "{}", "ey.e", "\(month) rubbish"] {
            #expect(try await shop.validate(body).xml == refusal(21_002), "\(body.prefix(8))")
        }
        let forged = try await TestStore().sign(TestStore.month(shop.now))
        #expect(try await shop.validate(forged).xml == refusal(21_003))
        #expect(try await shop.validate(try await shop.month(["bundleId": "com.example.other"])).xml == refusal(21_003))
        #expect(try await shop.validate(try await shop.month(["environment": "Xcode"])).xml == refusal(21_003))
        #expect(try await shop.validate(try await shop.month(["environment": "Sandbox"])).xml == refusal(21_007))
        shop.test.clock.advance(by: day * 30)
        let expired = try await shop.validate(month)
        #expect(expired.status == 200 && expired.xml == refusal(21_006))
        let tests = try await Shop { settings in
            settings.receipts.verifier = settings.receipts.verifier.map {
                TransactionVerifier(roots: $0.roots, bundleIDs: $0.bundleIDs, environments: [.sandbox])
            }
        }
        #expect(try await tests.validate(try await tests.month()).xml == refusal(21_008))
        #expect(try await tests.validate(try await tests.month(["environment": "Sandbox"])).pair != nil)
    }

    @Test func `of apps from before signed transactions are validated, plain or in base 64`() async throws {
        let shop = try await Shop()
        let receipt = try await shop.store.receipt(TestReceipt(shop.now, [.month(shop.now), .single(shop.now)]).bytes)
        let text = CarrelBytes.Base64.encode(receipt)
        let lines = "\(text.prefix(64))\r\n\(text.dropFirst(64))\n"
        for body in [receipt, Array(text.utf8), Array(lines.utf8)] {
            let pair = try #require(try await shop.validate(body, "productid=issue-2").pair)
            #expect(await shop.test.opening(pair, "issue-2") == .opens)
        }
        let single = try await shop.store.receipt(TestReceipt(shop.now, [.single(shop.now)]).bytes)
        let own = try #require(try await shop.validate(single, "").pair)
        #expect(await shop.test.opening(own, "issue-1") == .opens)
        #expect(try await shop.validate(single, "productid=issue-2").xml.contains("status=\"notentitled\""))
        // What the store said since counts, and the end.
        #expect(try await shop.validate(single).pair != nil)
        shop.test.clock.advance(by: .seconds(1))
        let refund = try await shop.single(["revocationDate": .integer(Int(shop.now.milliseconds))])
        #expect(try await shop.notify("REFUND", refund) == 204)
        #expect(try await shop.validate(single).xml.contains("status=\"notentitled\""))
        shop.test.clock.advance(by: day * 30)
        #expect(try await shop.validate(receipt).xml.contains("status=\"21006\""))
        #expect(try await shop.audited("edition.credentials").contains { $0.reason == "receipt: plan gold" })
    }

    @Test func `of apps from before signed transactions are refused by number, too`() async throws {
        let shop = try await Shop()
        let (now, month) = (shop.now, TestReceipt.month(shop.now))
        let good = try await shop.store.receipt(TestReceipt(now, [month]).bytes)
        func number(_ receipt: [UInt8]) async throws -> String {
            let reply = try await shop.validate(receipt)
            return String(reply.xml.split(separator: "\"").dropFirst().first ?? "")
        }
        func signed(_ receipt: TestReceipt) async throws -> [UInt8] { try await shop.store.receipt(receipt.bytes) }
        #expect(try await number(Array(good.dropLast())) == "21002")
        #expect(try await number([0x30]) == "21002")
        #expect(try await number(try await signed(TestReceipt(now, [month.with(1702, nil)]))) == "21002")
        #expect(try await number(try await TestStore().receipt(TestReceipt(now, [month]).bytes)) == "21003")
        #expect(try await number(try await signed(TestReceipt(now, bundle: "com.example.other", [month]))) == "21003")
        #expect(try await number(try await signed(TestReceipt(now, environment: "Xcode", [month]))) == "21003")
        #expect(try await number(try await signed(TestReceipt(now, environment: "ProductionSandbox", [month]))) == "21007")
        #expect(try await number(try await signed(TestReceipt(now, []))) == "21003", "nothing was bought")
        let old = "{\n\t\"signature\" = \"A\";\n\t\"purchase-info\" = \"e30=\";\n}"
        #expect(try await number(Array(CarrelBytes.Base64.encode(Array(old.utf8)).utf8)) == "21002", "of iOS 6")
        #expect(try await number(good) != "21002")
        #expect(try await shop.validate(good).pair != nil)
    }

    @Test func `count nowhere when no store is configured`() async throws {
        let shop = try await Shop { $0.receipts = ReceiptSettings() }
        let month = try await shop.month()
        #expect(try await shop.validate(month).status == 404)
        #expect(try await shop.notify("DID_RENEW", month) == 404)
        let token = try await shop.test.service.accounts.issueSession(for: shop.alice)
        let headers: HTTPFields = ["Authorization": "Bearer \(token)"]
        let body: JSON = ["transactions": [.string(month)]]
        #expect(try await shop.test.call(.post, "/v1/receipts", headers: headers, body: body).status == 404)
        let refused = try await shop.test.ask("edition_credentials", ["token": month, "product_id": "issue-1"])
        #expect(refused.xml.contains("status=\"notrecognised\""))
    }
}
