// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelCrypto
import CarrelEditionDelivery
import CarrelHTTPServer
import CarrelMetrics
import CarrelServer
import CarrelServerTesting
import Testing

/// The pair is one that the field's documentation makes: sha1("$editionId:$salt:$sharedSecret").
struct `Credentials of the old scheme` {
    private let secret = "this-is-our-shared-secret"
    private let product = "com.example.edition0001"

    private func pair(_ userID: String = "a-salt", product: String? = nil) -> EditionCredentials.Pair {
        let text = "\(product ?? self.product):\(userID):\(secret)"
        return EditionCredentials.Pair(userID: userID, password: Hex.encode(SHA1.hash(Array(text.utf8).rawSpan)))
    }

    private func service(until: Duration? = nil, isOn: Bool = true) async throws -> TestService {
        try await TestService(with: .editionDelivery) {
            guard isOn else { return }
            let end = until.map { Instant(milliseconds: 1_800_000_000_000) + $0 }
            $0.subscription.sha1 = SHA1Credentials(secret: Secret(Array(secret.utf8)), until: end)
        }
    }

    private func counted(_ test: TestService, _ outcome: String) -> Bool {
        test.service.metrics.text().contains("carrel_edition_credentials_total{scheme=\"sha1\",outcome=\"\(outcome)\"} 1")
    }

    @Test func `are worth nothing where they are not let in`() async throws {
        let test = try await service(isOn: false)
        #expect(await test.opening(pair(), product) == .invalid)
    }

    @Test func `open their product where they are let in, and are counted`() async throws {
        let test = try await service()
        #expect(await test.opening(pair(), product) == .opens)
        #expect(counted(test, "accepted") && counted(test, "invalid") == false)
        let upper = EditionCredentials.Pair(userID: "a-salt", password: pair().password.uppercased())
        #expect(await test.opening(upper, product) == .opens)
        #expect(await test.opening(pair(), "com.example.edition0002") == .invalid)
        #expect(counted(test, "invalid"))
    }

    @Test func `have names of at most 4096 bytes, and passwords of 40 digits, and are no others`() async throws {
        let test = try await service()
        #expect(await test.opening(pair(String(repeating: "x", count: 4096)), product) == .opens)
        #expect(await test.opening(pair(String(repeating: "x", count: 4097)), product) == .invalid)
        let short = EditionCredentials.Pair(userID: "a-salt", password: String(pair().password.dropLast(2)))
        #expect(await test.opening(short, product) == .invalid)
        #expect(!counted(test, "invalid"), "they are not counted as what they cannot be")
    }

    @Test func `do not pass for another's by a colon, and never open the product without a name`() async throws {
        let test = try await service()
        #expect(await test.opening(pair("b:c", product: "a"), "a") == .invalid)
        #expect(await test.opening(pair("c", product: "a:b"), "a:b") == .invalid, "it may be the pair of \"b:c\" for \"a\"")
        #expect(await test.opening(pair("token", product: ""), "") == .invalid)
    }

    @Test func `are let in until their time`() async throws {
        let test = try await service(until: .seconds(60))
        test.clock.advance(by: .seconds(59))
        #expect(await test.opening(pair(), product) == .opens)
        test.clock.advance(by: .seconds(1))
        #expect(await test.opening(pair(), product) == .invalid)
    }

    @Test func `are void for good with their product, or with all`() async throws {
        for revocation in [Revocation.product(product), .all] {
            let test = try await service()
            try await test.service.credentials.revoke(.product("another"), by: AuditActor("operator"))
            #expect(await test.opening(pair(), product) == .opens)
            try await test.service.credentials.revoke(revocation, by: AuditActor("operator"))
            #expect(await test.opening(pair(), product) == .revoked)
        }
    }
}
