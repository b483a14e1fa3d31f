import CarrelAudit
import CarrelAuthority
import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelRights
import CarrelServer
import CarrelServerTesting
import CarrelTesting
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

    @Test func `are those of the old and the new authority, until the last certificate of the old one has ended`() async throws {
        let test = try await TestService()
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
        // the list of the new authority alone says nothing of a certificate of the old one
        let der = try await test.send(.get, "/v1/license/revocations.crl")
        let alone = RevocationList.pem(der.body)
        #expect(both.hasPrefix(alone))
        #expect(try await verify(goodOld, alone, test).errorText.contains("unable to get certificate CRL"))
        #expect(try await verify(new, alone, test).errorText.contains("certificate revoked"))
        test.clock.advance(by: .seconds(92 * 86_400))
        #expect(try await lists(test).split(separator: "-----BEGIN X509 CRL-----").count == 1)
    }
}
