// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAdministration
import CarrelBytes
import CarrelCatalog
import CarrelCrypto
import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelOrders
import CarrelPostgres
import CarrelServer
import CarrelServerTesting
import CarrelStore
import CarrelTesting
import CarrelWebAPI
import Glibc
import Testing

/// Homes that share a database share its master keys.
@Suite(.onBothDatabases)
struct `Master keys of several homes` {
    private let operatorPeer = Peer.local(userID: getuid())
    private let elsewhere = TemporaryDirectory()

    private func other(_ test: TestService, name: String = "other") async throws -> Home {
        let home = try Home(at: elsewhere.file(name), missing: .create)
        try home.make()
        try await checkProcess(["ln", "-s", test.service.home.blobsPath, home.blobsPath])
        try await checkProcess(["cp", test.service.home.masterKeyPath, home.masterKeyPath])
        return home
    }

    private func send(_ service: CarrelService, _ method: HTTPMethod, _ target: String, _ body: JSON? = nil) async throws -> (
        status: Int, json: JSON
    ) {
        let headers: HTTPFields = body == nil ? [:] : ["Content-Type": "application/json"]
        let request = HTTPRequest(method, target, headers: headers, body: body?.write() ?? [], peer: operatorPeer)
        let response = await service.router.respond(to: request)
        // Named: the compiler of Swift 6.3.1 dies of the span of a value that was waited for.
        let bytes = try await response.body.collect(upTo: 1 << 20)
        return (response.status.rawValue, try JSON.parse(bytes.rawSpan))
    }

    private func canStream(_ service: CarrelService, _ order: Order) async throws -> Bool {
        let target = "/v1/stream/hls/\(order.id)/playlist.m3u8"
        let request = HTTPRequest(.get, target, peer: .network(address: "192.0.2.1", port: 1))
        return await service.router.respond(to: request).status.rawValue == 200
    }

    /// The error for a home with these keys.
    private func refusal(_ test: TestService, _ home: Home, _ keys: String) async throws -> String {
        elsewhere.write("other/master.key", Array(keys.utf8))
        do {
            _ = try await test.another(in: home)
            return "opened"
        } catch let error as ServerError where error.code == .masterKey {
            return error.message
        }
    }

    /// Rotating on two homes once made two keys of one version, and what one wrapped was lost to the other.
    @Test func `are refused at the start when one differs or is missing, with the version and the file`() async throws {
        let test = try await TestService(.silence)
        let home = try await other(test)
        _ = try await test.another(in: home)
        let (path, right) = (home.masterKeyPath, try #require(elsewhere.read("other/master.key")))
        let wrong = String(repeating: "ab", count: 32)
        let differing = try await refusal(test, home, "1 \(wrong)\n")
        #expect(differing.contains("version 1 of the master key in \(path) does not belong"), "\(differing)")
        let missing = try await refusal(test, home, "2 \(wrong)\n")
        #expect(missing.contains("\(path) lacks version 1"), "\(missing)")
        elsewhere.write("other/master.key", right)
        _ = try await test.another(in: home)
    }

    @Test func `that a database from before knows nothing of have to unwrap its secrets`() async throws {
        let test = try await TestService(.silence)
        try await test.service.database.write { try $0.run(SQL("DELETE FROM master_keys")) }
        let home = try await other(test)
        elsewhere.write("other/master.key", Array("1 \(String(repeating: "ab", count: 32))\n".utf8))
        await #expect(throws: ServerError(.masterKey, "")) { _ = try await test.another(in: home) }
        try await checkProcess(["cp", test.service.home.masterKeyPath, home.masterKeyPath])
        _ = try await test.another(in: home)
        let known = try await test.service.database.read { try $0.rows(SQL("SELECT fingerprint FROM master_keys")).count }
        #expect(known == 1)
    }

    /// On several nodes one rotation once made the others answer 500 for every order.
    @Test func `are rotated in two steps while all nodes stream`() async throws {
        let test = try await TestService(.silence)
        let home = try await other(test)
        let there = try await test.another(in: home)
        try await test.service.nodes.beat()
        try await there.nodes.beat()
        let order = try await test.order()
        if Engine.current == .postgres {
            let early = try await send(test.service, .post, "/admin/v1/master-key/rotate")
            #expect(early.status == 409 && early.json["detail"]?.string?.contains("keys add") == true)
        }
        let added = try await send(test.service, .post, "/admin/v1/master-key/add", [:])
        #expect(added.status == 200 && added.json["added"] == [2])
        #expect(try await send(test.service, .post, "/admin/v1/master-key/add", [:]).status == 409)
        #expect(try await send(there, .post, "/admin/v1/master-key/add", [:]).status != 200)
        let shown = try await send(test.service, .get, "/admin/v1/master-key")
        #expect(shown.json["version"] == 1 && shown.json["added"] == 2)
        #expect(shown.json["nodes"]?.array?.count == 2)
        if Engine.current == .postgres {
            let refused = try await send(test.service, .post, "/admin/v1/master-key/rotate")
            #expect(refused.status == 409)
            #expect(refused.json["detail"]?.string?.contains(home.directory) == true, "\(refused.json)")
        }
        // A running node that lacks it reports so, and continues.
        await #expect(throws: ServerError(.masterKey, "")) { try await there.nodes.beat() }
        #expect(try await canStream(there, order))

        let copy = try #require(test.directory.read("master.key"))
        let brought = try await send(
            there,
            .post,
            "/admin/v1/master-key/add",
            ["keys": .string(String(decoding: copy, as: UTF8.self))]
        )
        #expect(brought.status == 200 && brought.json["added"] == [2])
        let again = try await send(
            there,
            .post,
            "/admin/v1/master-key/add",
            ["keys": .string(String(decoding: copy, as: UTF8.self))]
        )
        #expect(again.json["added"] == [])
        let rotated = try await send(test.service, .post, "/admin/v1/master-key/rotate")
        #expect(rotated.status == 200 && rotated.json["version"] == 2)
        #expect(try await canStream(test.service, order))
        #expect(try await canStream(there, order))
        let here = try await test.order()
        #expect(try await canStream(there, here))
        // What the other node wraps from its next beat on is under the new key.
        try await there.nodes.beat()
        let late = try await there.orders.place(Orders.Request(account: "mallory", titleID: test.title.id)).order
        let version = try await test.service.database.read {
            try $0.row(SQL("SELECT master_version FROM orders WHERE id = $1"), [.text(late.id)])?.integer(0)
        }
        #expect(version == 2)
        #expect(try await canStream(test.service, late))
    }

    @Test func `wait for no node that was not seen for a minute`() async throws {
        let test = try await TestService(.silence)
        let home = try await other(test)
        let there = try await test.another(in: home)
        try await there.nodes.beat()
        try await test.addMasterKey(always: true)
        test.clock.advance(by: .seconds(59))
        let status = try await send(test.service, .post, "/admin/v1/master-key/rotate").status
        #expect(status == (Engine.current == .postgres ? 409 : 200))
        guard Engine.current == .postgres else { return }
        test.clock.advance(by: .seconds(2))
        #expect(try await send(test.service, .post, "/admin/v1/master-key/rotate").status == 200)
    }

    @Test func `are not waited for where a node has left`() async throws {
        let test = try await TestService(.silence)
        let home = try await other(test)
        let there = try await test.another(in: home)
        try await there.nodes.beat()
        try await test.addMasterKey(always: true)
        try await there.nodes.leave()
        #expect(try await send(test.service, .post, "/admin/v1/master-key/rotate").status == 200)
    }

    @Test func `come to a home without one, and never from another database`() async throws {
        let test = try await TestService(.silence)
        let home = try Home(at: elsewhere.file("bare"), missing: .create)
        try home.make()
        let rotation = KeyRotation(
            home: home,
            database: test.service.database,
            clock: test.clock,
            columns: test.service.capabilities.flatMap(\.wrappedKeys)
        )
        let wrong = try MasterKeyring(text: "1 \(String(repeating: "ab", count: 32))\n", path: "copy")
        let caught = await #expect(throws: ServerError.self) { _ = try await rotation.take(from: wrong) }
        #expect(caught?.message == "version 1 of the master key in copy does not belong to this database")
        #expect(!MasterKeyring.isMade(for: home))
        let lines = String(decoding: try #require(test.directory.read("master.key")), as: UTF8.self)
        let more = try MasterKeyring(text: lines + "9 \(String(repeating: "cd", count: 32))\n", path: "copy")
        #expect(try await rotation.take(from: more) == [1])
        #expect(try MasterKeyring(of: home).versions == [1], "what the database does not know stays out")
        _ = try await test.another(in: home)
    }

    @Test func `come over the home's own socket and nowhere else`() async throws {
        let test = try await TestService(.silence)
        let key = try await test.service.accounts.createServiceKey(name: "office", role: .admin).text
        let answer = try await test.call(
            .post,
            "/admin/v1/master-key/add",
            headers: ["Authorization": "Bearer \(key)"],
            body: ["keys": "1 00"]
        )
        #expect(answer.status == 403)
    }

    @Test func `have fingerprints that tell versions and keys apart, and show nothing of the key`() async throws {
        let hex = String(repeating: "ab", count: 32)
        let one = try MasterKeyring(text: "1 \(hex)\n2 \(String(repeating: "cd", count: 32))\n", path: "a")
        let same = try MasterKeyring(text: "1 \(hex)\n", path: "b")
        #expect(one.fingerprint(of: 1) == same.fingerprint(of: 1))
        #expect(one.fingerprint(of: 1) != one.fingerprint(of: 2))
        #expect(one.fingerprint(of: 3) == nil)
        #expect(one.fingerprint(of: 1)?.count == 32 && Hex.encode(one.fingerprint(of: 1) ?? []).contains("abab") == false)
    }
}
