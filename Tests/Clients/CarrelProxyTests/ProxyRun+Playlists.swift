// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelMediaSource
import CarrelProxy
import CarrelThreads
import Testing

extension ProxyRun {
    /// The address of the first variant's playlist.
    static func media(of session: PlaylistProxy.Session) async throws -> String {
        let addresses = try await addresses(session.url)
        return try #require(addresses.first)
    }

    /// The addresses of the segments of the first variant.
    static func segments(of session: PlaylistProxy.Session) async throws -> [String] {
        try await addresses(try await media(of: session))
    }

    /// The codes of the errors that the listener has heard.
    var codes: [ProxyError.Code] { errors.withLock { $0.map(\.code) } }

    /// Checks that a response is refused, and that the listener hears why.
    static func expectRefusal(
        _ url: String,
        _ code: ProxyError.Code,
        _ status: Int,
        of run: ProxyRun,
        _ location: SourceLocation = #_sourceLocation
    ) async throws {
        let got = try await get(url)
        #expect(got.status == status, sourceLocation: location)
        #expect(run.proxy.takeLastError()?.code == code, sourceLocation: location)
        #expect(String(decoding: got.body, as: UTF8.self).contains(code.identifier), sourceLocation: location)
    }
}
