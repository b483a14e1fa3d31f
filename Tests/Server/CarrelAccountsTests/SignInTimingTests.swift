// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelPasswords
import CarrelServer
import CarrelServerTesting
import CarrelStore
import Testing

/// The cost of a sign-in is counted in hashes and statements: time itself differs from machine to machine, and from run to run.
@Suite(.onBothDatabases)
struct `The time that signing in takes` {
    /// The cost of an attempt.
    private struct Cost: Equatable {
        let hashes: Int
        let statements: [String]
    }

    @Test func `does not tell who has an account`() async throws {
        let test = try await TestService(with: .editionDelivery)
        let actor = AuditActor("operator")
        _ = try await test.service.desk.create("alice", password: "correct horse battery", by: actor)
        let suspended = try await test.service.desk.create("suspended", password: "correct horse battery", by: actor)
        try await test.service.desk.setSuspended(true, suspended.id, by: actor)
        _ = try await test.service.desk.create("linked", by: actor)
        let (database, service) = try await test.counted()
        let passwords = service.desk.passwords

        func cost(of name: String, _ password: String, isRepeat: Bool = false) async throws -> Cost {
            // another day each time, so that no attempt is slowed down
            if !isRepeat { test.clock.advance(by: .seconds(24 * 3600)) }
            let before = passwords.hashCount
            _ = database.takeStatements()
            let reply = try await test.ask("sign_in", ["username": name, "password": password], at: service)
            #expect(reply.xml.contains("notrecognised"), "\(name)")
            return Cost(hashes: passwords.hashCount - before, statements: database.takeStatements().sorted())
        }

        for round in 0..<3 {
            let nobody = try await cost(of: "nobody", "wrong \(round)")
            #expect(nobody.hashes == 1 && !nobody.statements.isEmpty)
            for name in ["alice", "suspended", "linked"] {
                #expect(try await cost(of: name, "wrong \(round)") == nobody, "\(name)")
            }
            // known to be wrong by now: nothing is hashed, for a name without an account either
            var again: [Cost] = []
            for name in ["nobody", "alice", "suspended", "linked"] {
                _ = try await cost(of: name, "wrong again \(round)")
                again.append(try await cost(of: name, "wrong again \(round)", isRepeat: true))
            }
            #expect(again.allSatisfy { $0.hashes == 0 && $0 == again[0] }, "\(again)")
        }
    }
}
