// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelEditionDelivery
import CarrelHTTPServer
import CarrelMetrics
import CarrelServer
import CarrelServerTesting
import Testing

/// A process's cache of credentials, and its database queries.
struct `What is known of credentials` {
    private let staff = AuditActor("operator")

    private struct Stand {
        let test: TestService
        let counting: CountingDatabase
        let service: CarrelService

        var keyring: CredentialKeyring { service.credentials }

        /// A pair for `p` that was found genuine when it came as this field.
        func known(_ field: String, life: Duration = .seconds(3600)) async throws -> EditionCredentials.Pair {
            let pair = try await keyring.issuer().issue(product: "p", account: "a", life: life)
            try await keyring.verify(pair, product: "p", from: field)
            return pair
        }
    }

    private func stand() async throws -> Stand {
        let test = try await TestService(with: .editionDelivery)
        let (counting, service) = try await test.counted()
        return Stand(test: test, counting: counting, service: service)
    }

    @Test func `is cached for a second, and read once then`() async throws {
        let stand = try await stand()
        let pair = try await stand.known("field")
        let before = stand.counting.reads
        for milliseconds in [0, 1, 998] {
            stand.test.clock.advance(by: .milliseconds(milliseconds))
            #expect(stand.keyring.opens("field", product: "p"))
            try await stand.keyring.verify(pair, product: "p")
        }
        #expect(stand.counting.reads == before)
        stand.test.clock.advance(by: .milliseconds(1))
        #expect(!stand.keyring.opens("field", product: "p"))
        for _ in 1...3 { try await stand.keyring.verify(pair, product: "p") }
        #expect(stand.counting.reads == before + 1)
        #expect(stand.keyring.opens("field", product: "p"))
        #expect(!stand.keyring.opens("field", product: "q") && !stand.keyring.opens("another", product: "p"))
    }

    @Test func `is counted where it opens something, and only there`() async throws {
        let stand = try await stand()
        _ = try await stand.known("field")
        func accepted() -> String? {
            let name = "carrel_edition_credentials_total{scheme=\"hmac\",outcome=\"accepted\"} "
            let line = stand.service.metrics.text().split(separator: "\n").first { $0.hasPrefix(name) }
            return line.map { String($0.dropFirst(name.count)) }
        }
        #expect(accepted() == "1", "as it came first")
        for _ in 1...2 { #expect(stand.keyring.opens("field", product: "p")) }
        #expect(accepted() == "3")
        try await stand.keyring.revoke(.all, by: staff)
        #expect(!stand.keyring.opens("field", product: "p"))
        #expect(accepted() == "3")
    }

    @Test func `opens nothing from the pair's end on`() async throws {
        let stand = try await stand()
        _ = try await stand.known("field", life: .seconds(1))
        stand.test.clock.advance(by: .milliseconds(999))
        try await stand.keyring.refresh()
        #expect(stand.keyring.opens("field", product: "p"))
        stand.test.clock.advance(by: .milliseconds(1))
        #expect(!stand.keyring.opens("field", product: "p"))
    }

    @Test func `opens nothing while the clock is set back`() async throws {
        let stand = try await stand()
        _ = try await stand.known("field")
        stand.test.clock.advance(by: .milliseconds(-1))
        #expect(!stand.keyring.opens("field", product: "p"))
    }

    @Test func `ends with what is revoked, and with every secret that is forgotten, and no sooner`() async throws {
        let stand = try await stand()
        _ = try await stand.known("field")
        try await stand.keyring.revoke(.product("q"), by: staff)
        #expect(stand.keyring.opens("field", product: "p"), "another product")
        try await stand.keyring.revoke(.product("p"), by: staff)
        #expect(!stand.keyring.opens("field", product: "p"))
        _ = try await stand.known("anew")
        #expect(stand.keyring.opens("anew", product: "p"))
        _ = try await stand.keyring.rotate(atOnce: true, by: staff)
        #expect(!stand.keyring.opens("anew", product: "p"))
    }

    @Test func `caches nothing about an invented pair, which is counted`() async throws {
        let stand = try await stand()
        for password in ["x", String(repeating: "a", count: 40)] {
            await #expect(throws: EditionCredentials.Refusal.invalid) {
                try await stand.keyring.verify(EditionCredentials.Pair(userID: "a", password: password), product: "p", from: "f")
            }
        }
        #expect(!stand.keyring.opens("f", product: "p"))
        let counted = "carrel_edition_credentials_total{scheme=\"hmac\",outcome=\"invalid\"} 2"
        #expect(stand.service.metrics.text().contains(counted))
    }
}
