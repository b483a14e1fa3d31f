// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelJSON
import CarrelLicensing
import CarrelRights
import CarrelServer
import CarrelServerTesting
import CarrelStreaming
import CarrelTesting
import CarrelTokens
import CarrelXML
import Testing

struct `The token service` {
    private func service() async throws -> (test: TestService, authenticator: String) {
        let test = try await TestService(with: .licensing) { $0.stream.publicURL = "https://books.example.org" }
        let (key, text) = try await test.service.accounts.createServiceKey(name: "portal", role: .service, by: .operator)
        return (test, "\(key.id),\(text)")
    }

    private func ask(
        _ test: TestService,
        _ path: String,
        _ parameters: [(String, String)],
        method: HTTPMethod = .post
    ) async throws -> (status: Int, type: String?, text: String) {
        let form = parameters.map { "\(PercentEncoding.encode($0.0))=\(PercentEncoding.encode($0.1))" }.joined(separator: "&")
        let request = HTTPRequest(
            method,
            method == .get ? "\(path)?\(form)" : path,
            headers: method == .get ? [:] : ["Content-Type": "application/x-www-form-urlencoded"],
            body: method == .get ? [] : Array(form.utf8),
            peer: .network(address: "192.0.2.1", port: 1)
        )
        let response = await test.service.router.respond(to: request)
        let bytes = try await response.body.collect(upTo: 1 << 20)
        return (response.status.rawValue, response.headers["Content-Type"], String(decoding: bytes, as: UTF8.self))
    }

    @Test(arguments: [HTTPMethod.get, .post])
    func `answers every case of the table as it should`(method: HTTPMethod) async throws {
        let (test, authenticator) = try await service()
        let file = try Fixtures.bytes("drm/marlin/token-api-cases.json")
        let cases = try JSON.parse(file.rawSpan).array ?? []
        #expect(cases.count >= 20)
        for element in cases {
            var parameters = (element["params"]?.object ?? [:]).map { ($0.name, $0.value.string ?? "") }
            // the table's account is one of this service
            parameters = parameters.map { $0.1 == "1000,test-api-key-0001" ? ($0.0, authenticator) : $0 }
            parameters.append(contentsOf: parameters.contains { $0.0 == "errorFormat" } ? [] : [("errorFormat", "json")])
            let answer = try await ask(test, element["path"]?.string ?? "", parameters, method: method)
            let expected = element["expect"]
            #expect(answer.status == expected?["status"]?.int, "\(element): \(answer.text)")
            if let type = expected?["type"]?.string { #expect(answer.type == type) }
            if let code = expected?["code"]?.int {
                let bytes = Array(answer.text.utf8)
                let json = try? JSON.parse(bytes.rawSpan)
                let found = json?["errorCode"]?.int ?? (answer.text.contains("\(code)") ? code : nil)
                #expect(found == code, "\(answer.text)")
            }
            #expect(!answer.text.contains("166634c675823c235a4a9446fad52e4d"), "a key is in an answer")
        }
    }

    @Test func `makes tokens that a player redeems`() async throws {
        let (test, authenticator) = try await service()
        let content = [
            ("contentId", "cid:x"), ("contentKey", "166634c675823c235a4a9446fad52e4d"), ("customerAuthenticator", authenticator),
        ]
        let stream = try await ask(test, "/hms/ms3/token", content + [("contentURL", "http://cdn.example.test/a.mpd")])
        let url = try CompoundURL(parsing: stream.text)
        #expect(
            url.contentURL == "http://cdn.example.test/a.mpd"
                && stream.text.hasPrefix("https://books.example.org/hms/ms3/rights/?b=")
        )
        let player = try await TestPlayer().personalized(by: test)
        let license = try #require(
            try await player.send(try await player.request(.stream, of: test, token: url.token), to: test).license
        )
        let agreement = player.player.agreement
        let kid = try #require(license.keys.first?.id)
        let key = try await license.open(kid) { agreement.sharedSecret(with: $0) }
        #expect(key.withBytes { Hex.encode([UInt8](copying: $0)) } == "166634c675823c235a4a9446fad52e4d")

        let rental =
            content + [
                ("actionTokenType", "1"), ("rightsType", "Rental"), ("rental.periodEndTime", "+2592000"),
                ("rental.playDuration", "172800"),
                ("cookie", "order-7"),
            ]
        let action = try await ask(test, "/hms/bb/token", rental)
        let bytes = Array(action.text.utf8)
        let token = try ActionToken(parsing: bytes.rawSpan)
        let text = Base64URL.encode(token.businessToken)
        let kept = try #require(
            try await player.send(try await player.request(.persist, of: test, token: text), to: test).license
        )
        #expect(kept.terms.playbackSeconds == 172_800 && kept.terms.isStorable)
        let records = try await ask(test, "/cmiapi/getrecord", [("customerAuthenticator", authenticator), ("cookie", "order-7")])
        #expect(records.text.contains(kept.id) && !records.text.contains(license.id))
        let configuration = try await test.send(.get, "/hms/bb/configuration")
        let document = try BroadbandConfiguration(parsing: configuration.body.rawSpan)
        #expect(document.licenseAcquisition == "https://books.example.org/v1/license")
    }

    @Test func `takes a key of a portal alone, and none from a query where that is refused`() async throws {
        let (test, authenticator) = try await service()
        let content = [("contentId", "cid:x"), ("contentKey", "166634c675823c235a4a9446fad52e4d"), ("errorFormat", "json")]
        let wrong = try await ask(
            test,
            "/hms/ms3/token",
            content + [("customerAuthenticator", "other," + (authenticator.split(separator: ",").last ?? ""))]
        )
        #expect(wrong.status == 401 && wrong.text.contains("-2018"))
        #expect(try await ask(test, "/hms/pr/token", content).status == 404)
        #expect(try await ask(test, "/hms/wv/token", content, method: .get).status == 404)
        let strict = try await TestService(with: .licensing) {
            $0.stream.publicURL = "https://books.example.org"
            $0.subscription.refusesQuerySecrets = true
        }
        let (key, text) = try await strict.service.accounts.createServiceKey(name: "portal", role: .service, by: .operator)
        let pairs = content + [("customerAuthenticator", "\(key.id),\(text)")]
        #expect(try await ask(strict, "/hms/ms3/token", pairs, method: .get).status == 401)
        #expect(try await ask(strict, "/hms/ms3/token", pairs).status == 200)
    }
}
