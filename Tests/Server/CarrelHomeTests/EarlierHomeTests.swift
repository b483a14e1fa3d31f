// SPDX-License-Identifier: Apache-2.0

import CarrelAudit
import CarrelBytes
import CarrelHTTP
import CarrelHome
import CarrelJSON
import CarrelServer
import CarrelServerTesting
import CarrelStore
import CarrelTesting
import Glibc
import Testing

/// Homes that earlier versions wrote (`Tests/Homes`).
struct `The home of an earlier version` {
    private let directory = TemporaryDirectory()

    /// A copy of a committed home, with its database.
    private func copy(ofSchema version: Int) async throws -> String {
        let sqlite = try requirePeer("sqlite3")
        let (source, home) = ("\(Repository.path)/Tests/Homes/\(version)", directory.file("home"))
        try await checkProcess(["cp", "-r", source, home])
        try await checkProcess([sqlite, "\(home)/carrel.db", ".read \(home)/carrel.sql"])
        try await checkProcess(["chmod", "600", "\(home)/master.key"])
        return home
    }

    @Test func `opens with its titles, orders, keys and audit log, and plays`() async throws {
        let service = try await CarrelService.open(try Home(at: try await copy(ofSchema: 33)))
        func get(_ target: String) async throws -> (status: Int, body: [UInt8]) {
            let response = await service.router.respond(to: HTTPRequest(.get, target, peer: .local(userID: getuid())))
            return (response.status.rawValue, try await response.body.collect(upTo: 1 << 20))
        }
        let playlist = try await get("/v1/stream/hls/eccc69e2-5c4e-4c0e-aee2-c1bea2f974bf/playlist.m3u8")
        #expect(playlist.status == 200)
        let text = String(decoding: playlist.body, as: UTF8.self)
        let segment = try #require(text.split(separator: "\n").first { !$0.hasPrefix("#") })
        let target = segment.hasPrefix("/") ? String(segment) : "/v1/stream/hls/eccc69e2-5c4e-4c0e-aee2-c1bea2f974bf/\(segment)"
        let bytes = try await get(target)
        #expect(bytes.status == 200)
        #expect(bytes.body.count > 4096)
        let titles = try await get("/admin/v1/titles")
        #expect(String(decoding: titles.body, as: UTF8.self).contains("Three Seconds"))
        let list = try await get("/admin/v1/content-keys").body
        let keys = try JSON.parse(list.rawSpan)["keys"]?.array
        #expect(keys?.map { $0["kid"]?.string } == ["a1a2a3a4a5a6a7a8a9aaabacadaeafb0"])
        #expect(keys?.first?["content"] == .null)
        #expect(keys?.first?["clearKey"]?.bool == false)
        #expect(try await get("/admin/v1/audit?limit=5").status == 200)
        guard case .intact(let count) = try await service.audit.verify() else {
            Issue.record("the audit log is broken")
            return
        }
        #expect(count > 3)
        await service.database.close()
    }

    @Test func `is refused by its own error when its schema is newer than the program`() async throws {
        let home = try await copy(ofSchema: 33)
        await (try await CarrelService.open(try Home(at: home))).database.close()
        let next = Schema.migrations.count + 1
        let sql = "INSERT INTO schema_version VALUES (\(next), 'of a newer version', '0123456789abcdef', 1800000000000)"
        try await checkProcess(["sqlite3", "\(home)/carrel.db", sql])
        let before = directory.read("home/carrel.db")
        let refused = await #expect(throws: StoreError.self) { try await CarrelService.open(try Home(at: home)) }
        #expect(refused?.code == .newer)
        #expect(refused?.message.contains("schema version \(next)") == true)
        #expect(directory.read("home/carrel.db") == before)
    }
}
