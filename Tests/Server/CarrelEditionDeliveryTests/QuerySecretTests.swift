// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelCrypto
import CarrelHTTP
import CarrelHTTPServer
import CarrelJSON
import CarrelMetrics
import CarrelPasswordHash
import CarrelServer
import CarrelServerTesting
import Testing

struct `A token or a password in a query` {
    private static let calls = ["sign_in", "renew_token", "verify_subscription", "edition_credentials", "sign_out"]

    private func service(refuses: Bool = false) async throws -> TestService {
        try await TestService(with: [.editionDelivery, .licensing]) {
            $0.subscription.hasCannedUsers = true
            $0.subscription.refusesQuerySecrets = refuses
            $0.passwordCost = .init(memory: 64, passes: 1)
        }
    }

    private func asked(_ call: String) -> [String: String] {
        call == "sign_in"
            ? ["username": "activeall", "password": "x"] : ["token": "llaevitca", "product_id": "com.pugpig.edition0001"]
    }

    /// How often the call was counted, by method.
    private func counted(_ test: TestService, _ call: String) -> [String] {
        ["GET", "POST"].map { method in
            let start = "carrel_query_secrets_total{call=\"\(call)\",method=\"\(method)\"} "
            let line = test.service.metrics.text().split(separator: "\n").first { $0.hasPrefix(start) }
            return String(line?.dropFirst(start.count) ?? "nothing")
        }
    }

    @Test(arguments: calls)
    func `works, and is counted by call and method`(call: String) async throws {
        let test = try await service()
        #expect(counted(test, call) == ["0", "0"])
        let form = try await test.ask(call, asked(call), .form)
        #expect(form.status == 200 && counted(test, call) == ["0", "0"])
        for (way, counts) in [
            (`The canned users`.Way.query, ["1", "0"]), (.query, ["2", "0"]), (.postQuery, ["2", "1"]),
        ] {
            #expect(try await test.ask(call, asked(call), way).status == 200)
            #expect(counted(test, call) == counts)
        }
        _ = try await test.ask(call, ["product_id": "x", "token": "", "password": ""], .query)
        #expect(counted(test, call) == ["2", "1"], "there is no secret in this one")
    }

    @Test(arguments: calls)
    func `is refused where the operator says so, and changes nothing`(call: String) async throws {
        let test = try await service(refuses: true)
        for way in [`The canned users`.Way.query, .postQuery] {
            let refused = try await test.ask(call, asked(call), way)
            #expect(refused.status == 400 && refused.xml.contains("\"code\":\"subscription.secret-in-query\""))
            #expect(!refused.xml.contains("llaevitca"))
        }
        #expect(counted(test, call) == ["1", "1"])
        #expect(try await test.ask(call, asked(call), .form).status == 200)
    }

    @Test func `is not what the check of the canned users sends`() async throws {
        let test = try await service(refuses: true)
        let answer = try await test.call(.post, "/admin/v1/canned-users/activeall/check", peer: .local(userID: 0))
        #expect(answer.status == 200)
        let calls = try #require(answer.json["calls"]?.array)
        #expect(calls.count == 5 && calls.allSatisfy { $0["green"] == true }, "\(calls)")
    }

    @Test(arguments: calls)
    func `is not taken by HEAD, which is not named among the methods`(call: String) async throws {
        let test = try await service()
        for method in [HTTPMethod.head, .options, .put] {
            let answer = try await test.send(method, "/\(call)/?token=llaevitca&username=activeall")
            #expect(answer.status == 405 && answer.headers["Allow"] == "GET, POST", "\(method)")
        }
    }
}

struct `A form of an older app` {
    private func send(_ test: TestService, _ type: String?, _ body: [UInt8]) async throws -> SubscriptionReply {
        var request = HTTPRequest(.post, "/sign_in", body: body, peer: .network(address: "192.0.2.1", port: 1))
        if let type { request.headers["Content-Type"] = type }
        let response = await test.service.router.respond(to: request)
        let text = String(decoding: try await response.body.collect(upTo: 1 << 16), as: UTF8.self)
        return SubscriptionReply(status: response.status.rawValue, headers: response.headers, xml: text)
    }

    @Test func `in ISO 8859-1 says what it says`() async throws {
        let test = try await TestService(with: [.editionDelivery, .licensing]) { $0.passwordCost = .init(memory: 64, passes: 1) }
        _ = try await test.service.desk.create("Søren", password: "blåbærgrød på vej", by: AuditActor("operator"))
        let latin1 = Array("username=S%F8ren&password=bl\u{1}b\u{2}rgr%F8d+p%e5%20vej".utf8).map {
            $0 == 1 ? 0xe5 : $0 == 2 ? 0xe6 : $0
        }
        let type = "application/x-www-form-urlencoded"
        for charset in ["; charset=iso-8859-1", ";charset=\"ISO-8859-1\"", "; a=b; Charset = latin1"] {
            let reply = try await send(test, type + charset, latin1)
            #expect(reply.status == 200 && reply.xml.contains("<token>cs_"), "\(charset): \(reply.xml)")
        }
        for other in [type, type + "; charset=utf-8", nil] {
            #expect(try await send(test, other, latin1).status == 400, "that is no UTF-8")
        }
        let utf8 = Array("username=S%C3%B8ren&password=blåbærgrød+på+vej".utf8)
        for other in [type, type + "; charset=UTF-8", nil] {
            #expect(try await send(test, other, utf8).xml.contains("<token>cs_"))
        }
        #expect(try await send(test, type + "; charset=iso-8859-1", utf8).xml.contains("notrecognised"))
        #expect(try await send(test, type + "; charset=iso-8859-1", Array("username=%zz".utf8)).status == 400)
    }
}

struct `A comment for those who debug an app` {
    private func reply(_ call: String, _ parameters: [String: String], isOn: Bool) async throws -> String {
        let test = try await TestService(with: [.editionDelivery, .licensing]) {
            $0.subscription.hasCannedUsers = true
            $0.subscription.saysWhatWasAsked = isOn
            $0.passwordCost = .init(memory: 64, passes: 1)
        }
        return try await test.ask(call, parameters).xml
    }

    @Test func `is appended to responses if configured, without secrets and without ending the document`() async throws {
        let signIn = ["username": "activeall", "password": "s3cret"]
        #expect(try await reply("sign_in", signIn, isOn: false).hasSuffix("</token>"))
        let token = try await reply("sign_in", signIn, isOn: true)
        #expect(token.hasPrefix("<token>llaevitca</token>\n<!-- sign_in, request in-process --"))
        #expect(!token.contains("s3cret"))
        let credentials = ["token": "llaevitca", "product_id": "a-->\u{0}<!--"]
        let asked = try await reply("edition_credentials", credentials, isOn: true)
        #expect(asked.contains("</credentials>\n<!-- edition_credentials of 'a- ->\u{fffd}<!- -', request in-process --"))
        #expect(!(asked.split(separator: "<!--").last?.contains("llaevitca") ?? true))
        #expect(try await reply("sign_out", ["token": "llaevitca"], isOn: true) == "signed out\n")
    }
}
