// SPDX-License-Identifier: Apache-2.0

import CarrelAdministration
import CarrelAudit
import CarrelAuthority
import CarrelBytes
import CarrelCatalog
import CarrelCrypto
import CarrelHTTP
import CarrelHTTPClient
import CarrelHTTPServer
import CarrelHome
import CarrelIngest
import CarrelJSON
import CarrelLicenseKeys
import CarrelLicensing
import CarrelMedia
import CarrelPlayer
import CarrelPostgres
import CarrelPlayerTesting
import CarrelRights
import CarrelRestoring
import CarrelServer
import CarrelServerTesting
import CarrelStore
import CarrelTesting
import CarrelThreads
import CarrelTokens
import CarrelWorks
import Testing

/// A server with devices, whose database is backed up and restored: by its own commands, or on PostgreSQL by pg_dump and pg_restore.
private struct Field {
    let world: PlayerWorld
    private let home: Home
    private let address: Locked<String?>
    private let file: String

    init() async throws {
        switch Engine.current {
        case .sqlite:
            world = try await PlayerWorld()
            address = Locked(nil)
        case .postgres:
            let place = try await PrivatePostgres.shared().newDatabase(from: "schema") { address in
                try await PostgresDatabase(address, migrations: Schema.migrations, connections: 3).close()
            }
            address = Locked(place)
            world = try await PlayerWorld(database: PostgresDatabase(place, migrations: Schema.migrations, connections: 3))
        }
        home = try Home(at: world.directory.file("home"))
        file = world.directory.file("backup.db")
    }

    var service: CarrelService { world.service }

    /// - Returns: the path of the backup.
    func backUp() async throws -> String {
        try await service.audit.finish()
        if let address = address.withLock(\.self) { return try await PrivatePostgres.shared().backUp(address) }
        let database = try #require(service.database as? SQLiteDatabase)
        try await database.backup(to: file)
        return file
    }

    /// Stops the server, restores a backup, and starts the server again.
    ///
    /// - Parameters:
    ///   - backup: its path.
    ///   - isReadable: whether the replaced database can be read.
    /// - Returns: the result.
    /// - Throws: the error of the restore.
    @discardableResult
    func restore(_ backup: String, isReadable: Bool = true) async throws -> CarrelService.Restored {
        try await service.audit.finish()
        await world.server.shutdown(grace: .seconds(1))
        await service.database.close()
        let restored: CarrelService.Restored
        var database: (any Database)?
        if let old = address.withLock(\.self) {
            let place = try await PrivatePostgres.shared().restore(backup)
            let fresh = try PostgresDatabase(place, migrations: Schema.migrations, connections: 3)
            let replaced = isReadable ? try PostgresDatabase(old, migrations: Schema.migrations, connections: 3) : nil
            restored = try await CarrelService.finishRestore(home, fresh, replaced: replaced, clock: world.clock)
            await replaced?.close()
            address.withLock { $0 = place }
            database = fresh
        } else {
            if !isReadable { _ = try await checkProcess(["sh", "-c", "head -c 100000 /dev/urandom > '\(home.databasePath)'"]) }
            restored = try await CarrelService.restore(home, from: backup, clock: world.clock)
        }
        try world.replace(by: try await CarrelService.open(home, database: database, clock: world.clock))
        return restored
    }

    /// A token for other content.
    func otherAction() async throws -> String {
        try await world.action {
            $0.contents = [.init(contentID: "cid:other", keyID: PlayerWorld.kid, key: PlayerWorld.key)]
        }
    }

    /// The state of a device's player on the server.
    func state(_ engine: PlayerEngine) async throws -> String {
        try await service.players.find(try #require(await engine.identity?.player)).state
    }

    func revoke(_ engine: PlayerEngine) async throws {
        _ = try await service.players.change(try #require(await engine.identity?.player), .revoke, by: .operator)
    }

    /// Adds the communication key of a portal, and returns a message under it that one player can redeem.
    func message() async throws -> String {
        let id = try #require(KeyID(uuid: "11111111-2222-3333-4444-555555555555"))
        let key = try LicenseMessage.CommunicationKey(id: id, secret: Secret(Array(0..<32)))
        let body: JSON = ["key": .string(Hex.encode(Array(0..<32)))]
        let request = HTTPRequest(
            .put,
            "/admin/v1/communication-keys/\(id.uuid)",
            headers: ["Content-Type": "application/json"],
            body: body.write(),
            peer: .local(userID: 0)
        )
        try #require(await service.router.respond(to: request).status == .noContent)
        var entitlement = LicenseMessage.Entitlement(keys: .inline([.init(id: PlayerWorld.kid, key: PlayerWorld.key)]))
        entitlement.allowsPersistence = true
        entitlement.access.preventsReuse = true
        return try LicenseMessage(communicationKeyID: id, id: "once", entitlement: entitlement).write(under: key)
    }
}

/// An edition that the server of a field delivers as a protected file.
private struct ProtectedEdition {
    let field: Field
    static let product = "com.example.book"

    static func epub(_ version: UInt8) -> [UInt8] {
        EditionFiles.epub([.init("OEBPS/a.bin", bytes: (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 7) ^ version })])
    }

    /// Ingests contents of the edition. Returns the title's ID.
    func put(_ version: UInt8) async throws -> String {
        let path = field.world.directory.write("book\(version).epub", Self.epub(version))
        var terms = Edition.Terms(productID: Self.product)
        terms.licensed = .only
        let options = EditionOptions(productID: Self.product)
        let title = try await field.service.ingesting.ingest(path, options, terms).edition.title.id
        field.world.wait(.seconds(2))
        return title
    }

    /// The protected file, as everyone may download it.
    func download() async throws -> [UInt8] {
        let url = "\(field.world.url)/editions/\(Self.product)/-/licensed.dcf"
        let response = try await HTTPClient().send(ClientRequest(url, maxResponseBytes: 4 << 20))
        try #require(response.status == .ok)
        return response.body
    }

    /// A license for the title, stored on a device. Returns its ID.
    func license(_ title: String, _ device: PlayerEngine) async throws -> String {
        let token = try await field.world.action { rules in
            rules.contents = []
            rules.title = title
            rules.extensions = [.init(type: "wudo", isCritical: false, payload: [0, 0, 0, 0])]
        }
        return try await device.process(token).license
    }

    /// The contents of a protected file, under a use of its own.
    func read(_ file: [UInt8], _ device: PlayerEngine) async throws -> [UInt8] {
        let stream = try await MediaStream.open(
            MemorySource(file),
            as: .dcf(),
            keys: LicenseKeys(device, action: .read),
            clock: field.world.clock
        )
        let bytes = try await stream.read(upTo: 1 << 20)
        await stream.close()
        return bytes
    }
}

@Suite(.onBothDatabases) struct `A device in the field, after its server was restored from a backup` {
    @Test func `opens the protected editions that it has, renews their licenses, and downloads the same bytes`() async throws {
        let field = try await Field()
        let edition = ProtectedEdition(field: field)
        let device = try await field.world.player("device")
        let title = try await edition.put(1)
        let first = try await edition.download()
        let known = try await edition.license(title, device)
        let backup = try await field.backUp()
        // contents, a key and a license that the backup does not have
        #expect(try await edition.put(2) == title)
        let second = try await edition.download()
        let later = try await edition.license(title, device)
        try await field.restore(backup)

        #expect(try await edition.download() == first)
        for (file, version) in [(first, UInt8(1)), (second, 2)] {
            #expect(try await edition.read(file, device) == ProtectedEdition.epub(version))
        }
        for license in [known, later] {
            let before = try #require(try await device.contactTerms(of: license)?.sequence)
            try await device.renew(license)
            #expect(try await device.contactTerms(of: license)?.sequence ?? 0 > before)
        }
        #expect(try await edition.read(second, device) == ProtectedEdition.epub(2))
        // a license of now has the first key, and new contents get neither of the keys
        let fresh = try await field.world.player("fresh")
        _ = try await edition.license(title, fresh)
        #expect(try await edition.read(first, fresh) == ProtectedEdition.epub(1))
        _ = try await edition.put(3)
        let third = try await edition.download()
        for reader in [device, fresh] {
            await #expect(throws: MediaError.self) { try await edition.read(third, reader) }
        }
        _ = try await edition.license(title, fresh)
        #expect(try await edition.read(third, fresh) == ProtectedEdition.epub(3))
    }

    @Test func `takes the server's list of revocations, though it has seen a later one`() async throws {
        let field = try await Field()
        let device = try await field.world.player("device")
        let other = try await field.world.player("other")
        let backup = try await field.backUp()
        try await field.revoke(other)
        try await device.updateSecurityData()
        let restored = try await field.restore(backup)
        #expect(restored.carriedOver?["revocations"] ?? 0 > 0)
        try await device.updateSecurityData()
        try await device.personalize(server: field.world.url, isForced: true)
        _ = try await device.process(try await field.world.action())
        #expect(try await device.check("cid:film").result.isGranted)
    }

    @Test func `keeps its id and its licenses, though it was personalised after the backup`() async throws {
        let field = try await Field()
        let backup = try await field.backUp()
        let device = try await field.world.player()
        let id = try #require(await device.identity?.player)
        let license = try await device.process(try await field.world.action()).license
        let restored = try await field.restore(backup)
        #expect(restored.carriedOver?["players"] == 1)
        #expect(restored.carriedOver?["certificates"] == 1)
        #expect(restored.carriedOver?["redemptions"] == 1)
        try await device.updateSecurityData()
        #expect(try await device.personalize(server: field.world.url, isForced: true).player == id)
        #expect(try await device.check("cid:film").result.isGranted)
        _ = try await device.renew(license)
        #expect(try await device.process(try await field.otherAction()).isStored)
    }

    @Test(arguments: Authority.rotatedUses) func `follows a key that was replaced after the backup`(use: String) async throws {
        let field = try await Field()
        let backup = try await field.backUp()
        let device = try await field.world.player()
        let id = try await field.service.authority.rotate(use, by: .operator)
        try await device.updateSecurityData()
        _ = try await device.process(try await field.world.action())
        let number = try await field.service.authority.keys().number
        let restored = try await field.restore(backup)
        #expect(restored.carriedOver?[use == "devices" ? "authorities" : "keys"] ?? 0 > 0)
        #expect(try await field.service.authority.keys().number > number)
        #expect(try await field.service.authority.list().contains { $0.id == id && $0.isCurrent })
        try await device.updateSecurityData()
        try await device.personalize(server: field.world.url, isForced: true)
        #expect(try await device.check("cid:film").result.isGranted)
        #expect(try await device.process(try await field.otherAction()).isStored)
        let late = try await field.world.player("late")
        #expect(try await late.process(try await field.world.action()).isStored)
    }

    @Test func `stays revoked, though it was revoked after the backup`() async throws {
        let field = try await Field()
        let device = try await field.world.player()
        _ = try await device.process(try await field.world.action())
        let backup = try await field.backUp()
        try await field.revoke(device)
        try await field.restore(backup)
        #expect(try await field.state(device) == "revoked")
        let refused = await #expect(throws: PlayerError.self) {
            try await device.personalize(server: field.world.url, isForced: true)
        }
        #expect(refused?.serverCode == "personalization.revoked")
        try await device.updateSecurityData()
        #expect(try await device.check("cid:film").result.reason == .revoked)
    }

    @Test func `stays revoked, though the server has deleted it meanwhile`() async throws {
        let field = try await Field()
        let device = try await field.world.player()
        _ = try await device.process(try await field.world.action())
        let backup = try await field.backUp()
        try await field.revoke(device)
        field.world.clock.advance(by: .seconds(130 * 86_400))
        while try await field.service.housekeeping.run() > 0 {}
        let id = try #require(await device.identity?.player)
        await #expect(throws: ServerError.self) { try await field.service.players.find(id) }
        try await field.restore(backup)
        #expect(try await field.state(device) == "revoked")
        let refused = await #expect(throws: PlayerError.self) {
            try await device.personalize(server: field.world.url, isForced: true)
        }
        #expect(refused?.serverCode == "personalization.revoked")
        try await device.updateSecurityData()
        #expect(try await device.check("cid:film").result.reason == .revoked)
    }

    @Test func `stays revoked, though a table of the replaced database is damaged`() async throws {
        let field = try await Field()
        let device = try await field.world.player()
        _ = try await device.process(try await field.world.action())
        let backup = try await field.backUp()
        try await field.revoke(device)
        try await field.service.database.write { transaction in
            try transaction.run(SQL("DROP TABLE player_nonces"), [])
            try transaction.run(SQL("DROP TABLE pki_documents"), [])
        }
        let restored = try await field.restore(backup)
        #expect(restored.problem?.contains("player_nonces") == true && restored.problem?.contains("pki_documents") == true)
        #expect(restored.carriedOver?["revocations"] ?? 0 > 0)
        #expect(try await field.state(device) == "revoked")
        try await device.updateSecurityData()
        #expect(try await device.check("cid:film").result.reason == .revoked)
    }

    @Test func `does not get a license of a message that another device redeemed after the backup`() async throws {
        let field = try await Field()
        let (first, second) = (try await field.world.player("first"), try await field.world.player("second"))
        let message = try await field.message()
        let backup = try await field.backUp()
        let license = try await first.process(message).license
        try await field.restore(backup)
        let refused = await #expect(throws: PlayerError.self) { try await second.process(message) }
        #expect(refused?.serverCode == "license.token-used")
        #expect(try await first.process(message).license == license)
    }

    @Test func `loses its tokens, and a communication key that was removed after the backup`() async throws {
        let field = try await Field()
        let device = try await field.world.player()
        let token = try await field.world.action()
        let message = try await field.message()
        let backup = try await field.backUp()
        let request = HTTPRequest(
            .delete,
            "/admin/v1/communication-keys/11111111-2222-3333-4444-555555555555",
            peer: .local(userID: 0)
        )
        #expect(await field.service.router.respond(to: request).status == .noContent)
        #expect(try await field.restore(backup).ended.communicationKeys == 1)
        for text in [token, message] {
            let refused = await #expect(throws: PlayerError.self) { try await device.process(text) }
            #expect(refused?.serverCode == "license.token")
        }
    }

    @Test func `gets a new id under its keys, if the replaced database cannot be read`() async throws {
        let field = try await Field()
        let backup = try await field.backUp()
        let device = try await field.world.player("device")
        let other = try await field.world.player("other")
        let id = try #require(await device.identity?.player)
        try await field.revoke(other)
        try await device.updateSecurityData()
        let restored = try await field.restore(backup, isReadable: false)
        #expect(restored.carriedOver == nil)
        #expect((restored.problem == nil) == (Engine.current == .postgres))
        try await device.updateSecurityData()
        let again = try await device.personalize(server: field.world.url, isForced: true).player
        #expect(again != id)
        #expect(try await device.process(try await field.world.action()).isStored)
        #expect(try await device.check("cid:film").result.isGranted)
        #expect(try await device.personalize(server: field.world.url, isForced: true).player == again)
    }

    @Test func `follows a root that a restore lost, when it is imported`() async throws {
        let field = try await Field()
        let early = try await field.world.player("early")
        let backup = try await field.backUp()
        _ = try await field.service.authority.rotate("root", by: .operator)
        let device = try await field.world.player("device")
        let passphrase = Secret(Array("correct horse battery".utf8))
        let text = try await field.service.authority.exportRoot(passphrase: passphrase, by: .operator)
        try await field.restore(backup, isReadable: false)
        let lost = await #expect(throws: PlayerError.self) { try await device.updateSecurityData() }
        #expect(lost?.code == .rejected)
        let authority = field.service.authority
        await #expect(throws: RightsError.self) {
            try await authority.importRoot(text, passphrase: Secret(Array("another passphrase".utf8)), by: .operator)
        }
        #expect(try await authority.importRoot(text, passphrase: passphrase, by: .operator).isChanged)
        #expect(try await !authority.importRoot(text, passphrase: passphrase, by: .operator).isChanged)
        for engine in [early, device] {
            try await engine.updateSecurityData()
            try await engine.personalize(server: field.world.url, isForced: true)
            #expect(try await engine.process(try await field.world.action()).isStored)
        }
    }
}
