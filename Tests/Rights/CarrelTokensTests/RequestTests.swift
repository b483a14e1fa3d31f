// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelJSON
import CarrelRights
import CarrelTokens
import Testing

/// A token service without a network: reads, checks the authenticator, seals, replies.
struct TokenDesk {
    static let location = "https://rights.example.test:8443/hms/ms3/rights/"
    static let keyText = "test-api-key-0001"

    /// Whether the authenticator is known.
    var isKnown: (TokenParameters.Authenticator) -> Bool = { $0.accountID == "1000" && $0.key == Secret(Array(keyText.utf8)) }

    func request(_ pairs: [(name: String, value: String)], _ service: TokenRequest.Service) throws(TokenRefusal) -> TokenRequest {
        let parameters = try TokenParameters(pairs)
        guard isKnown(parameters.authenticator) else { throw TokenRefusal(.authenticatorWrong) }
        return try TokenRequest(parameters, for: service, at: TokenSamples.now)
    }

    func reply(_ pairs: [(name: String, value: String)], _ service: TokenRequest.Service) throws -> TokenReply {
        do throws(TokenRefusal) {
            let request = try request(pairs, service)
            let token: SealedToken
            do throws(RightsError) { token = try SealedToken.seal(request.rules, under: TokenSamples.key) } catch {
                throw TokenRefusal(.internalFault, error.message)
            }
            guard let operation = ActionToken.Operation(request.rules.kind) else {
                return try .stream(token, for: request, rights: Self.location)
            }
            do throws(RightsError) {
                let configuration = try ActionToken.Configuration(serviceID: "urn:s", version: 1, location: "https://a.test/c")
                return .actionToken(try ActionToken(operation, configuration: configuration, businessToken: token.bytes))
            } catch {
                throw TokenRefusal(.internalFault, error.message)
            }
        } catch {
            return .refusal(error, as: TokenParameters.errorFormat(of: pairs))
        }
    }
}

struct `A request for a token` {
    static let base: [String: String] = ["customerAuthenticator": "1000,\(TokenDesk.keyText)"]
    static let ms3 = base.merging(["contentId": "cid:x", "contentKey": "166634c675823c235a4a9446fad52e4d"]) { $1 }
    static let license = ms3.merging(["actionTokenType": "1", "rightsType": "BuyToOwn"]) { $1 }

    static func pairs(_ values: [String: String]) -> [(name: String, value: String)] {
        values.map { (name: $0.key, value: $0.value) }
    }

    static func request(_ values: [String: String], _ service: TokenRequest.Service = .ms3) throws(TokenRefusal) -> TokenRequest {
        try TokenDesk().request(pairs(values), service)
    }

    static func reason(_ values: [String: String], _ service: TokenRequest.Service = .ms3) -> TokenRefusal.Reason? {
        do throws(TokenRefusal) {
            _ = try request(values, service)
            return nil
        } catch {
            return error.reason
        }
    }

    @Test func `of the fixtures gets its status, type and code`() throws {
        let cases = try #require(try TokenSamples.fixture("marlin/token-api-cases.json").array)
        #expect(cases.count == 20)
        for sample in cases {
            let path = try #require(sample["path"]?.string)
            let members = try #require(sample["params"]?.object)
            let pairs = members.map { (name: $0.name, value: $0.value.string ?? "") }
            let service: TokenRequest.Service = path == "/hms/bb/token" ? .broadband : .ms3
            let reply = try TokenDesk().reply(pairs, service)
            let expected = try #require(sample["expect"])
            #expect(reply.status.rawValue == expected["status"]?.int, "\(sample)")
            if let code = expected["code"]?.int {
                #expect(
                    reply.contentType == "text/html; charset=utf-8" && TokenSamples.text(reply.body).contains("Error \(code)")
                )
                guard members["errorFormat"] == nil else { continue }
                let refusal = try TokenDesk().reply(pairs + [(name: "errorFormat", value: "json")], service)
                let json = try JSON.parse(refusal.body.rawSpan)
                #expect(json["errorCode"]?.int == code && refusal.status == reply.status, "\(sample)")
                #expect(json.object?.names == ["errorCode", "errorMessage"] && refusal.contentType == "application/json")
                continue
            }
            if let type = expected["type"]?.string { #expect(reply.contentType == type) }
            if let scheme = expected["scheme"]?.string { #expect(TokenSamples.text(reply.body).hasPrefix(scheme + "://")) }
            let request = try TokenDesk().request(pairs, service)
            if let hex = expected["unwrapped_key_hex"]?.string {
                #expect(request.rules.contents.map(\.key) == [Secret(Hex.decode(hex) ?? [])])
            }
            if service == .ms3 {
                let url = try CompoundURL(parsing: TokenSamples.text(reply.body))
                #expect(url.contentURL == members["contentURL"]?.string)
                #expect(
                    try SealedToken.open(url.token, as: .ms3, keys: TokenSamples.keys, at: TokenSamples.now).rights == .session
                )
            } else {
                let token = try ActionToken(parsing: reply.body.rawSpan)
                let rules = try SealedToken(bytes: token.businessToken)
                    .open(as: token.operation.kind, keys: TokenSamples.keys, at: TokenSamples.now)
                #expect(rules.user?.id == "reader-7" && rules.user?.key == TokenSamples.userKey)
                #expect(rules.isStorable == (rules.kind == .license))
            }
        }
    }

    @Test func `becomes rules with all of its parameters`() throws {
        let rules = try Self.request(
            Self.license.merging([
                "rightsType": "Rental", "rental.periodEndTime": "2027-01-16T08:00:00Z", "rental.playDuration": "60",
                "cookie": "order 1",
                "generalFlags": "00000001", "outputControlFlags": "fFfFfFfF", "unknownOutputBehavior": "Disallow",
                "outputControlOverride": "urn:marlin:organization:intertrust:wudo,ImageConstraintLevel,3",
                "extensionType": "wudo", "extensionCriticalFlag": "true", "extensionPayload": "AAAAAA==",
                "ms3Extension": "abcd,false,AQ==",
                "expirationTime": "+600", "userId": "é", "userKey": "000102030405060708090A0B0C0D0E0F", "kid": "^label",
                "somethingElse": "", "contentid": "other",
            ]) { $1 },
            .broadband
        ).rules
        #expect(
            rules.kind == .license && rules.isStorable && rules.redemptions == 1 && rules.account == nil && rules.title == nil
        )
        #expect(rules.rights == .rental(periodEnd: Instant.parse("2027-01-16T08:00:00Z") ?? .now(), playDuration: 60))
        #expect(rules.expiresAt == TokenSamples.now + .seconds(600) && rules.cookie == "order 1")
        #expect(rules.generalFlags == 1 && rules.outputControlFlags == .max && rules.unknownOutputBehavior == .disallow)
        #expect(rules.outputControlOverride?.imageConstraintLevel == 3)
        #expect(rules.extensions.map(\.type) == ["wudo", "abcd"] && rules.extensions.map(\.isCritical) == [true, false])
        #expect(rules.extensions.map(\.payload) == [[0, 0, 0, 0], [1]])
        #expect(rules.user == .init(id: "é", key: TokenSamples.userKey))
        #expect(rules.contents == [.init(contentID: "cid:x", keyID: KeyID(label: "label"), key: TokenSamples.contentKey)])
        #expect(rules.id.count == 16)
    }

    private static let conditions = [
        "notBefore": "+60", "storage": "86400", "plays": "3", "maxPixels": "520000", "metering": "true", "attended": "60",
        "copy": "0", "print": "10", "noExport": "true", "watermark": "Alice",
    ]

    @Test func `sets every condition of a license, and the device`() throws {
        let device = Base64URL.encode([UInt8](repeating: 5, count: 32))
        let rules = try Self.request(
            Self.license.merging(Self.conditions) { $1 }.merging(["cnf": device]) { $1 },
            .broadband
        ).rules
        var expected = LicenseConditions()
        expected.startsAt = TokenSamples.now + .seconds(60)
        (expected.storageSeconds, expected.playCount, expected.maxPixels) = (86_400, 3, 520_000)
        (expected.isMetered, expected.attendedSeconds, expected.copyCharacters) = (true, 60, 0)
        (expected.printPages, expected.forbidsExport, expected.watermark) = (10, true, "Alice")
        #expect(rules.conditions == expected && rules.deviceThumbprint == device)
        for name in ["storage", "plays", "copy", "print"] {
            #expect(Self.reason(Self.ms3.merging([name: "3"]) { $1 }) == .value, "nothing counts a stream")
        }
        #expect(try Self.request(Self.ms3.merging(["watermark": "x"]) { $1 }).rules.conditions.watermark == "x")
    }

    @Test(arguments: [
        ("storage", "0"), ("plays", "03"), ("plays", "-1"), ("maxPixels", "many"), ("metering", "yes"), ("attended", "59"),
        ("copy", "1000000001"), ("print", "1.5"), ("noExport", "1"), ("watermark", "a\nb"), ("cnf", "abc"), ("notBefore", "now"),
    ])
    func `sets no condition outside its bounds`(name: String, value: String) {
        #expect(Self.reason(Self.license.merging([name: value]) { $1 }, .broadband) == .value)
    }

    @Test func `is valid for 30 days unless it says otherwise`() throws {
        #expect(try Self.request(Self.ms3).rules.expiresAt == TokenSamples.now + .seconds(2_592_000))
        for (text, seconds) in [
            ("+1", 1), ("+315360000", 315_360_000), (" 60", 60), ("2027-01-15T08:00:01Z", 1), ("2027-01-15t08:01:00z", 60),
        ] {
            let request = try Self.request(Self.ms3.merging(["expirationTime": text]) { $1 })
            #expect(request.rules.expiresAt == TokenSamples.now + .seconds(seconds), "\(text)")
        }
    }

    @Test(arguments: [
        "+0", "+", "-1", "+-1", "+1.5", "+315360001", "+99999999999999999999", "600", "2027-01-15T08:00:00Z",
        "2020-01-01T00:00:00Z",
        "2037-01-13T08:00:00Z", "2027-01-16T08:00:00+00:00", "2027-02-30T08:00:00Z", "2027-01-16", "Z", "+١",
    ])
    func `with an impossible time is refused`(text: String) {
        #expect(Self.reason(Self.ms3.merging(["expirationTime": text]) { $1 }) == .expiration)
        let rental = ["rightsType": "Rental", "rental.periodEndTime": text, "rental.playDuration": "1"]
        #expect(Self.reason(Self.license.merging(rental) { $1 }, .broadband) == .rentalEndMissing)
    }

    /// Changes to a stream's request, and the refusal: a nil value removes a parameter.
    static let streamFaults: [(changes: [String: String?], reason: TokenRefusal.Reason)] = [
        (["customerAuthenticator": nil], .authenticatorMissing), (["customerAuthenticator": ""], .authenticatorMissing),
        (["customerAuthenticator": "1000"], .authenticatorWrong), (["customerAuthenticator": "1000,"], .authenticatorWrong),
        (["customerAuthenticator": ",x"], .authenticatorWrong), (["customerAuthenticator": "1 0,x"], .authenticatorWrong),
        (["customerAuthenticator": "1000,other"], .authenticatorWrong), (["errorFormat": "xml"], .errorFormat),
        (["errorFormat": "JSON"], .errorFormat), (["contentId": nil], .keyIDMissing), (["contentKey": nil], .keyIDMissing),
        (["contentId": ""], .value), (["contentId": "a b"], .value), (["contentId": "é"], .value), (["contentKey": ""], .value),
        (["contentKey": "166634c675823c235a4a9446fad52e4"], .keyLength),
        (["contentKey": "166634c675823c235a4a9446fad52e4g"], .key),
        (["kid": "00"], .keyIDLength), (["kid": "0011223344556677889900112233445g"], .keyIDWrong), (["kid": "^"], .labelLength),
        (["kid": "^" + String(repeating: "a", count: 65)], .labelLength), (["kid": ""], .value),
        (
            ["contentId": "urn:marlin:kid:00112233445566778899aabbccddeeff", "kid": "ff112233445566778899aabbccddeeff"],
            .keyIDWrong
        ),
        (["kek": "00"], .keyTwice), (["ek": "00", "kek": "00"], .keyTwice), (["contentKey": nil, "ek": "00"], .value),
        (["contentKey": nil, "kek": "00"], .value), (["contentKey": nil, "ek": "00", "kek": "00"], .wrappedKey),
        (
            [
                "contentKey": nil, "ek": "d65a2e6df54ac01639a7a9f42e10c5b4825548441f2110f9",
                "kek": "000102030405060708090a0b0c0d0e0f",
            ], .wrappedKey
        ),
        (["rightsType": "BuyToOwn"], .rightsTypeWrong), (["rightsType": ""], .value), (["generalFlags": "1"], .flagsLength),
        (["generalFlags": "0000000g"], .generalFlags), (["outputControlFlags": "000000000"], .flagsLength),
        (["outputControlFlags": "0000000g"], .outputFlags), (["outputControlFlags": "+1234567"], .outputFlags),
        (["outputControlOverride": "wudo"], .outputControl),
        (["outputControlOverride": "urn:marlin:organization:intertrust:wudo,ImageConstraintLevel,256"], .outputControl),
        (["outputControlOverride": "urn:marlin:organization:intertrust:wudo,ImageConstraintLevel,-1"], .outputControl),
        (["outputControlOverride": "urn:marlin:organization:intertrust:wudo,ImageConstraintLevel,0,1"], .outputControl),
        (["outputControlOverride": "urn:marlin:organization:intertrust:wudo,Other,0"], .outputControl),
        (["unknownOutputBehavior": "allow"], .unknownOutput), (["extensionType": "wudoo"], .extensionType),
        (["extensionType": "wu o"], .extensionType), (["extensionType": "wudo"], .value),
        (["extensionType": "wudo", "extensionCriticalFlag": "false"], .value),
        (["extensionType": "wudo", "extensionCriticalFlag": "no", "extensionPayload": "AA=="], .value),
        (["extensionType": "wudo", "extensionCriticalFlag": "true", "extensionPayload": "AB=="], .extensionPayload),
        (["extensionPayload": "AA=="], .value), (["extensionCriticalFlag": "true"], .value),
        (["ms3Extension": "wud,true,AA=="], .extensionType),
        (["ms3Extension": "wudo"], .value), (["ms3Extension": "wudo,yes,AA=="], .value),
    ]

    @Test(arguments: streamFaults.indices)
    func `for a stream with a fault is refused with its number`(index: Int) throws {
        let fault = Self.streamFaults[index]
        var values = Self.ms3
        for (name, value) in fault.changes { values[name] = value }
        #expect(Self.reason(values) == fault.reason, "\(fault.changes)")
    }

    @Test(arguments: [
        ("ms3Extension", "wudo,true,***", TokenRefusal.Reason.extensionPayload), ("contentURL", "ftp://a.test", .value),
        ("contentURL", "b.test", .value), ("ms3Scheme", "yes", .value), ("useHttps", "1", .value), ("cookie", "a\u{0}", .cookie),
        ("cookie", String(repeating: "a", count: 256), .cookie), ("userId", "a", .value),
        ("userKey", "000102030405060708090a0b0c0d0e0f", .value),
        ("userKey", "0", .keyLength), ("contentId.0", "cid:y", .value),
    ])
    func `for a stream with another fault is refused with its number`(name: String, value: String, reason: TokenRefusal.Reason) {
        #expect(Self.reason(Self.ms3.merging([name: value]) { $1 }) == reason)
    }

    @Test(
        arguments: [
            (["actionTokenType": nil], TokenRefusal.Reason.value), (["actionTokenType": "3"], .value),
            (["actionTokenType": "01"], .value),
            (["actionTokenType": "0"], .value), (["actionTokenType": "2", "userId": "a"], .value),
            (["rightsType": nil], .rightsTypeMissing),
            (["rightsType": "rental"], .rightsTypeWrong), (["rightsType": "Rental"], .rentalEndMissing),
            (["rightsType": "Rental", "rental.periodEndTime": "+1"], .playDurationMissing),
            (["rightsType": "Rental", "rental.periodEndTime": "+1", "rental.playDuration": "0"], .playDurationWrong),
            (["rightsType": "Rental", "rental.periodEndTime": "+1", "rental.playDuration": "+5"], .playDurationWrong),
            (["rightsType": "Rental", "rental.periodEndTime": "+1", "rental.playDuration": "315360001"], .playDurationWrong),
        ] as [([String: String?], TokenRefusal.Reason)]
    )
    func `for an action token with a fault is refused with its number`(changes: [String: String?], reason: TokenRefusal.Reason) {
        var values = Self.license
        for (name, value) in changes { values[name] = value }
        #expect(Self.reason(values, .broadband) == reason, "\(changes)")
    }

    @Test(arguments: [("0", BusinessRules.Kind.registration), ("2", .deregistration)])
    func `for a registration needs the user alone`(type: String, kind: BusinessRules.Kind) throws {
        let values = ["actionTokenType": type, "userId": "reader-7", "userKey": "000102030405060708090a0b0c0d0e0f"]
        let rules = try Self.request(Self.base.merging(values) { $1 }, .broadband).rules
        #expect(rules.kind == kind && rules.contents.isEmpty && rules.rights == nil && !rules.isStorable)
    }

    @Test func `chooses the scheme, and the reply's form`() throws {
        for (values, scheme) in [
            ([:], CompoundURL.Scheme.https), (["ms3Scheme": "true"], .ms3), (["useHttps": "true"], .https),
            (["useHttps": "false"], .ms3),
            (["ms3Scheme": "false"], .https), (["ms3Scheme": "true", "useHttps": "false"], .ms3),
        ] {
            #expect(try Self.request(Self.ms3.merging(values) { $1 }).scheme == scheme)
        }
        #expect(Self.reason(Self.ms3.merging(["ms3Scheme": "true", "useHttps": "true"]) { $1 }) == .value)
        // without a content location the client gets the rights location alone
        let reply = try TokenDesk().reply(Self.pairs(Self.ms3), .ms3)
        #expect(
            TokenSamples.text(reply.body).hasPrefix(TokenDesk.location + "?b=") && !TokenSamples.text(reply.body).contains("#")
        )
        let request = try Self.request(Self.ms3)
        let token = try SealedToken.seal(request.rules, under: TokenSamples.key)
        let refusal = try #require(throws: TokenRefusal.self) {
            try TokenReply.stream(token, for: request, rights: "http://a.test/")
        }
        #expect(refusal.reason == .internalFault && refusal.reason.status == 500)
    }

    @Test func `names each parameter once`() throws {
        var pairs = Self.pairs(Self.ms3) + [(name: "cookie", value: "a"), (name: "cookie", value: "a")]
        #expect(throws: TokenRefusal.self) { try TokenParameters(pairs) }
        pairs.removeLast()
        #expect(throws: Never.self) { try TokenParameters(pairs) }
        let many = (0..<300).map { (name: "a\($0)", value: "") }
        #expect(throws: TokenRefusal.self) { try TokenParameters(many) }
        #expect(throws: TokenRefusal.self) { try TokenParameters([(name: "a", value: String(repeating: "a", count: 65_536))]) }
    }

    @Test func `is refused in the form that it wants`() throws {
        let json = [(name: "errorFormat", value: "json")]
        #expect(TokenParameters.errorFormat(of: json) == .json && TokenParameters.errorFormat(of: json + json) == .html)
        #expect(TokenParameters.errorFormat(of: []) == .html)
        let reply = TokenReply.refusal(TokenRefusal(.cookie, "<b>&\"'"), as: .html)
        #expect(reply.status == .badRequest && reply.contentType == "text/html; charset=utf-8")
        #expect(TokenSamples.text(reply.body).contains("&lt;b&gt;&amp;&quot;&#39;"))
        #expect(
            TokenSamples.text(TokenReply.refusal(TokenRefusal(.authenticatorWrong), as: .json).body).contains(
                #""errorCode":-2018"#
            )
        )
    }

    @Test func `never shows a key`() throws {
        let parameters = try TokenParameters(Self.pairs(Self.ms3))
        var dumped = String(reflecting: parameters) + "\(parameters)"
        dump(parameters, to: &dumped)
        dump(try Self.request(Self.ms3), to: &dumped)
        #expect(!dumped.contains("166634") && !dumped.contains(TokenDesk.keyText))
        for value in ["SECRETSECRETSECRETSECRETSECRETSE", "secret"] {
            for name in ["contentKey", "userKey", "kid", "ek", "kek", "customerAuthenticator", "errorFormat", "expirationTime"] {
                let reply = try TokenDesk().reply(Self.pairs(Self.ms3.merging([name: value]) { $1 }), .ms3)
                #expect(reply.status != .ok && !TokenSamples.text(reply.body).lowercased().contains("secret"))
            }
        }
    }
}

struct `A refusal of a token` {
    @Test func `has every number of the reference that the service sends`() {
        let numbers = [
            -2002, -2005, -2008, -2017, -2018, -2020, -2021, -2022, -2023, -2025, -2027, -2030, -2031, -2033, -2034,
            -2035,
            -2036, -2037, -2040, -3004, -4018, -4019, -4020, -4021, -4022, -4023, -4024,
        ]
        for number in numbers { #expect(TokenRefusal.Reason(rawValue: number) != nil, "\(number)") }
    }

    @Test func `has a name, a text, a status and a recommendation of its own`() {
        let all = TokenRefusal.Reason.allCases
        #expect(Set(all.map(\.name)).count == all.count && Set(all.map(\.text)).count == all.count)
        for reason in all {
            #expect([400, 401, 404, 500].contains(reason.status))
            #expect(!reason.recommendation.isEmpty && !reason.recommendation.hasSuffix(".") && !reason.text.hasSuffix("."))
            #expect(reason.name.utf8.allSatisfy { $0 == UInt8(ascii: "-") || (UInt8(ascii: "a")...UInt8(ascii: "z")) ~= $0 })
        }
        #expect(TokenRefusal(.cookie).code.identifier == "rights.token-request.cookie")
        #expect(TokenRefusal(.value, "kid").message == "a parameter has no usable value: kid")
    }
}
