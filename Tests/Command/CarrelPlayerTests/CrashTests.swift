// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelHTTPClient
import CarrelJSON
import CarrelTesting
import CarrelThreads
import Glibc
import Testing

/// Acknowledged writes exist after `kill -9`, exactly once.
struct `A killed server` {
    @Test func `loses no interval and no order that it acknowledged, and doubles none`() async throws {
        let sqlite = try requirePeer("sqlite3")
        let directory = TemporaryDirectory()
        let home = directory.file("home")
        let path = directory.file("tone.mp3")
        try await checkProcess([
            "ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", "sine=duration=25", "-c:a", "libmp3lame", path,
        ])
        let title = try #require(
            try await DemoServer.json(["ingest", path, "--home", home, "--json"])["titles"]?.array?.first?["id"]?.string
        )
        let key =
            try await DemoServer.json(["key", "create", "--home", home, "--role", "service", "--json"])["key"]?.string ?? ""
        let first =
            try await DemoServer.json([
                "order", "create", "--home", home, "--title", title, "--account", "alice", "--json",
            ])["id"]?.string ?? ""
        let acknowledged = Locked<(intervals: Set<Int>, orders: Set<String>)>(([], []))
        let next = Locked(0)
        let kills = unsafe getenv("CARREL_LONG") == nil ? 5 : 200
        for round in 0..<kills {
            let server = try BackgroundProcess([DemoServer.program, "serve", "--home", home, "--port", "0", "--quiet"])
            let line = try await server.waitForLine(containing: "listening on http")
            let url = line.split(separator: " ").last.map(String.init) ?? ""
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        let client = HTTPClient()
                        while true {
                            let number = next.withLock { next in
                                next += 1
                                return next
                            }
                            do {
                                if number % 5 == 0 {
                                    try await Self.placeOrder(number, title, key, url, client)
                                    acknowledged.withLock { _ = $0.orders.insert("crash-\(number)") }
                                } else {
                                    try await Self.report(number, first, url, client)
                                    acknowledged.withLock { _ = $0.intervals.insert(number) }
                                }
                            } catch {
                                return  // the server is gone
                            }
                        }
                    }
                }
                try? await Task.sleep(for: .milliseconds(100 + round * 37 % 200))
                _ = await server.kill()
            }
        }
        let (intervals, orders) = acknowledged.withLock { $0 }
        #expect(intervals.count > kills * 4 && orders.count > kills)

        let sql = "SELECT (start_utc - 1700000000000) / 1000 FROM intervals"
        let kept = try await checkProcess([sqlite, "\(home)/carrel.db", "PRAGMA integrity_check; \(sql)"])
        var lines = kept.split(separator: "\n")
        #expect(lines.removeFirst() == "ok")
        let stored = lines.compactMap { Int($0) }
        #expect(Set(stored).count == stored.count, "no interval twice")
        #expect(intervals.subtracting(stored).isEmpty, "no acknowledged interval lost")
        let numbers = try await checkProcess([sqlite, "\(home)/carrel.db", "SELECT number FROM orders WHERE number IS NOT NULL"])
            .split(separator: "\n").map(String.init)
        #expect(Set(numbers).count == numbers.count, "no order twice")
        #expect(orders.subtracting(numbers).isEmpty, "no acknowledged order lost")
    }

    private struct Refused: Error {}

    private static func report(_ number: Int, _ order: String, _ url: String, _ client: HTTPClient) async throws {
        // The start carries the number.
        let start = Instant(milliseconds: 1_700_000_000_000 + Int64(number) * 1000)
        let report: JSON = [
            [
                "id": .string(order), "startUtc": .string(start.description),
                "endUtc": .string((start + .seconds(1)).description), "startPosition": 5, "endPosition": 6,
            ]
        ]
        let request = ClientRequest(
            .post,
            "\(url)/v2/states/",
            headers: ["Content-Type": "application/json"],
            body: .bytes(report.write())
        )
        let answer = try await client.send(request)
        guard answer.status == .ok, try JSON.parse(answer.body.rawSpan)["accepted"]?.int == 1 else { throw Refused() }
    }

    private static func placeOrder(
        _ number: Int,
        _ title: String,
        _ key: String,
        _ url: String,
        _ client: HTTPClient
    ) async throws {
        let order: JSON = ["account": "alice", "title": .string(title), "orderNumber": .string("crash-\(number)")]
        let request = ClientRequest(
            .post,
            "\(url)/v1/orders",
            headers: ["Content-Type": "application/json", "Authorization": "Bearer \(key)"],
            body: .bytes(order.write())
        )
        let answer = try await client.send(request)
        guard answer.status == .created else { throw Refused() }
    }
}
