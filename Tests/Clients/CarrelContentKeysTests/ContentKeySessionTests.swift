// SPDX-License-Identifier: Apache-2.0

import CarrelAudit
import CarrelAuthority
import CarrelBytes
import CarrelContentKeys
import CarrelCrypto
import CarrelLicenseKeys
import CarrelMedia
import CarrelPlayer
import CarrelPlayerTesting
import CarrelRights
import CarrelServer
import CarrelTesting
import CarrelThreads
import CarrelTokens
import Testing

struct `A content-key session` {
    /// The traces of a key that the license of an earlier key has.
    private static let known = [
        "content is encrypted, initiating key request", "key request info", "online key flow",
        "creating response from persistable key",
        "providing response",
    ]

    @Test func `delivers the keys of a film online in the order of the steps`() async throws {
        let film = try await FilmWorld()
        let engine = try await film.world.player()
        let log = TraceLog()
        let session = film.session(engine, token: try film.message(), log)
        let events = EventLog(session)
        await session.addRecipient(ContentKeyAsset(id: "film", keys: FilmWorld.identifiers))
        for (number, id) in FilmWorld.ids.enumerated() {
            #expect(granted(await session.key(.id(id.bytes)))?.key == FilmWorld.keys[number])
        }
        #expect(
            log.messages == [
                "content is encrypted, initiating key request", "key request info", "online key flow",
                "service certificate missing, requesting it", "service certificate received", "preparing key request data",
                "sending key request to the license server", "content key response received",
                "creating response from the server's", "providing response",
            ] + Self.known + Self.known + ["all keys available"]
        )
        #expect(log.text.contains("status=200"))
        let all = try await events.events(until: "all film")
        #expect(
            all == [
                "provided online 0", "available 0", "provided online 1", "available 1", "provided online 2", "available 2",
                "all film",
            ]
        )
        // nothing is stored, and the slot of the stream is given back
        #expect(try await engine.licenses().count() == 0)
        await session.end()
        #expect(await engine.heldLicense(for: FilmWorld.ids[0].contentID) == nil)
        #expect(refusal(await session.key(.id(FilmWorld.ids[0].bytes))) != nil)
    }

    @Test func `stores the keys of a film in the order of the steps, before any media`() async throws {
        let film = try await FilmWorld()
        let engine = try await film.world.player()
        let log = TraceLog()
        let session = film.session(engine, token: try film.message(), log)
        let events = EventLog(session)
        try await session.persist(FilmWorld.identifiers, item: "film")
        let start = [
            "content is encrypted, initiating key request", "key request info", "online key flow",
            "initiating persistable key request", "key request info", "offline key flow",
        ]
        let end = ["creating response from persistable key", "providing response"]
        let others = start + ["persistable key already exists", "persistable key written"] + end
        #expect(
            log.messages == start + [
                "service certificate missing, requesting it", "service certificate received", "preparing key request data",
                "sending key request to the license server", "content key response received", "persistable key obtained",
                "persistable key written",
            ] + end + ["persistable key available"] + others + ["persistable key available"] + others
                + ["all keys available", "persistable key available"]
        )
        let all = try await events.events(until: "all film")
        #expect(all.filter { $0 == "all film" }.count == 1 && all.last == "all film")
        #expect(Array(all.prefix(4)) == ["provided online 0", "provided persistable 0", "stored 0", "available 0"])
        // one license has all of them
        #expect(try await engine.licenses().count() == 1)
        #expect(try await engine.savedItems().savedKeys(ofItem: "film").count == 3)
        let state = try await engine.savedKeyState(of: "film")
        #expect(state.obstacle == nil && state.keys == 3 && state.licenses.count == 1)
        await session.end()
    }

    @Test func `fails with the key that the token does not list, and keeps the others for the retry`() async throws {
        let film = try await FilmWorld()
        let engine = try await film.world.player()
        let events: [String]
        do {
            let session = film.session(engine, token: try film.message([0, 1]))
            let log = EventLog(session)
            let error = await #expect(throws: ContentKeyError.self) {
                try await session.persist(FilmWorld.identifiers, item: "film")
            }
            #expect(error?.code == .missingKey && error?.key == FilmWorld.ids[2].hex && error?.others.isEmpty == true)
            events = try await log.events(until: "failed 2 keys.missing")
            await session.end()
        }
        #expect(!events.contains("all film") && events.contains("available 0") && events.contains("available 1"))
        #expect(try await engine.savedItems().savedKeys(ofItem: "film").count == 2)
        let log = TraceLog()
        let session = film.session(engine, token: try film.message(), log)
        try await session.persist(FilmWorld.identifiers, item: "film")
        #expect(log.messages.filter { $0 == "persistable key already exists" }.count == 2)
        #expect(log.messages.filter { $0 == "sending key request to the license server" }.count == 1)
        let keys = SavedKeys(engine, item: "film")
        for (number, id) in FilmWorld.ids.enumerated() {
            #expect(granted(await keys.key(.id(id.bytes)))?.key == FilmWorld.keys[number])
        }
        await keys.end()
    }

    @Test func `requests the stored license for a stream whose keys are stored`() async throws {
        let film = try await FilmWorld()
        let engine = try await film.world.player()
        let saving = film.session(engine, token: try film.message())
        try await saving.persist(FilmWorld.identifiers, item: "film")
        await saving.end()
        await film.stopServer()
        let log = TraceLog()
        let session = film.session(engine, log)
        let events = EventLog(session)
        #expect(granted(await session.key(.id(FilmWorld.ids[1].bytes)))?.key == FilmWorld.keys[1])
        #expect(log.messages.contains("persistable key already exists"))
        // the first play is on the disk before the key is here
        #expect(log.messages.contains("persistable key updated: its first play is on the disk"))
        _ = try await events.events(until: "updated")
        let license = try #require(try await engine.licenses().licenses().first)
        #expect(license.plays == 1 && license.firstPlayedAt != nil)
        await session.end()
    }

    @Test func `plays online what may not be stored, and does not save it`() async throws {
        let film = try await FilmWorld()
        let engine = try await film.world.player()
        let token = try film.message(isStorable: false)
        let saving = film.session(engine, token: token)
        let error = await #expect(throws: ContentKeyError.self) { try await saving.persist(FilmWorld.identifiers, item: "film") }
        #expect(error?.code == .notStorable)
        // an action token is redeemed for the store first
        let log = TraceLog()
        let action = try await film.world.action { $0.isStorable = false }
        let session = film.session(engine, token: action, log)
        #expect(granted(await session.key(.id(PlayerWorld.kid.bytes)))?.key == PlayerWorld.key)
        #expect(log.messages.contains("persistable key request refused, continuing online"))
        await session.end()
        #expect(try await engine.licenses().count() == 0)
    }

    @Test func `refuses the license server of another service with both names`() async throws {
        let film = try await FilmWorld()
        let session = film.session(try await film.world.player(), token: try film.message()) {
            $0.licenseServer = "https://drm.example/AcquireLicense?secret=1"
        }
        let error = await #expect(throws: ContentKeyError.self) { try await session.persist(FilmWorld.identifiers, item: "film") }
        let first = try #require(error)
        #expect(first.code == .otherService && first.others.count == 2)
        #expect(first.message == "the license server is https://drm.example, and this player belongs to \(film.world.url)")
        let own = film.session(try await film.world.player("other"), token: try film.message()) {
            $0.licenseServer = film.world.url + "/AcquireLicense"
            $0.certificateURL = film.world.url + "/v1/license/certificate"
        }
        try await own.persist(FilmWorld.identifiers, item: "film")
    }

    @Test func `refuses a certificate that the service's root did not issue for requests`() async throws {
        let film = try await FilmWorld()
        let engine = try await film.world.player()
        let other = try await PlayerWorld()
        let foreign = try await other.player().serviceCertificate()
        let error = await #expect(throws: PlayerError.self) {
            try await engine.makeKeyRequest(.persist, certificate: foreign, token: try film.message())
        }
        #expect(error?.code == .rejected)
        let server = KeyServer { _ in .init(body: foreign) }
        let session = film.session(engine, token: try film.message()) { $0.certificateURL = server.url("/fps.cer") }
        let failure = await #expect(throws: ContentKeyError.self) {
            try await session.persist(FilmWorld.identifiers, item: "film")
        }
        #expect(failure?.code == .certificate)
    }

    @Test func `lets a delegate send the requests itself, online and to save`() async throws {
        let film = try await FilmWorld()
        let engine = try await film.world.player()
        let session = film.session(engine, token: try film.message())
        session.setDelegate(OwnNetwork(client: HTTPMediaClient()))
        #expect(granted(await session.key(.id(FilmWorld.ids[1].bytes)))?.key == FilmWorld.keys[1])
        #expect(try await engine.licenses().count() == 0)
        await session.end()
        let saving = film.session(engine, token: try film.message { $0.duration = 900 })
        saving.setDelegate(OwnNetwork(client: HTTPMediaClient()))
        await saving.addRecipient(ContentKeyAsset(id: "film", keys: FilmWorld.identifiers, isSaved: true))
        let request = try await saving.processRequest(FilmWorld.identifiers[0], for: "film")
        // the delegate delivers it online; an app that saves asks for the persistable key
        try await saving.wait(for: request)
        let other = PersistingDelegate(client: HTTPMediaClient())
        saving.setDelegate(other)
        try await saving.wait(for: try await saving.processRequest(FilmWorld.identifiers[1], for: "film"))
        #expect(try await standing(ofSaved: "film", with: engine).hasPrefix("until "))
        #expect(try await engine.savedItems().savedKeys(ofItem: "film").count == 1)
        try await maintain(["film"], deleting: ["film"], with: engine)
        #expect(try await engine.licenses().count() == 0)
    }

    @Test func `requests a key again, once, whose license has ended when it comes`() async throws {
        let film = try await FilmWorld()
        let engine = try await film.world.player()
        // the device knows that the server's clock is late
        film.world.host.wait(.seconds(100))
        let session = film.session(engine, token: try film.message { $0.duration = 20 })
        let events = EventLog(session)
        let error = await #expect(throws: ContentKeyError.self) {
            try await session.persist([FilmWorld.identifiers[0]], item: "film")
        }
        #expect(error?.code == .expired)
        let all = try await events.events(until: "failed 0 keys.expired")
        #expect(all.filter { $0 == "retried 0 expired-lease-in-response" }.count == 1)
        #expect(try await engine.licenses().count() == 0)
    }

    @Test func `shares its delegate and its events with the uses of a proxy`() async throws {
        let film = try await FilmWorld()
        let session = film.session(try await film.world.player(), token: try film.message())
        let events = EventLog(session)
        session.setDelegate(OwnNetwork(client: HTTPMediaClient()))
        let use = session.newUse()
        #expect(granted(await use.key(.id(FilmWorld.ids[2].bytes)))?.key == FilmWorld.keys[2])
        await use.end()
        let second = session.newUse()
        #expect(granted(await second.key(.id(FilmWorld.ids[1].bytes)))?.key == FilmWorld.keys[1])
        let all = try await events.events(until: "available 1")
        #expect(all == ["provided online 2", "available 2", "provided online 1", "available 1"])
        await second.end()
        await session.end()
    }

    @Test func `requests a key again after the service replaced its certificate`() async throws {
        let film = try await FilmWorld()
        let engine = try await film.world.player()
        let log = TraceLog()
        let session = film.session(engine, token: try film.message(), log)
        let events = EventLog(session)
        _ = try await session.serviceCertificate()
        _ = try await film.world.service.authority.rotate("agreement", by: .operator)
        film.world.wait(.seconds(8 * 86_400))
        try await session.persist(FilmWorld.identifiers, item: "film")
        _ = try await events.events(until: "retried 0 obsolete-key")
        #expect(log.messages.filter { $0 == "service certificate received" }.count == 2)
        let message = await saveKeys(of: "again", FilmWorld.identifiers, token: try film.message(), with: engine)
        #expect(message == nil)
    }

    @Test func `parses Apple's addresses, and names a stream that only Apple's module opens`() async throws {
        let path = try Fixtures.path("drm/hls/fairplay-multikey-master.m3u8")
        let text = String(decoding: try #require(Fixtures.bytes(at: path)), as: UTF8.self)
        let addresses = text.split(separator: "\"").map(String.init).filter { $0.hasPrefix("skd://") }
        #expect(addresses.count == 2)
        let first = try #require(FairPlayKeyAddress(addresses[0]))
        #expect(first.keyID == "9eb4050de44b4802932e27d75083e266" && first.initializationVector == Array(0..<16))
        #expect(first.contentIdentifier == String(addresses[0].dropFirst(6)))
        let identifier = try #require(ContentKeyIdentifier(addresses[1]))
        #expect(identifier.keyID == "6d76f25cb17f5e16b8eaef6bbf582d8e")
        let session = ContentKeySession(nil)
        let request = try await session.processRequest(identifier)
        let error = await #expect(throws: ContentKeyError.self) { try await session.wait(for: request) }
        #expect(error?.code == .unplayable && request.status == .failed)
        #expect(FairPlayKeyAddress("https://x/k") == nil && FairPlayKeyAddress("skd://name")?.keyID == nil)
    }

    @Test func `renews a key by a renewing request, and cancels what a removed asset waits for`() async throws {
        let film = try await FilmWorld()
        let engine = try await film.world.player()
        let session = film.session(engine, token: try film.message())
        let events = EventLog(session)
        try await session.persist(FilmWorld.identifiers, item: "film")
        let request = try await session.processRequest(FilmWorld.identifiers[0], for: "film")
        let before = try #require(try await engine.licenses().licenses().first)
        try await session.renew(request)
        #expect(request.status == .renewed)
        let all = try await events.events(until: "renewed 0")
        #expect(all.contains("provided renewing 0"))
        let after = try #require(try await engine.licenses().licenses().first)
        #expect(after.id == before.id && after.data != before.data)
        await session.removeRecipient("film")
        let silent = SilentDelegate()
        session.setDelegate(silent)
        let open = try await session.processRequest(FilmWorld.identifiers[1], for: "other")
        try await waitUntil { silent.requests.count == 1 }
        await session.removeRecipient("other")
        let error = await #expect(throws: ContentKeyError.self) { try await session.wait(for: open) }
        #expect(error?.code == .cancelled && open.status == .cancelled)
    }
}

/// Asks for the persistable key, as an app that saves does.
private struct PersistingDelegate: ContentKeySessionDelegate {
    let client: any MediaHTTPClient

    func contentKeySession(_ session: ContentKeySession, didProvide request: ContentKeyRequest) async {
        do throws(ContentKeyError) { try await session.respondByRequestingPersistableKey(to: request) } catch {
            await session.process(error, for: request)
        }
    }

    func contentKeySession(_ session: ContentKeySession, didProvidePersistable request: ContentKeyRequest) async {
        await OwnNetwork(client: client).contentKeySession(session, didProvidePersistable: request)
    }
}

/// Answers nothing.
private final class SilentDelegate: ContentKeySessionDelegate {
    private let provided = Locked<[ContentKeyRequest]>([])

    var requests: [ContentKeyRequest] { provided.withLock { $0 } }

    func contentKeySession(_ session: ContentKeySession, didProvide request: ContentKeyRequest) async {
        provided.withLock { $0.append(request) }
    }
}
