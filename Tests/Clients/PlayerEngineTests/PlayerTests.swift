// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAudit
import CarrelAuthority
import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelHTTPServer
import CarrelHome
import CarrelPlayer
import CarrelPlayerTesting
import CarrelServer
import CarrelStore
import CarrelTesting
import CarrelThreads
import CarrelVault
import Glibc
import Testing

struct `A player` {
    @Test func `of the manual is personalised, and found again at the next start`() async throws {
        let test = try await PlayerWorld()
        let folder = test.folder("reader")
        let first = try await openVault(in: folder, passphrase: "correct horse", isFirstStart: true)
        let identity = try await player(in: folder, vault: first, server: test.url)
        await first.close()
        let again = try await openVault(in: folder, passphrase: "correct horse", isFirstStart: false)
        #expect(try await player(in: folder, vault: again, server: test.url).player == identity.player)
    }

    @Test func `is personalised once, and is the same after the app was started again`() async throws {
        let test = try await PlayerWorld()
        let folder = test.folder("reader")
        let vault = try await test.vault(folder)
        let heard = Locked<[String]>([])
        let engine = try test.engine(folder, vault) { transaction in
            let text =
                switch transaction {
                case .began(let kind): "began \(kind.rawValue)"
                case .progress(_, let step, let done, let total): "\(step) \(done)/\(total)"
                case .ended(let kind, let error): "ended \(kind.rawValue) \(error == nil)"
                case .call: ""
                }
            guard !text.isEmpty else { return }
            heard.withLock { $0.append(text) }
        }
        #expect(await !engine.isPersonalized)
        let identity = try await engine.personalize(server: test.url + "/")
        #expect(identity.level == .passphrase && identity.vault == .file && identity.server == test.url)
        #expect(
            heard.withLock(\.self) == [
                "began personalization", "keys 1/4", "challenge 2/4", "certificate 3/4", "stored 4/4",
                "ended personalization true",
            ]
        )
        // without the server
        await test.server.shutdown(grace: .seconds(1))
        await vault.close()
        let again = try test.engine(folder, try await test.vault(folder, create: false))
        #expect(try await again.personalize(server: test.url) == identity)
        #expect(try PlayerEngine.identity(of: folder) == identity)
    }

    @Test func `is renewed when that is due, and linked when there is a session`() async throws {
        let test = try await PlayerWorld()
        let folder = test.folder("reader")
        let engine = try test.engine(folder, try await test.vault(folder))
        let first = try await engine.personalize(server: test.url)
        test.clock.advance(by: .seconds(61 * 86_400))
        let second = try await engine.personalize(server: test.url)
        #expect(second.player == first.player && second.expiresAt > first.expiresAt)
        let alice = try await test.service.accounts.findOrCreate(named: "alice")
        let token = try await test.service.accounts.issueSession(for: alice)
        _ = try await engine.personalize(server: test.url, session: token)
        #expect(try await test.service.players.list(of: alice.id).map(\.id) == [first.player])
        await #expect(throws: PlayerError.self) { try await engine.personalize(server: test.url, session: "cs_wrong") }
    }

    @Test func `whose folder was copied is refused, and the copy harms nothing`() async throws {
        let test = try await PlayerWorld()
        let folder = test.folder("reader")
        let vault = try await test.vault(folder)
        _ = try await test.engine(folder, vault).personalize(server: test.url)
        await vault.close()
        let copy = test.directory.file("copy")
        _ = try await checkProcess(["cp", "-a", folder, copy])
        let copied = try test.engine(copy, try await test.vault(copy, create: false))
        let error = await #expect(throws: PlayerError.self) { try await copied.personalize(server: test.url) }
        #expect(error?.code == .fingerprint && error?.number == -5009 && error?.isRetryable == false)
        let original = try test.engine(folder, try await test.vault(folder, create: false))
        _ = try await original.personalize(server: test.url, isForced: true)
    }

    @Test func `follows a new root of its server, and trusts no other server under the same address`() async throws {
        let test = try await PlayerWorld()
        let folder = test.folder("reader")
        let engine = try test.engine(folder, try await test.vault(folder))
        let first = try await engine.personalize(server: test.url)
        _ = try await test.service.authority.rotate("root", by: .operator)
        #expect(try await engine.personalize(server: test.url, isForced: true).player == first.player)
        let other = try await PlayerWorld()
        let elsewhere = try await engine.foreign(other.url)
        #expect(elsewhere?.code == .rejected && elsewhere?.serverCode == nil)
        await test.server.shutdown(grace: .seconds(1))
        try test.answer(other.service)
        let strange = try await engine.foreign(test.url)
        #expect(strange?.code == .rejected && strange?.message.contains("root") == true, "\(strange?.message ?? "taken")")
    }

    @Test func `hears what kind of failure it was`() async throws {
        let test = try await PlayerWorld()
        let folder = test.folder("reader")
        let engine = try test.engine(folder, try await test.vault(folder))
        func code(_ server: String) async -> PlayerError.Code? {
            do {
                _ = try await engine.personalize(server: server)
                return nil
            } catch { return error.code }
        }
        #expect(await code("http://example.org") == .server)
        #expect(await code("ftp://127.0.0.1") == .server)
        #expect(await code("https://user@127.0.0.1") == .server)
        #expect(await code("http://127.0.0.1:1") == .host)
        #expect(await code("https://127.0.0.1:\(test.url.split(separator: ":").last ?? "")") == .tls)
        #expect(await code(test.url) == nil)
        let player = try #require(await engine.identity?.player)
        _ = try await test.service.players.change(player, .revoke, by: .operator)
        let revoked = await #expect(throws: PlayerError.self) { try await engine.personalize(server: test.url, isForced: true) }
        #expect(revoked?.code == .revoked && revoked?.serverCode == "personalization.revoked")
    }

    @Test func `with a damaged file or another vault reports an error, and recreates nothing`() async throws {
        let test = try await PlayerWorld()
        let folder = test.folder("reader")
        let vault = try await test.vault(folder)
        _ = try await test.engine(folder, vault).personalize(server: test.url)
        let path = "\(folder)/player.json"
        let bytes = try #require(Fixtures.bytes(at: path))
        for length in [0, 1, bytes.count / 2, bytes.count - 3] {
            test.directory.write("reader/player.json", Array(bytes.prefix(length)))
            #expect(throws: PlayerError(.store, "")) { try test.engine(folder, vault) }
        }
        let text = String(decoding: bytes, as: UTF8.self).replacing("\"file\"", with: "\"tpm\"")
        test.directory.write("reader/player.json", Array(text.utf8))
        #expect(throws: PlayerError(.vault, "")) { try test.engine(folder, vault) }
        test.directory.write("reader/player.json", bytes)
        try await vault.removeKey(named: "player.sign")
        let lost = await #expect(throws: PlayerError.self) {
            try await test.engine(folder, vault).personalize(server: test.url, isForced: true)
        }
        #expect(lost?.code == .vault)
    }
}

extension PlayerEngine {
    /// The error of a request to another server for this player.
    fileprivate func foreign(_ server: String) async throws -> PlayerError? {
        do {
            _ = try await personalize(server: server, isForced: true)
            return nil
        } catch { return error }
    }
}
