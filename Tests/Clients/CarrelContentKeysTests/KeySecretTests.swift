// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelContentKeys
import CarrelCrypto
import CarrelMedia
import CarrelPlayer
import CarrelPlayerTesting
import CarrelReader
import CarrelRights
import CarrelTesting
import CarrelVault
import Testing

struct `Secrets of key delivery` {
    /// A text in the forms in which it could be in a file.
    private static func forms(_ bytes: [UInt8]) -> [[UInt8]] {
        [bytes, Array(Hex.encode(bytes).utf8), Array(Base64.encode(bytes).utf8), Array(Base64URL.encode(bytes).utf8)]
    }

    @Test func `are in no file, also after they were removed, and in no trace`() async throws {
        let film = try await FilmWorld()
        let world = film.world
        let folder = world.folder("reader")
        let log = TraceLog()
        let engine = try world.engine(folder, try await world.vault(folder)) { log.add(Trace($0, time: .now())) }
        try await engine.personalize(server: world.url)
        let marked = Array("marked-key-0815!".utf8)
        let ticket = "bWFya2VkLXRpY2tldC1vZi1hLXBsYXlsaXN0"
        let server = KeyServer { _ in .init(body: marked) }
        let token = try film.message()
        let action = try await world.action()
        let address = ContentKeyIdentifier(.address(server.url("/k/\(ticket)/1.key?sig=\(ticket)")))
        let session = film.session(engine, token: token, log) {
            $0.source = server.url("/master.m3u8")
            $0.keyServerFields = [MediaHTTPField("Authorization", "Bearer \(ticket)")]
        }
        try await session.persist(FilmWorld.identifiers + [address], item: "film")
        let other = [ContentKeyIdentifier(.id(PlayerWorld.kid.bytes))]
        try await film.session(engine, token: action, log).persist(other, item: "other")
        let package = try await engine.savedItems().makePackageKey(ofItem: "film")
        let journal = try await engine.savedItems().journalKey()
        let keys = SavedKeys(engine, item: "film", trace: { log.add($0) })
        #expect(granted(await keys.key(address.names[0]))?.key == Secret(marked))
        #expect(granted(await keys.key(.id(FilmWorld.ids[0].bytes)))?.key == FilmWorld.keys[0])
        await keys.end()
        try await session.renew(item: "film")
        try await engine.removeItem("other")
        await engine.shutdown()
        var secrets = [marked, Array(ticket.utf8), Array(token.utf8), Array(action.utf8)].flatMap(Self.forms)
        for key in FilmWorld.keys + [PlayerWorld.key, package, journal] {
            secrets += Self.forms(key.withBytes { [UInt8](copying: $0) })
        }
        let names = try await checkProcess(["find", folder, "-type", "f"]).split(separator: "\n").map(String.init)
        #expect(names.count >= 3)
        for name in names {
            let bytes = try #require(Fixtures.bytes(at: name))
            for (number, secret) in secrets.enumerated() {
                #expect(bytes.firstRange(of: secret) == nil, "secret \(number) is in \(name)")
            }
        }
        let text = Array(log.text.utf8)
        #expect(log.text.contains("player: call to the service ended") && log.text.contains("key-delivery: renewal"))
        for (number, secret) in secrets.enumerated() {
            #expect(text.firstRange(of: secret) == nil, "secret \(number) is in a trace")
        }
    }
}
