// SPDX-License-Identifier: Apache-2.0

import CarrelMedia
import CarrelMediaSource

/// The HTTP client for key servers of playlists. It retries failed requests, like requests for segments.
struct KeyServerClient: MediaHTTPClient {
    let client: OriginHTTPClient

    /// Before the second and the third request.
    private static let pauses: [Duration] = [.milliseconds(200), .milliseconds(800)]

    func get(_ url: String, fields: [MediaHTTPField], limit: Int) async throws -> MediaHTTPResponse {
        for pause in Self.pauses {
            do {
                let response = try await client.get(url, fields: fields, limit: limit)
                guard response.status >= 500 || response.status == 429 else { return response }
            } catch let error as ProxyError where error.isTransient {}
            try await client.origin.clock.sleep(for: pause)
        }
        return try await client.get(url, fields: fields, limit: limit)
    }

    func post(_ url: String, body: [UInt8], fields: [MediaHTTPField], limit: Int) async throws -> MediaHTTPResponse {
        try await client.post(url, body: body, fields: fields, limit: limit)
    }
}
