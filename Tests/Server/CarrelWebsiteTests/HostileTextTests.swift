// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelCrypto
import CarrelEntitlements
import CarrelHTTP
import CarrelPasswordHash
import CarrelServer
import CarrelServerTesting
import CarrelStore
import CarrelSubscription
import CarrelXML
import Testing

/// Texts from untrusted clients, through the calls and back.
struct `Hostile texts` {
    private static let fragments = [
        "<", ">", "&", "'", "\"", "]]>", "--", "<!--", "-->", "<![CDATA[", "<?xml?>", "&amp;", "&#0;", "&#x41;", "&lol;", "\u{0}",
        "\u{1}", "\u{b}", "\u{1f}", "\u{7f}", "\u{85}", "\u{2028}", "\u{fffd}", "\u{fffe}", "\u{ffff}", "\u{feff}", "\u{202e}",
        "\u{10ffff}", "😀", "אב", "e\u{301}", "\r\n", "\r", "\n", "\t", " ", "%", "%00", "+", "=", ";", "/", "../", ":", "\\",
        "${x}",
        "<error status=\"", "</issues>", "xmlns:a=\"", "'; DROP TABLE accounts; --", "com.example.", "a", "0",
    ]

    private static func text(_ generator: inout some RandomNumberGenerator) -> String {
        (0..<Int.random(in: 0...8, using: &generator)).map { _ in fragments.randomElement(using: &generator) ?? "" }.joined()
    }

    /// A text as XML 1.0 can represent it: unsupported characters are U+FFFD (§2.2).
    private static func sayable(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.map {
                    ($0.value < 0x20 && ![9, 10, 13].contains($0.value)) || $0.value == 0xfffe || $0.value == 0xffff
                        ? "\u{fffd}" : $0
                }
            )
        )
    }

    private static func parse(_ bytes: [UInt8]) throws -> XMLElement { try XMLElement.parse(bytes.rawSpan) }

    @Test func `come out of every answer as they went in`() throws {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<10_000 {
            let texts = (0..<4).map { _ in Self.text(&generator) }
            let said = texts.map(Self.sayable)
            let signIn = try Self.parse(SignInAnswer.refused(status: texts[0], message: texts[1]).write())
            #expect(signIn["status"] == said[0] && signIn["message"] == said[1])
            let token = try Self.parse(SignInAnswer.token(texts[0], globalAuthPassword: texts[1]).write())
            #expect(token.text == said[0] && token["global_auth_password"] == said[1])
            let header = CredentialsAnswer.Header(name: texts[2], value: texts[3])
            let granted = try Self.parse(
                CredentialsAnswer.granted(userID: texts[0], password: texts[1], headers: [header]).write()
            )
            #expect(granted.children.map(\.text) == [said[0], said[1], said[3]] && granted.children[2]["name"] == said[2])
            let refused = try Self.parse(CredentialsAnswer.refused(status: texts[0], message: texts[1]).write())
            #expect(refused.child("error")?["status"] == said[0] && refused.child("error")?["message"] == said[1])
            var answer = SubscriptionAnswer(.active, message: texts[0], categories: [.init(scheme: texts[1], term: texts[2])])
            answer.issues = texts
            let subscription = try Self.parse(answer.write(alsoValue: true))
            let category = subscription.child("userinfo")?.child("category")
            #expect(subscription["message"] == said[0] && category?["scheme"] == said[1] && category?["value"] == said[2])
            #expect(subscription.child("issues")?.children.map(\.text) == said)
        }
    }

    @Test func `sent to the five calls get well-formed answers, all ten thousand`() async throws {
        let test = try await TestService {
            $0.passwordCost = .init(memory: 64, passes: 1)
            $0.subscription.hasCannedUsers = true
            $0.subscription.saysWhatWasAsked = true
        }
        var generator = SystemRandomNumberGenerator()
        let texts = (0..<10_000).map { _ in Self.text(&generator) }
        // The account's name and what it holds are hostile too.
        let name = "<\"&'>]]>\u{fffe}\u{202e}😀"
        let account = try await test.service.desk.create(name, password: "correct horse battery", by: AuditActor("operator"))
        try await test.service.subscriptions.createPlan(Plan(name: "<&\"'>]]>--", scope: .issues), by: AuditActor("operator"))
        _ = try await test.service.subscriptions.grant(plan: "<&\"'>]]>--", to: account, by: AuditActor("operator"))
        let products = Array(Set(texts.filter { !$0.isEmpty && !$0.utf8.contains(0) }).prefix(300))
        for product in products { try await test.add(product: product) }
        test.clock.advance(by: .seconds(1))
        let signedIn = try await test.ask("sign_in", ["username": name, "password": "correct horse battery"])
        let own = try Self.parse(Array(signedIn.xml.utf8)).text
        let listed = try Self.parse(Array(try await test.ask("verify_subscription", ["token": own]).xml.utf8))
        #expect(listed.child("issues")?.children.map(\.text).sorted() == products.map(Self.sayable).sorted())

        try await withThrowingTaskGroup(of: Void.self) { group in
            for lane in 0..<8 {
                group.addTask {
                    for index in stride(from: lane, to: texts.count, by: 8) {
                        let (text, other) = (texts[index], texts[(index + 1) % texts.count])
                        var calls: [(String, [String: String])] = [
                            ("renew_token", ["token": text]), ("verify_subscription", ["token": text]),
                            ("edition_credentials", ["token": own, "product_id": text]),
                            ("edition_credentials", ["token": "llaevitca", "product_id": text]),
                            ("edition_credentials", ["token": text, "product_id": other]),
                        ]
                        if index % 10 == 0 {
                            calls.append(("sign_in", ["username": text, "password": other, "uuid": text, "device_name": other]))
                            calls.append(("sign_out", ["token": text]))
                        }
                        for (call, parameters) in calls {
                            let reply = try await test.ask(call, parameters)
                            let isNameless = call == "sign_in" && text.isEmpty
                            #expect(reply.status == (isNameless ? 400 : 200), "\(call) \(text.debugDescription)")
                            guard call != "sign_out" else { continue }
                            #expect(throws: Never.self, "\(call) \(text.debugDescription): \(reply.xml)") {
                                try Self.parse(Array(reply.xml.utf8))
                            }
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func `in the place of a token are dropped, ten million if need be`() async throws {
        let test = try await TestService()
        let account = try await test.service.accounts.findOrCreate(named: "alice")
        let genuine = try await test.service.accounts.issueSession(for: account, by: AuditActor("operator"))
        #expect(try await test.service.accounts.account(ofSession: genuine)?.id == account.id)
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        var generator = SystemRandomNumberGenerator()
        var accepted = 0
        for _ in 0..<(longRun ? 10_000_000 : 50_000) {
            var bytes = Array(genuine.utf8)
            let place = Int.random(in: 0..<bytes.count, using: &generator)
            let letter = alphabet.randomElement(using: &generator) ?? 65
            switch Int.random(in: 0..<6, using: &generator) {
            case 0: bytes.remove(at: place)
            case 1: bytes.insert(letter, at: place)
            case 2:
                bytes = Array(bytes.prefix(3)) + bytes.dropFirst(3).map { _ in alphabet.randomElement(using: &generator) ?? 65 }
            case 3: bytes.swapAt(place, Int.random(in: 0..<bytes.count, using: &generator))
            default: bytes[place] = letter
            }
            let forged = String(decoding: bytes, as: UTF8.self)
            if forged != genuine, try await test.service.accounts.account(ofSession: forged) != nil { accepted += 1 }
        }
        #expect(accepted == 0)
    }

    @Test func `or not: no reply of the five calls is ever stored`() async throws {
        let test = try await TestService { $0.passwordCost = .init(memory: 64, passes: 1) }
        let form = "application/x-www-form-urlencoded"
        let bodies: [(type: String?, body: [UInt8])] = [
            (form, []), (form, Array("token=x&username=y&password=z".utf8)), (form, [0xff]), (form, Array("a=%zz".utf8)),
            (form, [UInt8](repeating: 65, count: 70_000)), ("application/json", Array("{}".utf8)), ("a/b/c", []), (nil, []),
        ]
        var statuses: Set<Int> = []
        func check(_ call: String, _ method: HTTPMethod, _ path: String, _ type: String?, _ body: [UInt8]) async {
            var request = HTTPRequest(method, path, headers: [:], body: body, peer: .network(address: "192.0.2.1", port: 1))
            if let type { request.headers["Content-Type"] = type }
            let response = await test.service.router.respond(to: request)
            statuses.insert(response.status.rawValue)
            let fields = ["Cache-Control", "Pragma", "Expires", "Referrer-Policy"].map { response.headers[$0] ?? "" }
            #expect(
                fields == ["no-store, no-cache, must-revalidate, private", "no-cache", "0", "no-referrer"],
                "\(method) \(path) \(response.status): \(response.headers)"
            )
            #expect(response.headers["ETag"] == nil && response.headers["Last-Modified"] == nil)
        }
        for isOpen in [true, false] {
            if !isOpen { await test.service.database.close() }
            for call in ["sign_in", "renew_token", "verify_subscription", "edition_credentials", "sign_out"] {
                for method in [HTTPMethod.get, .head, .post, .put, .delete, .options] {
                    for path in ["/\(call)", "/\(call)/", "/\(call)?token=cs_x&username=a", "/\(call)/x"] {
                        for (type, body) in method == .post ? bodies : [(nil, [])] { await check(call, method, path, type, body) }
                    }
                }
            }
        }
        #expect(statuses.isSuperset(of: [200, 400, 404, 405, 413, 415, 503]), "\(statuses)")
    }
}
