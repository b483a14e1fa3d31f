// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
package import CarrelHTTPClient
package import CarrelMedia
import CarrelMediaSource

/// The HTTP client that redeems tokens: TLS only, and private networks only if the caller names them or the proxy allows them.
package struct RightsHTTPClient: MediaHTTPClient {
    private let origin: MediaOrigin

    /// - Parameters:
    ///   - url: names the rights service.
    ///   - client: the HTTP client of all sessions.
    ///   - allowsPrivateNetworks: whether redirects may lead into private networks.
    /// - Throws: `proxy.address`.
    package init(_ url: MS3URL, _ client: HTTPClient, allowsPrivateNetworks: Bool) throws(ProxyError) {
        var permissions = MediaOrigin.Permissions()
        permissions.privateNetworks = allowsPrivateNetworks
        origin = try MediaOrigin(url.rightsURL, client: client, fields: [:], permissions)
    }

    package func get(_ url: String, fields: [MediaHTTPField], limit: Int) async throws -> MediaHTTPResponse {
        try check(url)
        return try await origin.fetch(url, fields: fields, limit: limit)
    }

    package func post(_ url: String, body: [UInt8], fields: [MediaHTTPField], limit: Int) async throws -> MediaHTTPResponse {
        try check(url)
        return try await origin.fetch(url, posting: body, fields: fields, limit: limit)
    }

    private func check(_ url: String) throws(ProxyError) {
        guard url.prefix(8).lowercased() == "https://" else {
            throw ProxyError(.address, "\(MediaOrigin.shown(url)): rights are requested by https alone")
        }
    }
}
