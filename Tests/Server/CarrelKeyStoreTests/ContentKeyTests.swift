// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelBytes
import CarrelKeyStore
import CarrelCrypto
import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelLicensing
import CarrelRights
import CarrelServer
import CarrelServerTesting
import CarrelStore
import CarrelTesting
import CarrelTokens
import Testing

@Suite(.onBothDatabases) struct `The key store` {
    private static let path = "/admin/v1/content-keys"
    private static let local = Peer.local(userID: 0)

    private func add(_ id: KeyID, _ test: TestService) async throws -> Int {
        let key: JSON = ["key": .string(String(repeating: "5a", count: 16))]
        return try await test.send(.put, "\(Self.path)/\(id.hex)", body: key, peer: Self.local).status
    }

    private func list(_ test: TestService, _ query: String = "") async throws -> JSON {
        try await test.call(.get, "\(Self.path)\(query)", peer: Self.local).json
    }

    @Test func `is listed page by page, without a key`() async throws {
        let test = try await TestService(.silence, with: .licensing)
        let ids = (0..<5).map { KeyID(label: "content \($0)") }.sorted { $0.hex < $1.hex }
        for id in ids { #expect(try await add(id, test) == 204) }
        let first = try await list(test, "?limit=3")
        let next = try #require(first["next"]?.string)
        let second = try await list(test, "?limit=3&after=\(next)")
        let all = (first["keys"]?.array ?? []) + (second["keys"]?.array ?? [])
        #expect(all.compactMap { $0["kid"]?.string } == ids.map(\.hex) && second["next"] == nil)
        #expect(all.allSatisfy { $0.object?.names.sorted() == ["clearKey", "content", "createdAt", "kid", "owner"] })
        #expect(!first.description.contains("5a5a"))
        for bad in ["?limit=0", "?limit=1001", "?after=x"] {
            #expect(try await test.send(.get, "\(Self.path)\(bad)", peer: Self.local).status == 400)
        }
    }

    @Test func `keeps a key that live licenses have, unless its removal is forced`() async throws {
        let test = try await TestService(.silence, with: .licensing)
        let (film, other) = (KeyID(label: "film"), KeyID(label: "other"))
        for id in [film, other] { #expect(try await add(id, test) == 204) }
        let player = try await TestPlayer().personalized(by: test)
        func redeem() async throws -> (license: License?, problem: String?) {
            var rules = BusinessRules(kind: .license, expiresAt: test.clock.now + .seconds(86_400))
            rules.contents = [.init(contentID: "cid:film", keyID: film, key: nil)]
            rules.rights = .rental(periodEnd: test.clock.now.wholeSecond + .seconds(3600), playDuration: 60)
            rules.isStorable = true
            let token = try await test.service.businessTokens.seal(rules, at: test.clock.now).text
            return try await player.send(try await player.request(.persist, of: test, token: token), to: test)
        }
        let license = try #require(try await redeem().license)
        let refused = try await test.call(.delete, "\(Self.path)/\(film.hex)", peer: Self.local)
        #expect(refused.status == 409 && refused.json["detail"]?.string?.hasPrefix("1 license with this key") == true)
        #expect(try await test.send(.delete, "\(Self.path)/\(other.hex)", peer: Self.local).status == 204)
        #expect(try await test.send(.delete, "\(Self.path)/\(other.hex)", peer: Self.local).status == 404)
        #expect(try await test.send(.delete, "\(Self.path)/\(other.hex)?force=true", peer: Self.local).status == 404)
        #expect(try await test.send(.delete, "\(Self.path)/\(film.hex)?force=yes", peer: Self.local).status == 400)
        #expect(try await redeem().license != nil, "the key is here after every refusal")
        #expect(try await test.send(.delete, "\(Self.path)/\(film.hex)?force=true", peer: Self.local).status == 204)
        #expect(try await redeem().problem == "license.key")
        // the license has a copy
        var renewal = try await player.request(.renew, of: test)
        (renewal.license, renewal.sequence) = (license.id, 1)
        #expect(try await player.send(renewal, to: test).license?.keys.map(\.id) == [film])
        // once all licenses are over, nothing is in the way
        #expect(try await add(film, test) == 204)
        test.clock.advance(by: .seconds(3601))
        #expect(try await test.send(.delete, "\(Self.path)/\(film.hex)", peer: Self.local).status == 204)
    }

    @Test func `has ClearKey's permission only where both databases have it, after a restore`() async throws {
        let replaced = try await TestService(.silence, with: .licensing)
        let restored = try await TestService(.silence, with: .licensing)
        let ids = ["both", "denied later", "allowed later", "neither"].map { KeyID(label: $0) }
        for (test, allowed) in [(replaced, [0, 2]), (restored, [0, 1])] {
            for (number, id) in ids.enumerated() {
                #expect(try await add(id, test) == 204)
                guard allowed.contains(number) else { continue }
                let body: JSON = ["clearKey": true]
                #expect(try await test.send(.patch, "\(Self.path)/\(id.hex)", body: body, peer: Self.local).status == 204)
            }
        }
        let late = KeyID(label: "added later")
        #expect(try await add(late, replaced) == 204)
        let wrapped = SQL("SELECT master_version, wrapped FROM content_keys WHERE kid = $1")
        func row(_ id: KeyID) async throws -> Row? {
            try await restored.service.database.read { try $0.row(wrapped, [.text(id.hex)]) }
        }
        let before = try await row(ids[1])
        let table = try #require(KeyStoreCapability.carriedTables.first)
        let outcome = try await table.carry(from: replaced.service.database, to: restored.service.database)
        #expect(outcome.carried == ["contentKeys": 2] && outcome.isComplete, "one that was denied, and one that was added")
        let keys = try await list(restored)["keys"]?.array ?? []
        let allowed = keys.filter { $0["clearKey"] == true }.compactMap { $0["kid"]?.string }
        #expect(keys.count == 5 && allowed == [ids[0].hex])
        #expect(try await row(ids[1]) == before, "the key itself stays")
        let again = try await table.carry(from: replaced.service.database, to: restored.service.database)
        #expect(again.carried.isEmpty)
    }

    @Test func `is added to by portals, and read and emptied by those that manage keys`() async throws {
        let test = try await TestService(.silence, with: .licensing)
        let (_, text) = try await test.service.accounts.createServiceKey(name: "p", role: .service, by: .operator)
        let portal: HTTPFields = ["Authorization": "Bearer \(text)"]
        let place = "\(Self.path)/\(KeyID(label: "film").hex)"
        let key: JSON = ["key": .string(String(repeating: "5a", count: 16))]
        #expect(try await test.send(.put, place, headers: portal, body: key).status == 204)
        #expect(try await test.send(.get, Self.path, headers: portal).status == 403)
        #expect(try await test.send(.delete, place, headers: portal).status == 403)
        #expect(try await list(test)["keys"]?.array?.count == 1)
    }
}
