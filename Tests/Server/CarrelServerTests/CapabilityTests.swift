// SPDX-License-Identifier: Apache-2.0

import CarrelAdministration
import CarrelAudit
import CarrelBytes
import CarrelFeeds
import CarrelHTTP
import CarrelHTTPServer
import CarrelKeyExchange
import CarrelLicensing
import CarrelListening
import CarrelMetrics
import CarrelServer
import CarrelServerTesting
import CarrelSignOn
import CarrelStore
import CarrelStreaming
import CarrelTesting
import CarrelWebAPI
import CarrelWebsite
import Glibc
import Testing

struct `A capability` {
    /// The tables that come after some words in a statement.
    private static func tables(after words: [String], in statement: SQL) -> Set<String> {
        let separators: Set<Character> = [" ", "\n", "(", ")", ","]
        let parts = statement.text(for: .sqlite).split { separators.contains($0) }.map(String.init)
        var found: Set<String> = []
        for (place, part) in parts.enumerated() where words.contains(part) && place + 1 < parts.count {
            found.insert(parts[place + 1])
        }
        return found
    }

    @Test func `alone writes its tables, and reads only lower capabilities' tables`() {
        var lower: Set<String> = []
        var owners: [String: String] = [:]
        let all = Set(CarrelService.layers.flatMap { $0.tables.keys })
        for layer in CarrelService.layers {
            for table in layer.tables.keys {
                #expect(owners.updateValue("\(layer)", forKey: table) == nil, "\(table) has two owners")
            }
            lower.formUnion(layer.tables.keys)
            for statement in layer.statements {
                var written = Self.tables(after: ["INTO", "UPDATE"], in: statement)
                if statement.text(for: .sqlite).hasPrefix("DELETE FROM ") {
                    written.insert(String(statement.text(for: .sqlite).dropFirst(12).prefix { !$0.isWhitespace }))
                }
                written.formIntersection(all)
                for table in written {
                    #expect(owners[table] == "\(layer)", "\(layer) writes \(table): \(statement.text(for: .sqlite))")
                }
                let read = Self.tables(after: ["FROM", "JOIN"], in: statement).intersection(all)
                for table in read { #expect(lower.contains(table), "\(layer) reads \(table): \(statement.text(for: .sqlite))") }
            }
        }
        #expect(owners.count > 30 && CarrelService.layers.flatMap { $0.statements }.count > 200)
    }

    @Test func `is in the list, and the list is in the order of the layers`() async throws {
        let test = try await TestService(.silence)
        #expect(test.service.capabilities.map { "\(type(of: $0))" } == CarrelService.layers.map { "\($0)" })
    }

    @Test func `names every column of wrapped keys`() async throws {
        let test = try await TestService(.silence)
        let wrapped = try await test.service.database.read { transaction in
            try transaction.rows(
                SQL(
                    """
                    SELECT m.name || '.' || p.name FROM sqlite_master m JOIN pragma_table_info(m.name) p
                    WHERE m.type = 'table' AND p.name = 'master_version' ORDER BY 1
                    """
                )
            ).map { try $0.text(0) }
        }
        // The server's own secrets are rewrapped by the rotation itself.
        #expect(
            wrapped == [
                "communication_keys.master_version", "content_keys.master_version", "licenses.master_version",
                "orders.master_version", "pki_keys.master_version",
                "secrets.master_version",
            ]
        )
        #expect(test.service.capabilities.flatMap(\.wrappedKeys).count == wrapped.count - 1)
    }

    /// A capability that no other depends on, and a request that only it serves.
    static let leaves: [(any Capability.Type, HTTPMethod, String)] = [
        (AuditCapability.self, .get, ""), (SignOnCapability.self, .get, "/admin/v1/accounts/x/identities"),
        (FeedsCapability.self, .get, "/opds/v1"), (WebsiteCapability.self, .get, "/sign-in"),
        (ListeningCapability.self, .get, "/admin/v1/accounts/x/history"),
        (StreamingCapability.self, .get, "/v1/stream/hls/x/playlist.m3u8"), (LicensingCapability.self, .get, "/v1/licenses"),
        (KeyExchangeCapability.self, .get, "/v1/cpix/heartbeat"),
    ]

    @Test(arguments: leaves.indices)
    func `that is left out takes its routes, jobs, metrics and personal data with it, and the rest starts`(index: Int)
        async throws
    {
        let (left, method, target) = Self.leaves[index]
        let test = try await TestService(.silence)
        let metrics = MetricsRegistry()
        let service = try await CarrelService(
            home: test.service.home,
            database: test.service.database,
            blobs: test.service.blobs,
            clock: test.clock,
            metrics: metrics,
            leavingOut: { type(of: $0) == left }
        )
        #expect(service.capabilities.count == CarrelService.layers.count - 1)
        #expect(
            service.capabilities.flatMap(\.jobs).count == test.service.capabilities.flatMap(\.jobs).count
                - jobs(of: left, in: test)
        )
        for table in left.tables.keys { #expect(service.register.tables[table] == nil, "\(table)") }
        if left == StreamingCapability.self { #expect(!metrics.text().contains("carrel_listeners")) }
        func status(_ service: CarrelService, _ target: String) async -> (Int, String) {
            let answer = await service.router.respond(to: HTTPRequest(method, target, peer: .local(userID: getuid())))
            return (answer.status.rawValue, (try? await String(decoding: answer.body.collect(upTo: 65_536), as: UTF8.self)) ?? "")
        }
        if !target.isEmpty {
            let (without, with) = (await status(service, target), await status(test.service, target))
            #expect(without.0 == 404)
            #expect(without != with, "the whole service has the route")
        }
        #expect(await status(service, "/healthz").0 == 200)
        #expect(await status(service, "/admin/v1/health").0 == 200)
        #expect(await status(service, "/admin/v1/titles").0 == 200)
    }

    private func jobs(of left: any Capability.Type, in test: TestService) -> Int {
        test.service.capabilities.filter { type(of: $0) == left }.flatMap(\.jobs).count
    }
}
