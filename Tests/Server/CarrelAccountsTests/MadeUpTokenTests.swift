// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelServer
import CarrelServerTesting
import CarrelStore
import Testing

@Suite(.onBothDatabases)
struct `An invented token` {
    /// It is well-formed: its checksum needs no key.
    private func token() -> String {
        let random = Random.bytes(32)
        return "cs_" + Base64URL.encode(random + SHA256.hash(random.rawSpan).prefix(4))
    }

    @Test func `takes no turn of those who write`() async throws {
        let test = try await TestService()
        let (counting, service) = try await test.counted()
        let before = counting.writes
        for call in ["renew_token", "sign_out", "verify_subscription", "edition_credentials"] {
            let reply = try await test.ask(call, ["token": token(), "product_id": "x"], at: service)
            #expect(reply.status == 200)
        }
        let cookie: HTTPFields = ["Cookie": "carrel_session=\(token())", "Origin": "http://localhost"]
        let out = HTTPRequest(.post, "/sign-out", headers: cookie, peer: .network(address: "192.0.2.1", port: 1))
        #expect(await service.router.respond(to: out).status == .seeOther)
        #expect(counting.writes == before)
    }

    @Test func `is not the only thing that would: a right one is renewed and signed out`() async throws {
        let test = try await TestService()
        let (counting, service) = try await test.counted()
        let account = try await service.accounts.findOrCreate(named: "alice")
        let token = try await service.accounts.issueSession(for: account)
        let before = counting.writes
        #expect(try await test.ask("renew_token", ["token": token], at: service).xml.hasPrefix("<token>"))
        _ = try await test.ask("sign_out", ["token": token], at: service)
        #expect(counting.writes == before + 2)
        #expect(try await service.accounts.sessions.list(of: account).isEmpty)
    }
}
