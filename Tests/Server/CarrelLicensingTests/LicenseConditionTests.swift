// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelJOSE
import CarrelJSON
import CarrelRights
import CarrelServer
import CarrelServerTesting
import CarrelTesting
import CarrelTokens
import Testing

@Suite(.onBothDatabases) struct `A condition of a license` {
    @Test func `is granted by a token in each form`() async throws {
        let shop = try await LicensedShop()
        try await shop.set("only")
        let start = shop.test.clock.now.wholeSecond
        let token = try await shop.forms {
            ($0["copy"], $0["print"], $0["noExport"], $0["watermark"]) = (2000, 10, true, "Alice, order 1001")
            ($0["plays"], $0["storage"], $0["maxPixels"], $0["metering"]) = (3, 86_400, 520_000, true)
            ($0["attended"], $0["notBefore"], $0["redemptions"]) = (120, .string(start.description), 2)
        }
        #expect(token.json["ms3"] == .null && token.json["ms3Problem"]?.string?.contains("play count") == true)
        for form in [token.sealed, token.message] {
            let player = try await TestPlayer().personalized(by: shop.test)
            #expect(try await shop.redeem(form, by: player, as: .stream).problem == "license.restricted")
            let license = try #require(try await shop.redeem(form, by: player).license)
            #expect(license.terms.playCount == 3 && license.terms.storageSeconds == 86_400 && license.terms.notBefore == start)
            #expect(license.terms.notAfter == start + .seconds(86_400), "nothing of it runs longer")
            var obligations: [String: JSONObject] = [:]
            for obligation in license.obligations {
                obligations[obligation.type] = obligation.parameters
                #expect(obligation.isCritical == (obligation.type != "wudo"), "\(obligation.type)")
            }
            #expect(
                obligations == [
                    "copy-limit": ["characters": 2000], "print-limit": ["pages": 10], "no-export": [:],
                    "watermark": ["payload": "Alice, order 1001"], "image-constraint": ["pixels": 520_000], "metering": [:],
                    "attended": ["seconds": 120], "wudo": [:],
                ]
            )
        }
    }

    @Test func `is not the default output rule, which a token for a title lifts; it leads to the protected file`() async throws {
        let shop = try await LicensedShop()
        try await shop.set("also")
        let token = try await shop.forms()
        let url = try CompoundURL(parsing: token.json["ms3"]?.string ?? "")
        #expect(url.contentURL == "https://books.example.org/editions/com.example.book/-/licensed.dcf")
        let player = try await TestPlayer().personalized(by: shop.test)
        let forms: [(String, KeyRequest.Session)] = [
            (token.sealed, .persist), (token.message, .persist), (url.token, .stream),
        ]
        for (form, session) in forms {
            let license = try #require(try await shop.redeem(form, by: player, as: session).license)
            #expect(license.obligations.map(\.type) == ["wudo"])
            let id = try await shop.keyID(1)
            #expect(license.keys.map(\.id) == [id])
        }
    }

    @Test func `forbids to print with a limit of 0; a stream has those that count nothing`() async throws {
        let shop = try await LicensedShop()
        try await shop.set("also")
        let token = try await shop.forms {
            ($0["print"], $0["watermark"]) = (0, "x")
        }
        let url = try CompoundURL(parsing: token.json["ms3"]?.string ?? "")
        let player = try await TestPlayer().personalized(by: shop.test)
        let license = try #require(try await shop.redeem(url.token, by: player, as: .stream).license)
        #expect(Set(license.obligations.map(\.type)) == ["no-print", "watermark", "wudo"])
    }

    @Test func `binds a token to a device key before its player is known`() async throws {
        let shop = try await LicensedShop()
        try await shop.set("also")
        let device = TestPlayer()
        let token = try await shop.forms { $0["cnf"] = .string(JWK.p256(device.signing.publicKey).thumbprint) }
        let (own, other) = (
            try await device.personalized(by: shop.test), try await TestPlayer().personalized(by: shop.test)
        )
        for form in [token.sealed, token.message] {
            #expect(try await shop.redeem(form, by: other).problem == "license.token-device")
            #expect(try await shop.redeem(form, by: own).license != nil)
        }
    }

    @Test(
        arguments: [
            ("copy", -1), ("copy", "all"), ("copy", 1_000_000_001), ("print", 1.5), ("noExport", 1), ("watermark", ""),
            ("watermark", "a\nb"), ("plays", 0), ("storage", 0), ("maxPixels", 0), ("metering", "yes"), ("attended", 59),
            ("attended", 86_401), ("notBefore", "tomorrow"), ("cnf", "abc"), ("pages", 1),
        ] as [(String, JSON)]
    )
    func `is refused outside its bounds`(name: String, value: JSON) async throws {
        let shop = try await LicensedShop()
        try await shop.set("also")
        let answer = try await shop.ask { $0[name] = value }
        #expect(answer.status == 400 && answer.json["detail"]?.string?.isEmpty == false, "\(name): \(answer.json)")
    }

    @Test(
        arguments: [
            ("plays", 3), ("storage", 86_400), ("notBefore", "2027-01-01T00:00:00Z"), ("attended", 300), ("maxPixels", 520_000),
            ("copy", 0), ("print", 0), ("noExport", true), ("watermark", "Alice"),
        ] as [(String, JSON)]
    )
    func `is refused for an audiobook, whose order plays on the shelf without it`(name: String, value: JSON) async throws {
        let shop = try await TitleTokenShop()
        let refused = try await shop.ask {
            $0["account"] = "alice"
            $0[name] = value
        }
        #expect(refused.status == 400 && refused.json["code"] == "license.condition", "\(refused)")
        #expect(refused.json["detail"]?.string?.contains("the condition \(name) is not for an audiobook") == true)
        #expect(try await shop.orders().isEmpty)
    }

    @Test func `reports plays of an audiobook too`() async throws {
        let shop = try await TitleTokenShop()
        let player = try await TestPlayer().personalized(by: shop.test)
        let token = try await shop.make { $0["metering"] = true }
        let license = try #require(try await shop.redeem(token.sealed, by: player).license)
        #expect(Set(license.obligations.map(\.type)) == ["metering", "wudo"])
    }
}
