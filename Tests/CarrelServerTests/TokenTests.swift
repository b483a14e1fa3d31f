import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelJSON
import CarrelServer
import CarrelStore
import Testing

@Suite(.onBothDatabases)
struct `A session's token` {
    private let operatorActor = Actor("operator")
    private let day = Duration.seconds(24 * 3600)

    private func service() async throws -> (test: TestService, account: Account, token: String) {
        let test = try await TestService { $0.passwordCost = .init(memory: 64, passes: 1) }
        let account = try await test.service.desk.create("alice", by: operatorActor)
        return (test, account, try await test.service.accounts.issueSession(for: account))
    }

    private func status(_ test: TestService, _ token: String) async throws -> Int {
        try await test.send(.get, "/v1/account", headers: ["Authorization": "Bearer \(token)"]).status
    }

    @Test func `has 256 random bits and a checksum, and only its hash is stored`() async throws {
        let (test, account, token) = try await service()
        #expect(token.hasPrefix("cs_"))
        let bytes = try #require(Base64URL.decode(token.dropFirst(3)))
        #expect(bytes.count == 36)
        #expect(Array(SHA256.hash(Array(bytes.prefix(32)).rawSpan).prefix(4)) == Array(bytes.suffix(4)))
        var tokens: Set = [token]
        for _ in 0..<50 { tokens.insert(try await test.service.accounts.issueSession(for: account)) }
        #expect(tokens.count == 51)
        let stored = try await test.service.database.read { transaction in
            try transaction.rows(SQL("SELECT token_hash FROM sessions"), []).map { try $0.blob(0) }
        }
        #expect(stored.contains(SHA256.hash(Array(token.utf8).rawSpan)))
        #expect(!stored.contains(bytes) && !stored.contains(Array(token.utf8)))
    }

    @Test func `that cannot be one is dropped without the database`() async throws {
        let (test, _, token) = try await service()
        var other = Array(token.utf8)
        other[10] = other[10] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
        let mistyped = String(decoding: other, as: UTF8.self)
        await test.service.database.close()
        for garbage in [mistyped, "cs_", "x", String(token.dropLast()), token + "A", "ck_" + token.dropFirst(3)] {
            #expect(try await status(test, garbage) == 401, "\(garbage)")
        }
        #expect(try await status(test, token) >= 500, "this one takes a look")
    }

    @Test func `ends after 180 days without use`() async throws {
        let (test, _, token) = try await service()
        test.clock.advance(by: day * 180 + .seconds(-1))
        #expect(try await status(test, token) == 200)
        test.clock.advance(by: day * 179)
        #expect(try await status(test, token) == 200, "it was used meanwhile")
        let (other, _, idle) = try await service()
        other.clock.advance(by: day * 180)
        #expect(try await status(other, idle) == 401)
    }

    @Test func `ends after 400 days however much it is used`() async throws {
        let (test, _, token) = try await service()
        for _ in 0..<4 {
            test.clock.advance(by: day * 99)
            #expect(try await status(test, token) == 200)
        }
        test.clock.advance(by: day * 4 + .seconds(-1))
        #expect(try await status(test, token) == 200)
        test.clock.advance(by: .seconds(1))
        #expect(try await status(test, token) == 401)
    }
}
