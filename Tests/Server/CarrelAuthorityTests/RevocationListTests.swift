// SPDX-License-Identifier: Apache-2.0

import CarrelAudit
import CarrelAuthority
import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelLicensing
import CarrelRights
import CarrelServer
import CarrelServerTesting
import CarrelTesting
import CarrelWebAPI
import Testing

struct `The lists of X.509 of what is revoked` {
    private let directory = TemporaryDirectory()

    private func lists(_ test: TestService) async throws -> String {
        let answer = try await test.send(.get, "/v1/license/revocations.pem")
        #expect(answer.status == 200 && answer.headers["Content-Type"] == "application/x-pem-file")
        return String(decoding: answer.body, as: UTF8.self)
    }

    /// OpenSSL's word on a player's certificate.
    private func verify(_ player: TestPlayer.Personalized, _ lists: String, _ test: TestService) async throws -> ProcessResult {
        let keys = try await test.service.authority.keys()
        let chain = ([keys.trust.root] + keys.document.authorities).map(Certificate.pem).joined()
        return try await runProcess([
            try requirePeer("openssl"), "verify", "-x509_strict", "-attime", String(test.clock.now.milliseconds / 1000),
            "-crl_check", "-CRLfile", directory.write("lists.pem", Array(lists.utf8)),
            "-CAfile", directory.write("chain.pem", Array(chain.utf8)),
            directory.write("player.pem", Array(Certificate.pem(player.certificate.der).utf8)),
        ])
    }

    @Test func `have an entity tag, which changes with them`() async throws {
        let test = try await TestService(with: .licensing)
        let player = try await TestPlayer().personalized(by: test)
        var tags: [String: String] = [:]
        let paths = ["", ".crl", ".pem"].map { "/v1/license/revocations\($0)" }
        for path in paths {
            let tag = try #require(try await test.send(.get, path).headers["ETag"])
            tags[path] = tag
            let again = try await test.send(.get, path, headers: ["If-None-Match": tag])
            #expect(again.status == 304 && again.body.isEmpty)
        }
        _ = try await test.service.players.change(player.id, .revoke, by: .operator)
        for path in paths {
            let other = try await test.send(.get, path, headers: ["If-None-Match": try #require(tags[path])])
            #expect(other.status == 200 && other.headers["ETag"] != tags[path])
        }
    }

    @Test func `are made once for all who ask at the same time, and have what was revoked before`() async throws {
        let test = try await TestService(with: .licensing)
        let first = try await TestPlayer().personalized(by: test)
        for _ in 0..<5 {
            let player = try await TestPlayer().personalized(by: test)
            _ = try await test.service.players.change(player.id, .revoke, by: .operator)
            // Ed25519 and ECDSA with a fresh number: lists that were made twice differ
            let tags = try await withThrowingTaskGroup(of: String?.self) { group in
                for _ in 0..<16 {
                    group.addTask { try await test.send(.get, "/v1/license/revocations.crl").headers["ETag"] }
                }
                return try await group.reduce(into: Set<String?>()) { $0.insert($1) }
            }
            #expect(tags.count == 1)
            let listed = try await Revocations(test.service.authority.revocations(), keys: first.keys)
            #expect(listed.serials.contains(Hex.encode(player.certificate.serial)))
        }
    }

    @Test func `have a revocation on every node immediately, which refuses the player too`() async throws {
        let test = try await TestService(with: .licensing)
        let player = try await TestPlayer().personalized(by: test)
        let other = try await test.another()
        _ = try await other.authority.revocations()
        _ = try await test.service.players.change(player.id, .revoke, by: .operator)
        // the clock stands still: no cache has to end
        let listed = try await Revocations(other.authority.revocations(), keys: player.keys)
        #expect(listed.serials == [Hex.encode(player.certificate.serial)])
        let text = try await player.seal(player.request(.persist, of: test), at: test.clock.now).text
        await #expect(throws: RuleError.self) { try await other.licenses.answer(text, requestID: "") }
    }

    @Test func `are limited for one network`() async throws {
        let test = try await TestService(with: .licensing)
        let peer = Peer.network(address: "203.0.113.9", port: 1)
        let statuses = try await Peer.$current.withValue(peer) {
            var statuses: [Int] = []
            for _ in 0..<1201 { statuses.append(try await test.send(.get, "/v1/license/revocations", peer: peer).status) }
            return statuses
        }
        #expect(statuses.dropLast().allSatisfy { $0 == 200 } && statuses.last == 429)
    }

    @Test func `come from the old and the new authority, until the last certificate of the old one has ended`() async throws {
        let test = try await TestService(with: .licensing)
        let (old, goodOld) = (try await TestPlayer().personalized(by: test), try await TestPlayer().personalized(by: test))
        #expect(try await lists(test).split(separator: "-----BEGIN X509 CRL-----").count == 1)
        _ = try await test.service.authority.rotate("devices", by: .operator)
        test.clock.advance(by: .seconds(60))
        let new = try await TestPlayer().personalized(by: test)
        for player in [old, new] { _ = try await test.service.players.change(player.id, .revoke, by: .operator) }
        test.clock.advance(by: .seconds(60))
        let both = try await lists(test)
        #expect(both.split(separator: "-----BEGIN X509 CRL-----").count == 2)
        for player in [old, new] {
            let revoked = try await verify(player, both, test)
            #expect(revoked.errorText.contains("certificate revoked"), "\(revoked.errorText)")
        }
        let good = try await verify(goodOld, both, test)
        #expect(good.status.isSuccess, "\(good.errorText)")
        // the list of the new authority alone does not cover a certificate of the old one
        let der = try await test.send(.get, "/v1/license/revocations.crl")
        let alone = RevocationList.pem(der.body)
        #expect(both.hasPrefix(alone))
        #expect(try await verify(goodOld, alone, test).errorText.contains("unable to get certificate CRL"))
        #expect(try await verify(new, alone, test).errorText.contains("certificate revoked"))
        test.clock.advance(by: .seconds(92 * 86_400))
        #expect(try await lists(test).split(separator: "-----BEGIN X509 CRL-----").count == 1)
    }
}
