// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelJSON
@_spi(Extended) import CarrelPlayer
import CarrelTesting
import CarrelVault
import Glibc
import Testing

/// A player of each vault with a server, from its certificate to the content's key and back.
@Suite(.serialized) struct `A player whose keys are in a vault` {
    private static let kid = "000102030405060708090a0b0c0d0e0f"
    private static let key = "166634c675823c235a4a9446fad52e4d"
    private let directory = TemporaryDirectory()

    private func carrel(_ words: String...) async throws -> JSON {
        let command = [try program()] + words + ["--home", directory.file("home"), "--json"]
        let text = Array(try await checkProcess(command, timeout: .seconds(60)).utf8)
        return try JSON.parse(text.rawSpan)
    }

    private func program() throws -> String { String(try vaultProgram().dropLast("VaultProgram".utf8.count)) + "carrel" }

    private func engine(_ place: VaultPlace, _ vault: Vault) throws -> PlayerEngine {
        let folder = place.directory.file("reader")
        unsafe mkdir(folder, 0o700)
        return try PlayerEngine(folder: folder, vault: vault, app: .init(name: "Reader", build: "1"))
    }

    @Test(.timeLimit(.minutes(5)), arguments: VaultKind.allCases)
    func `is personalised, redeems, plays, renews and gives back, also after a restart`(_ kind: VaultKind) async throws {
        let place = try await VaultPlace(kind, isAlone: true)
        let server = try BackgroundProcess([try program(), "serve", "--home", directory.file("home"), "--port", "0", "--quiet"])
        let url = try await server.waitForLine(containing: "listening on http").split(separator: " ").last.map(String.init) ?? ""
        let made = try await carrel("key", "create", "--role", "service")
        let form =
            "customerAuthenticator=\(made["id"]?.string ?? ""),\(made["key"]?.string ?? "")&actionTokenType=1&rightsType=BuyToOwn"
            + "&contentId=cid:film&kid=\(Self.kid)&contentKey=\(Self.key)"
        let token = try await checkProcess(["curl", "-sS", "-d", form, "\(url)/hms/bb/token"])

        let vault = try await place.create()
        let engine = try engine(place, vault)
        let identity = try await engine.personalize(server: url)
        #expect(identity.vault == kind && identity.level == vault.level)
        let redeemed = try await engine.process(token)
        let session = try await engine.begin("cid:film")
        #expect(session.keyIDs == [Self.kid])
        #expect(Hex.encode(try await session.contentKey(Self.kid)) == Self.key)
        await session.stop()
        await engine.shutdown()

        let again = try self.engine(place, try await place.open())
        #expect(try await again.personalize(server: url, isForced: true).player == identity.player)
        #expect(try await again.process(token).license == redeemed.license)
        let next = try await again.begin("cid:film")
        #expect(Hex.encode(try await next.contentKey(Self.kid)) == Self.key)
        await next.stop()
        #expect(try await again.renew(redeemed.license).reportedPlays == 2)
        #expect(try await again.release(redeemed.license))
        #expect(try await again.check("cid:film").license == nil)
        await again.shutdown()
        #expect(try await carrel("explain", "--license", redeemed.license)["verdict"] == "ended")
        _ = await server.terminate()
        // Neither the content's key nor the player's own are in the reader's files.
        let key = try #require(Hex.decode(Self.key)).map { "\\x" + Hex.encode([$0]) }.joined()
        let found = try await checkProcess([
            "sh", "-c", "LC_ALL=C grep -rlaP '\(key)|\(Self.key)' \(place.directory.path) || true",
        ])
        #expect(found.isEmpty, "\(found)")
    }
}
