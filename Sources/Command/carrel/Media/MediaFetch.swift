// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelHTTPClient
import CarrelMedia
import CarrelRights

/// The requests for media that a command names by their address.
struct MediaFetch: MediaHTTPClient {
    private let client: HTTPClient

    /// - Parameter url: the address that the user names.
    /// - Throws: `unavailable` if it is malformed, or plain http to another machine.
    init(_ url: String) throws(MediaError) {
        guard let address = ServiceAddress(url) else { throw MediaError(.unavailable, "\(url) is not an address") }
        guard address.isTrustworthy else {
            throw MediaError(
                .unavailable,
                "\(KeyAddress.withoutSecrets(url)): plain http is for servers on this machine: use https"
            )
        }
        client = HTTPClient()
    }

    func get(_ url: String, fields: [MediaHTTPField], limit: Int) async throws -> MediaHTTPResponse {
        var headers: HTTPFields = [:]
        for field in fields { headers.append(field.name, field.value) }
        var request = ClientRequest(url, headers: headers, maxResponseBytes: Int64(limit))
        request.maxRedirects = 5
        do throws(HTTPClientError) { return try await send(request) } catch {
            guard error.code == .tooLarge else {
                throw MediaError(.unavailable, "\(KeyAddress.withoutSecrets(url)) cannot be read: \(error)")
            }
            // a range is never longer than requested
            throw MediaError(
                .noRanges,
                "\(KeyAddress.withoutSecrets(url)): the server does not serve byte ranges, and the file is longer than 1 MiB"
            )
        }
    }

    func post(_ url: String, body: [UInt8], fields: [MediaHTTPField], limit: Int) async throws -> MediaHTTPResponse {
        var headers: HTTPFields = [:]
        for field in fields { headers.append(field.name, field.value) }
        let request = ClientRequest(.post, url, headers: headers, body: .bytes(body), maxResponseBytes: Int64(limit))
        do throws(HTTPClientError) { return try await send(request) } catch {
            throw MediaError(.unavailable, "\(KeyAddress.withoutSecrets(url)) cannot be read: \(error)")
        }
    }

    private func send(_ request: ClientRequest) async throws(HTTPClientError) -> MediaHTTPResponse {
        let response = try await client.send(request)
        return MediaHTTPResponse(
            status: response.status.rawValue,
            fields: response.headers.map { MediaHTTPField($0.name, $0.value) },
            body: response.body
        )
    }
}
