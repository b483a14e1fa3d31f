// SPDX-License-Identifier: Apache-2.0

import CarrelMediaSource
import CarrelProxy
import CarrelTesting
import Testing

/// A player that plays, seeks, stalls, and leaves in the middle of responses.
struct RestlessPlayer {
    private let url: String
    private var random: SplitMix
    /// Responses that came whole, and those that it left.
    private(set) var played = 0
    private(set) var left = 0
    /// Responses that were not what they should be.
    private(set) var faults: [String] = []

    init(_ url: String, seed: UInt64) {
        self.url = url
        random = SplitMix(seed: seed)
    }

    /// Plays until a time.
    ///
    /// - Throws: when the session's playlists are no longer there.
    mutating func run(until end: ContinuousClock.Instant) async throws {
        var segments: [String] = []
        var next = 0
        while .now < end {
            if segments.isEmpty || Int.random(in: 0..<8, using: &random) == 0 {
                segments = try await Self.segments(url)
                try #require(!segments.isEmpty)
            }
            let address = segments[next % segments.count]
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<6:
                let got = try await ProxyRun.get(address)
                if got.status == 200 || got.status == 206 { played += 1 } else { faults.append("\(got.status) \(address)") }
                next += 1
            case 6, 7:
                next = Int.random(in: 0..<segments.count, using: &random)
            case 8:
                try await leave(address, behind: Int.random(in: 1...20_000, using: &random), stall: .milliseconds(300))
                next = Int.random(in: 0..<segments.count, using: &random)
            default:
                try await leave(address, behind: 1, stall: .zero)
            }
        }
    }

    /// The segments of a playlist of one or two levels; the content itself where the address has none.
    private static func segments(_ url: String) async throws -> [String] {
        guard url.contains("index.m3u8") else { return [url] }
        let top = try await ProxyRun.addresses(url)
        return try await ProxyRun.addresses(try #require(top.first))
    }

    /// Reads `count` bytes of a response, waits, and resets the connection.
    private mutating func leave(_ url: String, behind count: Int, stall: Duration) async throws {
        let rest = url.dropFirst("http://127.0.0.1:".count)
        let slash = try #require(rest.firstIndex(of: "/"))
        let port = try #require(UInt16(rest[..<slash]))
        let client = try RawClient(port: port, receiveBuffer: 4096)
        try await client.send("GET \(rest[slash...]) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n")
        var taken = 0
        while taken < count {
            let more = try await client.receive()
            if more.isEmpty { break }
            taken += more.count
        }
        if stall > .zero { try await Task.sleep(for: stall) }
        client.reset()
        left += 1
    }
}
