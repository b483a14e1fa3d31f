// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelHTTPClient
import CarrelMedia
import CarrelMediaPackaging
import CarrelMediaSource
import CarrelProxy
import CarrelReader
import CarrelTesting
import CarrelThreads
import Testing

/// A package of ours, served through a proxy.
final class ProxyRun: Sendable {
    let proxy: PlaylistProxy
    let errors = Locked<[ProxyError]>([])
    /// Events but for segments that were sent.
    let traces = Locked<[String]>([])
    /// The clock of the proxy.
    let clock = SteppedClock()
    private static let client = HTTPClient()

    init(_ change: (inout PlaylistProxy.Options) -> Void = { _ in }) throws {
        var options = PlaylistProxy.Options()
        options.limits.clock = clock.monotonic
        change(&options)
        let (errors, traces) = (errors, traces)
        proxy = try PlaylistProxy(options: options) { error in
            errors.withLock { $0.append(error) }
        } trace: { event in
            if event.message != "a segment was sent" { traces.withLock { $0.append("\(event)") } }
        }
        try proxy.start()
    }

    /// The body of a response.
    static func get(_ url: String) async throws -> (status: Int, body: [UInt8], headers: HTTPFields) {
        let response = try await client.send(ClientRequest(url, maxResponseBytes: 256 << 20))
        return (response.status.rawValue, response.body, response.headers)
    }

    static func text(_ url: String) async throws -> String { String(decoding: try await get(url).body, as: UTF8.self) }

    /// The lines of a playlist that are addresses, resolved.
    static func addresses(_ url: String) async throws -> [String] {
        try await text(url).split(separator: "\n").filter { !$0.hasPrefix("#") }.map {
            URIReference.resolve(String($0), against: url)
        }
    }
}
