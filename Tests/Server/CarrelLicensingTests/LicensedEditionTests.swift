// SPDX-License-Identifier: Apache-2.0

import CarrelAccounts
import CarrelAdministration
import CarrelAudit
import CarrelBytes
import CarrelCatalog
import CarrelKeyStore
import CarrelCrypto
import CarrelDCF
import CarrelEditionDelivery
import CarrelEntitlements
import CarrelHTTP
import CarrelJSON
import CarrelLicensing
import CarrelRights
import CarrelServer
import CarrelServerTesting
import CarrelStore
import CarrelSubscription
import CarrelTesting
import CarrelWorks
import Testing

@Suite(.onBothDatabases) struct `The protected file of an edition` {
    @Test func `opens with the key of a license for the title, and every tag of it is right`() async throws {
        let shop = try await LicensedShop()
        #expect(try await shop.download().status == 404)
        #expect(try await shop.ask().status == 404, "a title without a key")
        #expect(try await shop.set("also").json["edition"]?["licensed"] == "also")
        let file = try await shop.download()
        #expect(file.status == 200 && file.headers["Content-Type"] == "application/vnd.oma.drm.dcf")
        #expect(file.headers["Cache-Control"] == "public, max-age=300" && file.headers["Accept-Ranges"] == "bytes")
        let object = try file.object
        #expect(object.contentType == "application/epub+zip" && object.headers.cipher == .counter)
        #expect(object.userData.map(\.text) == ["The <Book>"])
        let player = try await TestPlayer().personalized(by: shop.test)
        let license = try await shop.license(for: player)
        #expect(try license.contentID == "urn:carrel:title:\(await shop.edition.title.id)")
        #expect(try license.keys.map(\.id) == [file.keyID])
        #expect(try await shop.keyID(1) == file.keyID)
        let opened = try file.open(try await shop.key(try file.keyID, of: license, by: player))
        #expect(opened == LicensedShop.epub(1))
        #expect(throws: DCFError.self) { try file.open(.random(count: 16)) }
        // the clear file is still there, for entitled readers
        let pair = try await shop.test.service.credentials.issuer().issue(
            product: LicensedShop.product,
            account: "someone",
            life: .seconds(60)
        )
        let basic: HTTPFields = ["Authorization": "Basic \(Base64.encode("\(pair.userID):\(pair.password)"))"]
        #expect(try await shop.test.send(.get, "/editions/com.example.book/", headers: basic).body == LicensedShop.epub(1))
    }

    @Test func `is served in ranges, which are slices of the whole`() async throws {
        let shop = try await LicensedShop()
        try await shop.set("only")
        let whole = try await shop.download()
        let tag = try #require(whole.headers["ETag"])
        let (length, payload) = (whole.body.count, Int(try whole.object.payload.start))
        let end = payload + LicensedShop.epub(1).count
        let starts = [0, 1, payload - 1, payload, payload + 1, payload + 15, payload + 65_531, end - 1, end, end + 47, end + 48]
        for start in starts {
            for count in [1, 2, 17, 65_536, length] {
                let last = min(length, start + count) - 1
                let part = try await shop.download(["Range": "bytes=\(start)-\(last)"])
                #expect(part.status == 206 && part.headers["Content-Range"] == "bytes \(start)-\(last)/\(length)")
                #expect(part.body == Array(whole.body[start...last]), "\(start) \(count)")
            }
        }
        #expect(try await shop.download(["Range": "bytes=-100"]).body == whole.body.suffix(100))
        #expect(try await shop.download(["Range": "bytes=\(length)-"]).status == 416)
        #expect(try await shop.download(["If-None-Match": tag]).status == 304)
        #expect(try await shop.download(["If-Range": tag, "Range": "bytes=0-9"]).status == 206)
        #expect(try await shop.download(["If-Range": "\"other\"", "Range": "bytes=0-9"]).body == whole.body)
        let several = try await shop.download(["Range": "bytes=0-9,\(payload)-\(payload + 99)"])
        #expect(several.status == 206 && several.headers["Content-Type"]?.hasPrefix("multipart/byteranges") == true)
        let head = try await shop.test.send(.head, LicensedShop.path)
        #expect(head.status == 200 && head.headers["ETag"] == tag)
        let other = try await shop.test.send(.get, "/opds/v2/editions/com.example.book/-/licensed.dcf")
        #expect(other.body == whole.body)
    }

    @Test func `is the only one where the operator wants that, for every reader and at every address`() async throws {
        let shop = try await LicensedShop()
        try await shop.put(1, .only)
        let pair = try await shop.test.service.credentials.issuer().issue(
            product: LicensedShop.product,
            account: "someone",
            life: .seconds(60)
        )
        let basic: HTTPFields = ["Authorization": "Basic \(Base64.encode("\(pair.userID):\(pair.password)"))"]
        let entry = try await shop.edition.entry
        for family in ["/editions", "/opds/v2/editions"] {
            for path in ["", "/", "/\(entry)", "/-/manifest.xml"] {
                for headers in [[:], basic] as [HTTPFields] {
                    let answer = try await shop.test.send(.get, "\(family)/com.example.book\(path)", headers: headers)
                    #expect(answer.status == 403, "\(family)\(path)")
                    #expect(String(decoding: answer.body, as: UTF8.self).contains("edition.protected"))
                    let edge = try await shop.test.send(
                        .get,
                        "/edge/v1/authorize",
                        headers: ["X-Original-URI": "\(family)/com.example.book\(path)"]
                    )
                    #expect(edge.status == 403)
                }
            }
            #expect(try await shop.test.send(.get, "\(family)/com.example.book/-/cover").status == 200)
        }
        let edge = try await shop.test.send(.get, "/edge/v1/authorize", headers: ["X-Original-URI": LicensedShop.path])
        #expect(edge.status == 204)
        var change = Editions.Change()
        change.price = .free
        _ = try await shop.test.service.editions.change(LicensedShop.product, change, by: .operator)
        #expect(try await shop.test.send(.get, "/editions/com.example.book/").status == 403, "a free edition too")
        _ = try await shop.test.service.editions.withdraw(LicensedShop.product, by: .operator)
        #expect(try await shop.download().status == 410)
        _ = try await shop.test.service.editions.publish(LicensedShop.product, by: .operator)
        try await shop.set("off")
        #expect(try await shop.download().status == 404)
        #expect(try await shop.test.send(.get, "/editions/com.example.book/").status == 200)
    }

    @Test func `is what feeds name`() async throws {
        let shop = try await LicensedShop()
        let account = try await shop.test.service.accounts.findOrCreate(named: "alice")
        let session = try await shop.test.service.accounts.issueSession(for: account)
        _ = try await shop.test.service.subscriptions.give(LicensedShop.product, to: account, as: .gift, by: .operator)
        func feeds() async throws -> (atom: String, json: String, shelf: String) {
            func text(_ path: String, _ headers: HTTPFields = [:]) async throws -> String {
                String(decoding: try await shop.test.send(.get, path, headers: headers).body, as: UTF8.self)
            }
            return (
                try await text("/opds/v1"), try await text("/opds/v2"),
                try await text("/opds/v1/shelf", ["Authorization": "Bearer \(session)"])
            )
        }
        let clear = try await feeds()
        for text in [clear.atom, clear.json, clear.shelf] {
            #expect(!text.contains("licensed.dcf") && text.contains("application/epub+zip"))
        }
        try await shop.set("also")
        let both = try await feeds()
        let entry = try await shop.edition.clearFile.address
        for text in [both.atom, both.json, both.shelf] {
            #expect(text.contains("-/licensed.dcf") && text.contains("application/vnd.oma.drm.dcf"))
            #expect(text.contains("com.example.book/\(entry)"))
        }
        try await shop.set("only")
        let only = try await feeds()
        for text in [only.atom, only.json, only.shelf] {
            #expect(text.contains("-/licensed.dcf") && text.contains("application/vnd.oma.drm.dcf"))
            #expect(!text.contains("com.example.book/\(entry)"))
        }
    }

    @Test func `has another key, vector and tag for new contents, and licenses have the keys of all`() async throws {
        let shop = try await LicensedShop()
        try await shop.set("also")
        let player = try await TestPlayer().personalized(by: shop.test)
        let (first, old) = (try await shop.download(), try await shop.license(for: player))
        try await shop.put(2)
        shop.test.clock.advance(by: .seconds(2))
        let (second, new) = (try await shop.download(), try await shop.license(for: player))
        #expect(first.headers["ETag"] != second.headers["ETag"])
        #expect(try first.object.payload.iv != second.object.payload.iv)
        #expect(try await first.keyID == shop.keyID(1))
        #expect(try await second.keyID == shop.keyID(2))
        #expect(try old.keys.map(\.id) == [first.keyID])
        #expect(try new.keys.map(\.id) == [first.keyID, second.keyID])
        #expect(try first.open(try await shop.key(try first.keyID, of: old, by: player)) == LicensedShop.epub(1))
        #expect(try first.open(try await shop.key(try first.keyID, of: new, by: player)) == LicensedShop.epub(1))
        #expect(try second.open(try await shop.key(try second.keyID, of: new, by: player)) == LicensedShop.epub(2))
        // contents that come while it is off need another key too, and the same contents the same one
        try await shop.set("off")
        try await shop.put(3)
        try await shop.set("only")
        shop.test.clock.advance(by: .seconds(2))
        let third = try await shop.download()
        #expect(try await third.keyID == shop.keyID(3))
        try await shop.set("off")
        try await shop.set("also")
        shop.test.clock.advance(by: .seconds(2))
        #expect(try await shop.download().body == third.body)
    }

    @Test func `has another name of the title in its head, and the same contents under it`() async throws {
        let shop = try await LicensedShop()
        try await shop.set("also")
        let first = try await shop.download()
        var change = Editions.Change()
        change.metadata.title = "Another"
        shop.test.clock.advance(by: .seconds(2))
        _ = try await shop.test.service.editions.change(LicensedShop.product, change, by: .operator)
        let second = try await shop.download()
        #expect(try second.object.userData.map(\.text) == ["Another"])
        #expect(first.headers["ETag"] != second.headers["ETag"])
        let player = try await TestPlayer().personalized(by: shop.test)
        let license = try await shop.license(for: player)
        #expect(try second.open(try await shop.key(try second.keyID, of: license, by: player)) == LicensedShop.epub(1))
    }

    @Test func `has the same bytes on every node, which share its tags`() async throws {
        let shop = try await LicensedShop()
        try await shop.set("also")
        let other = try await shop.test.another()
        async let here = shop.download()
        async let there = shop.download(from: other)
        let (a, b) = (try await here, try await there)
        #expect(a.status == 200 && a.body == b.body && a.headers["ETag"] == b.headers["ETag"])
        let blobs = try shop.test.blobCount()
        shop.test.clock.advance(by: .seconds(70))
        #expect(try await shop.download(from: try await shop.test.another()).body == a.body)
        #expect(try shop.test.blobCount() == blobs)
        // and so with the keys of contents that replace them, which one node makes
        for version in 2...4 {
            try await shop.put(UInt8(version))
            shop.test.clock.advance(by: .seconds(70))
            let nodes = [shop.test.service, other, try await shop.test.another()]
            let files = try await withThrowingTaskGroup { group in
                for node in nodes { group.addTask { try await shop.download(from: node) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            let expected = try await shop.keyID(version)
            for file in files {
                #expect(try file.status == 200 && file.keyID == expected && file.body == files[0].body)
                #expect(file.headers["ETag"] == files[0].headers["ETag"])
            }
            #expect(files[0].body != a.body)
        }
    }

    @Test func `has tags that are swept with it, and computed again if they are lost`() async throws {
        let shop = try await LicensedShop()
        try await shop.set("also")
        let first = try await shop.download()
        let tags = try #require(try await shop.edition.protection.tags).blob
        let id = try #require(BlobID(tags))
        shop.test.clock.advance(by: .seconds(3 * 86_400))
        try await shop.test.service.blobSweep.run()
        #expect(try shop.test.service.blobs.contains(id))
        let uses = try await shop.test.call(.get, "/admin/v1/blobs", peer: .local(userID: 0)).json
        #expect(uses["titles"]?.array?.first?["blobs"]?["tags"]?.string == tags)
        try shop.test.service.blobs.delete(id)
        #expect(try await shop.download(from: try await shop.test.another()).body == first.body)
        #expect(try shop.test.service.blobs.contains(id))
        try await shop.set("off")
        try await shop.test.service.blobSweep.run()
        #expect(try !shop.test.service.blobs.contains(id))
        // a replacement has other tags
        try await shop.set("also")
        _ = try await shop.download(from: try await shop.test.another())
        #expect(try await shop.edition.protection.tags?.blob == tags)
        try await shop.put(2)
        #expect(try await shop.edition.protection.tags == nil)
        try await shop.test.service.blobSweep.run()
        #expect(try !shop.test.service.blobs.contains(id))
    }

    @Test func `is refused where its contents are damaged`() async throws {
        let shop = try await LicensedShop()
        try await shop.set("also")
        let blob = try await shop.edition.mediaBlob
        var bytes = LicensedShop.epub(1)
        bytes[100_000] ^= 1
        // the store's files cannot be written: another one takes the place
        let path = "blobs/\(blob.prefix(2))/\(blob)"
        try shop.test.service.blobs.delete(try #require(BlobID(blob)))
        shop.test.directory.write(path, bytes)
        #expect(try await shop.download().status == 500)
        #expect(try await shop.edition.protection.tags == nil)
    }

    @Test func `gets another key if staff remove or revoke its key`() async throws {
        let shop = try await LicensedShop()
        try await shop.set("only")
        let first = try await shop.download()
        let player = try await TestPlayer().personalized(by: shop.test)
        let old = try await shop.license(for: player)
        let kid = try first.keyID.hex
        let removed = try await shop.test.send(
            .delete,
            "/admin/v1/content-keys/\(kid)?force=true&revoke=true",
            peer: .local(userID: 0)
        )
        #expect(removed.status == 204)
        shop.test.clock.advance(by: .seconds(2))
        let second = try await shop.download()
        #expect(second.status == 200)
        #expect(try await second.keyID == shop.keyID(2))
        let new = try await shop.license(for: player)
        #expect(try new.keys.map(\.id) == [second.keyID], "a license has no revoked key")
        #expect(try second.open(try await shop.key(try second.keyID, of: new, by: player)) == LicensedShop.epub(1))
        #expect(try old.keys.map(\.id) == [first.keyID])
    }

    @Test func `gets a new key for other contents, also after a restore that knows only the key`() async throws {
        let shop = try await LicensedShop()
        try await shop.set("also")
        #expect(try await shop.download().keyID == shop.keyID(1))
        // a backup from before: the restore carries over content keys, and no numbers of editions
        try await shop.set("off")
        try await shop.test.service.database.write { try $0.run(SQL("UPDATE editions SET key_number = 0"), []) }
        try await shop.put(2)
        try await shop.set("also")
        shop.test.clock.advance(by: .seconds(2))
        #expect(try await shop.download().keyID == shop.keyID(2))
    }

    @Test func `has keys that ClearKey never serves, also in the minute after they were created`() async throws {
        let shop = try await LicensedShop()
        func allow(_ id: KeyID) async throws -> Int {
            let path = "/admin/v1/content-keys/\(id.hex)"
            return try await shop.test.send(.patch, path, body: ["clearKey": true], peer: .local(userID: 0)).status
        }
        // now the server knows for a minute that the title has no key but the first
        let film = KeyID(label: "film")
        let key: JSON = ["key": .string(String(repeating: "5a", count: 16))]
        let path = "/admin/v1/content-keys"
        #expect(try await shop.test.send(.put, "\(path)/\(film.hex)", body: key, peer: .local(userID: 0)).status == 204)
        #expect(try await allow(film) == 204)
        try await shop.set("also")
        try await shop.put(2)
        for number in 1...2 { #expect(try await allow(shop.keyID(number)) == 403) }
        let list = try await shop.test.call(.get, path, peer: .local(userID: 0)).json["keys"]?.array ?? []
        let title = try await shop.edition.title.id
        #expect(list.count == 3 && list.count { $0["content"]?.string == "urn:carrel:title:\(title)" } == 2)
        #expect(list.count { $0["clearKey"] == true } == 1)
    }

    @Test func `takes the key that staff added as the first, and no key of a portal`() async throws {
        let shop = try await LicensedShop()
        let key = Secret.random(count: 16)
        let hex = key.withBytes { Hex.encode([UInt8](copying: $0)) }
        let kid = try await shop.keyID(1)
        let added = try await shop.test.send(
            .put,
            "/admin/v1/content-keys/\(kid.hex)",
            body: ["key": .string(hex)],
            peer: .local(userID: 0)
        )
        #expect(added.status == 204)
        try await shop.set("also")
        #expect(try await shop.download().open(key) == LicensedShop.epub(1))
        // the second is always new: an id that is taken is passed over
        let second = try await shop.keyID(2)
        _ = try await shop.test.send(
            .put,
            "/admin/v1/content-keys/\(second.hex)",
            body: ["key": .string(hex)],
            peer: .local(userID: 0)
        )
        try await shop.put(2)
        shop.test.clock.advance(by: .seconds(2))
        #expect(try await shop.download().keyID == shop.keyID(3))
    }

    @Test func `stays the same when the master key changes`() async throws {
        let shop = try await LicensedShop()
        try await shop.set("also")
        let before = try await shop.download()
        for step in ["add", "rotate"] {
            let path = "/admin/v1/master-key/\(step)"
            let body: JSON? = step == "add" ? [:] : nil
            #expect(try await shop.test.call(.post, path, body: body, peer: .local(userID: 0)).status == 200)
        }
        #expect(try await shop.download(from: try await shop.test.another()).body == before.body)
        let player = try await TestPlayer().personalized(by: shop.test)
        let license = try await shop.license(for: player)
        #expect(try before.open(try await shop.key(try before.keyID, of: license, by: player)) == LicensedShop.epub(1))
    }

    @Test func `is not affected by an account that is suspended or erased, whose licenses end`() async throws {
        let shop = try await LicensedShop()
        try await shop.set("only")
        let (test, service) = (shop.test, shop.test.service)
        let file = try await shop.download()
        let (player, other) = (
            try await TestPlayer().personalized(by: test), try await TestPlayer().personalized(by: test)
        )
        let license = try await shop.license(for: player) { $0["account"] = "alice" }
        let kept = try await shop.license(for: other) { $0["account"] = "bob" }
        let alice = try #require(try await service.accounts.find(named: "alice"))
        func renew(_ license: License, _ player: TestPlayer.Personalized) async throws -> (license: License?, problem: String?) {
            var request = try await player.request(.renew, of: test)
            (request.license, request.sequence) = (license.id, license.sequence)
            return try await player.send(request, to: test)
        }
        func suspend(_ isSuspended: Bool) async throws {
            try await service.desk.change(alice.id, .init(isSuspended: isSuspended), by: .operator)
        }
        try await suspend(true)
        // the player is linked to the account
        let refused = try await renew(license, player)
        #expect(refused.license == nil && refused.problem == "personalization.suspended", "\(refused)")
        #expect(try await renew(kept, other).license?.keys.map(\.id) == [file.keyID])
        #expect(try await shop.download().body == file.body)
        try await suspend(false)
        #expect(try await renew(license, player).license?.keys.map(\.id) == [file.keyID])
        let export = try await test.send(.get, "/admin/v1/accounts/\(alice.id)/export", peer: .local(userID: 0))
        #expect(String(decoding: export.body, as: UTF8.self).contains(license.id))
        try await service.erasure.erase(alice.id, by: .operator)
        #expect(try await service.licenses.list(of: nil, after: nil, limit: 9).map(\.id) == [kept.id])
        #expect(try await renew(license, player).problem == "personalization.revoked")
        // the key is the title's, and others read with it
        #expect(try await shop.download(from: try await test.another()).body == file.body)
        #expect(try file.open(try await shop.key(try file.keyID, of: kept, by: other)) == LicensedShop.epub(1))
        #expect(try await renew(kept, other).license?.keys.map(\.id) == [file.keyID])
    }

    @Test func `is of an EPUB or a PDF`() async throws {
        let shop = try await LicensedShop()
        let folder = EditionFiles.folder(shop.test.directory)
        try await shop.test.ingest(folder, "com.example.7")
        let refused = try await shop.test.call(
            .patch,
            "/admin/v1/editions/com.example.7",
            body: ["licensed": "also"],
            peer: .local(userID: 0)
        )
        #expect(refused.status == 400 && refused.json["detail"]?.string?.contains("consists of pages") == true)
        #expect(try await shop.set("maybe").status == 400)
        try await shop.set("also")
        await #expect(throws: (any Error).self) { try await shop.test.ingest(folder, LicensedShop.product) }
        let pdf = shop.test.directory.write("x.pdf", EditionFiles.pdf)
        #expect(try await shop.test.ingest(pdf, LicensedShop.product).edition.protection.keyNumber == 2)
        shop.test.clock.advance(by: .seconds(2))
        #expect(try await shop.download().object.contentType == "application/pdf")
    }

    @Test func `and its keys are in the audit log`() async throws {
        let shop = try await LicensedShop()
        try await shop.set("only")
        let entries = try await shop.test.service.audit.list(AuditFilter())
        let change = try #require(entries.first { $0.action == "edition.change" })
        #expect(change.subject == LicensedShop.product && change.reason == "licensed only")
        let key = try #require(entries.first { $0.action == "content-key.create" })
        #expect(try await key.subject == shop.keyID(1).hex)
        #expect(try key.reason == "urn:carrel:title:\(await shop.edition.title.id)")
    }
}
