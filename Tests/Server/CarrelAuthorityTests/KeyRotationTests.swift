// SPDX-License-Identifier: Apache-2.0

import CarrelAudit
import CarrelAuthority
import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelHome
import CarrelJOSE
import CarrelJSON
import CarrelRights
import CarrelServer
import CarrelServerTesting
import CarrelStore
import CarrelTesting
import Testing

@Suite(.onBothDatabases) struct `A rotation of the service's keys` {
    private static let day = Duration.seconds(86_400)
    private static let local = Peer.local(userID: 0)

    /// The ids of the current keys that the signed document does not name.
    private func missing(_ authority: Authority) async throws -> [String] {
        let named = Set(try await authority.keys().document.keys.map(\.key.thumbprint))
        let uses = Set(ServiceKeys.Use.allCases.map(\.rawValue))
        return try await authority.list().filter { $0.isCurrent && uses.contains($0.use) && !named.contains($0.id) }.map(\.use)
    }

    @Test func `of keys for requests drops no key of another use, however often it is done`() async throws {
        let test = try await TestService(with: [.licensing, .administration])
        let authority = test.service.authority
        let signer = try #require(try await authority.list().first { $0.use == "license" }).id
        _ = try await authority.rotate("license", by: .operator)
        for _ in 0..<64 { _ = try await authority.rotate("agreement", by: .operator) }
        let document = try await authority.keys().document
        #expect(try await missing(authority).isEmpty)
        #expect(document.keys.contains { $0.key.thumbprint == signer }, "it signed licenses that devices have")
        #expect(document.keys.count <= 64)
        let player = try await TestPlayer().personalized(by: test)
        #expect(player.keys.agreementKey(at: test.clock.now) != nil)
    }

    @Test func `brings back keys that an earlier document had dropped`() async throws {
        let test = try await TestService(with: [.licensing, .administration])
        let authority = test.service.authority
        let keys = try await authority.keys()
        let short = ServiceKeys(
            environment: keys.environment,
            number: 2,
            keys: keys.document.keys.filter { $0.use == .agreement },
            authorities: keys.document.authorities,
            validity: keys.document.validity
        )
        let root = try RootExport.open(
            try await authority.exportRoot(passphrase: Secret(Array("correct horse".utf8)), by: .operator),
            passphrase: Secret(Array("correct horse".utf8))
        ).key
        let text = short.signed(by: root)
        try await test.service.database.write { transaction in
            let insert = SQL("INSERT INTO pki_documents (number, environment, signed_at, text) VALUES (2, $1, 0, $2)")
            _ = try transaction.run(insert, [.text(keys.environment), .text(text)])
        }
        test.clock.advance(by: .seconds(2))
        #expect(try await missing(authority).count == 3)
        _ = try await authority.rotate("agreement", by: .operator)
        #expect(try await missing(authority).isEmpty)
    }

    @Test func `is refused where it would drop a key that signed licenses, and changes nothing`() async throws {
        let test = try await TestService(with: [.licensing, .administration])
        let authority = test.service.authority
        for _ in 0..<60 { _ = try await authority.rotate("license", by: .operator) }
        let before = try await authority.list().map(\.id)
        let refused = await #expect(throws: ServerError.self) { try await authority.rotate("revocation", by: .operator) }
        #expect(refused?.code == .conflict)
        #expect(try await authority.list().map(\.id) == before)
        _ = try await authority.rotate("time", by: .operator)
        #expect(try await missing(authority).isEmpty)
    }

    @Test func `of the authority of players is refused while eight can have certificates in use`() async throws {
        let test = try await TestService(with: [.licensing, .administration])
        let authority = test.service.authority
        for _ in 0..<7 { _ = try await authority.rotate("devices", by: .operator) }
        let refused = await #expect(throws: ServerError.self) { try await authority.rotate("devices", by: .operator) }
        #expect(refused?.code == .conflict)
        test.clock.advance(by: Self.day * 92)
        _ = try await authority.rotate("devices", by: .operator)
    }

    @Test func `is announced half a year before a key ends, and no ended key signs`() async throws {
        let test = try await TestService(with: [.licensing, .administration])
        func warnings(_ target: String) async throws -> [String] {
            let json = try await test.call(.get, target, peer: Self.local).json
            return (json["warnings"]?.array ?? []).compactMap(\.string)
        }
        test.clock.advance(by: Self.day * (5 * 365 - 190))
        #expect(try await warnings("/readyz").isEmpty)
        test.clock.advance(by: Self.day * 10)
        let stranger = try await test.call(.get, "/readyz", peer: .network(address: "192.0.2.1", port: 1)).json
        #expect(stranger == ["status": "ready"], "the state of the keys is not for strangers")
        for target in ["/readyz", "/admin/v1/health"] {
            let found = try await warnings(target)
            for use in ServiceKeys.Use.allCases {
                #expect(found.contains { $0.hasPrefix("the key for '\(use.rawValue)' ends at ") }, "\(target): \(found)")
            }
        }
        #expect(try await test.send(.get, "/v1/license/time").status == 200)
        test.clock.advance(by: Self.day * 200)
        #expect(try await test.send(.get, "/v1/license/time").status == 500)
        #expect(try await test.send(.get, "/v1/license/revocations").status == 500)
        let another = try await test.another()
        for use in ServiceKeys.Use.allCases { _ = try await another.authority.rotate(use.rawValue, by: .operator) }
        test.clock.advance(by: .seconds(2))
        #expect(try await test.send(.get, "/v1/license/time").status == 200)
        #expect(try await warnings("/readyz").isEmpty)
    }

    @Test func `waits while the root is stored elsewhere, and everything else continues`() async throws {
        let test = try await TestService(with: [.licensing, .administration])
        let passphrase: JSON = "correct horse battery"
        func call(_ path: String, _ body: JSON) async throws -> (status: Int, json: JSON) {
            try await test.call(.post, "/admin/v1/pki/\(path)", body: body, peer: Self.local)
        }
        _ = try await test.service.authority.rotate("root", by: .operator)
        let root = try #require(try await call("export-root", ["passphrase": passphrase]).json["root"])
        #expect(try await call("remove-root", ["passphrase": "another passphrase", "root": root]).status == 400)
        #expect(try await call("rotate", ["use": "license"]).status == 200, "nothing was removed")
        let other = try await test.another()
        #expect(try await other.authority.serverCertificate(names: ["localhost"], addresses: []).authority == nil)
        let removed = try await call("remove-root", ["passphrase": passphrase, "root": root])
        #expect(removed.status == 200 && removed.json["expunged"] == true)
        test.clock.advance(by: .seconds(2))
        let count = try await test.service.database.read {
            try $0.row(SQL("SELECT COUNT(*) FROM pki_keys WHERE key_use = 'root' AND LENGTH(wrapped) > 0"))?.integer(0)
        }
        #expect(count == 0, "a replaced root could still sign for devices that trust it")
        // another node forgets the key too
        for service in [test.service, other] {
            let authority = service.authority
            let refused = await #expect(throws: ServerError.self) { try await authority.rotate("license", by: .operator) }
            #expect(refused?.code == .conflict)
            let server = try await authority.serverCertificate(names: ["localhost"], addresses: [])
            let roots = try CertificateRoots([try Certificate(der: try await authority.keys().trust.root)])
            let issuer = try Certificate(der: try #require(server.authority))
            let path = try roots.verify(try Certificate(der: server.certificate), through: [issuer], at: test.clock.now)
            #expect(path.count == 3)
            let players = try await authority.keys().document.authorities
            #expect(!players.contains(issuer.der), "no player's certificate leads to it")
            #expect(try await !authority.agreementCertificate().isEmpty)
        }
        _ = try await TestPlayer().personalized(by: test)
        let back = try await call("import-root", ["passphrase": passphrase, "root": root])
        #expect(back.status == 200 && back.json["changed"]?.bool == true)
        #expect(try await call("import-root", ["passphrase": passphrase, "root": root]).json["changed"]?.bool == false)
        #expect(try await call("rotate", ["use": "license"]).status == 200)
    }

    @Test func `of the root ends exports of the root before: they cannot be imported`() async throws {
        let test = try await TestService(with: [.licensing, .administration])
        let authority = test.service.authority
        let passphrase = Secret(Array("correct horse battery".utf8))
        let text = try await authority.exportRoot(passphrase: passphrase, by: .operator)
        _ = try await authority.rotate("root", by: .operator)
        let refused = await #expect(throws: ServerError.self) {
            try await authority.importRoot(text, passphrase: passphrase, by: .operator)
        }
        #expect(refused?.code == .conflict)
    }
}
