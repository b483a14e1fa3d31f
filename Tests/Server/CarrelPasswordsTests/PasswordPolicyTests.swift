// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelJSON
import CarrelPasswordHash
import CarrelServer
import CarrelServerTesting
import Testing

@Suite(.onBothDatabases)
struct `A chosen password` {
    private let local = Peer.local(userID: 0)

    private func create(_ test: TestService, _ name: String, _ password: String) async throws -> Int {
        let body: JSON = ["name": .string(name), "password": .string(password)]
        return try await test.send(.post, "/admin/v1/accounts", body: body, peer: local).status
    }

    private func service() async throws -> TestService {
        try await TestService(with: .editionDelivery) { $0.passwordCost = .init(memory: 64, passes: 1) }
    }

    @Test func `has 8 to 256 characters, and is not among the most common`() async throws {
        let test = try await service()
        let cases: [(password: String, status: Int)] = [
            ("q7!zK2x", 400), ("q7!zK2xv", 201), (String(repeating: "é", count: 256), 201),
            (String(repeating: "é", count: 257), 400),
            ("", 400), ("password", 400), ("PassWord1", 400), ("12345678", 400), ("qwertyuiop", 400),
            ("password123", 400), ("qwerty123", 400), ("letmein123", 400), ("LetMeIn2024", 400), ("monkey19871224", 400),
            ("abc123456", 400), ("dragon99", 400), ("liverpool7", 400), ("password8402716395281", 201), ("zebrafant123", 201),
        ]
        for (index, one) in cases.enumerated() {
            #expect(try await create(test, "reader\(index)", one.password) == one.status, "\(one.password)")
        }
    }

    @Test func `is taken as it was typed`() async throws {
        let test = try await service()
        let password = " Blaue Bücher, 12 Stück "
        #expect(try await create(test, "alice", password) == 201)
        let others = [
            "Blaue Bücher, 12 Stück", " Blaue Bücher, 12 Stück", " blaue bücher, 12 stück ",
            " Blaue Bu\u{308}cher, 12 Stu\u{308}ck ",
            password + " ", password + "\0",
        ]
        for other in others {
            let reply = try await test.ask("sign_in", ["username": "alice", "password": other])
            #expect(reply.xml.contains("notrecognised"), "\(other)")
            test.clock.advance(by: .seconds(24 * 3600))
        }
        #expect(try await test.ask("sign_in", ["username": "alice", "password": password]).xml.hasPrefix("<token>"))
        let long = String(repeating: "0123456789abcdef", count: 16)
        #expect(try await create(test, "bob", long) == 201)
        let cut = try await test.ask("sign_in", ["username": "bob", "password": String(long.dropLast())])
        #expect(cut.xml.contains("notrecognised"), "the last character counts too")
        #expect(try await test.ask("sign_in", ["username": "bob", "password": long]).xml.hasPrefix("<token>"))
    }
}
