// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
public import CarrelHTTPClient
import CarrelHTTP
public import CarrelMedia
import CarrelRights

/// The HTTP client of Carrel as the client of media and key sources: https, or http to this machine.
///
/// ```swift
/// let stream = try await MediaStream.open(HTTPSource(url, client: HTTPMediaClient()), as: .dcf(), keys: LicenseKeys(engine))
/// ```
public struct HTTPMediaClient: MediaHTTPClient {
    private let client: HTTPClient

    /// Redirects of one request, at most.
    private static let redirectLimit = 5

    /// Creates a client.
    ///
    /// - Parameter client: sends the requests.
    public init(_ client: HTTPClient = HTTPClient()) {
        self.client = client
    }

    public func get(_ url: String, fields: [MediaHTTPField], limit: Int) async throws -> MediaHTTPResponse {
        var request = ClientRequest(try Self.checked(url), headers: Self.headers(fields), maxResponseBytes: Int64(limit))
        request.maxRedirects = Self.redirectLimit
        // a server on this machine does not lead to plain http elsewhere
        request.allowsPlainRedirects = false
        let isRange = fields.contains { $0.name.lowercased() == "range" }
        do throws(HTTPClientError) { return try await send(request) } catch {
            // a range is never longer than requested
            guard error.code != .tooLarge || !isRange else {
                throw MediaError(.noRanges, "\(KeyAddress.withoutSecrets(url)): the server does not serve byte ranges")
            }
            throw MediaError(.unavailable, "\(KeyAddress.withoutSecrets(url)) cannot be read: \(error)")
        }
    }

    public func post(_ url: String, body: [UInt8], fields: [MediaHTTPField], limit: Int) async throws -> MediaHTTPResponse {
        let request = ClientRequest(
            .post,
            try Self.checked(url),
            headers: Self.headers(fields),
            body: .bytes(body),
            maxResponseBytes: Int64(limit)
        )
        do throws(HTTPClientError) { return try await send(request) } catch {
            throw MediaError(.unavailable, "\(KeyAddress.withoutSecrets(url)) cannot be read: \(error)")
        }
    }

    /// Checks that an address may be requested.
    ///
    /// - Parameter url: an absolute URL.
    /// - Throws: `media.unavailable` unless it is https, or http to this machine.
    package static func check(_ url: String) throws(MediaError) { _ = try checked(url) }

    private static func checked(_ url: String) throws(MediaError) -> String {
        guard let address = ServiceAddress(url), ["http", "https"].contains(address.scheme) else {
            throw MediaError(.unavailable, "\(KeyAddress.withoutSecrets(url)) is not an address of a server")
        }
        guard address.isTrustworthy else {
            throw MediaError(
                .unavailable,
                "\(KeyAddress.withoutSecrets(url)): plain http is for servers on this machine: use https"
            )
        }
        return url
    }

    private static func headers(_ fields: [MediaHTTPField]) -> HTTPFields {
        var headers: HTTPFields = [:]
        for field in fields { headers.append(field.name, field.value) }
        return headers
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
