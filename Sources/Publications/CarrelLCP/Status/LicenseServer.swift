// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelHTTPClient

/// Talks to license status servers (LSD 1.0 §3).
struct LicenseServer: Sendable {
    let client: HTTPClient
    /// The name of the device, which its user recognizes in a list.
    let deviceName: String
    /// BCP 47 tags, for the server's messages.
    let languages: [String]
    let timeout: Duration

    /// Bytes of a name or identifier at most; servers take no more.
    private static let nameLimit = 255

    func status(at link: LicenseLink) async throws(LCPError) -> StatusDocument {
        try StatusDocument(try await send(.get, link.href, accept: StatusDocument.mediaType))
    }

    func license(at link: LicenseLink) async throws(LCPError) -> UnverifiedLicense {
        try UnverifiedLicense(try await send(.get, link.href, accept: LicenseDocument.mediaType))
    }

    /// Registers this device as a reader of the publication. A server counts a device once, even if it registers repeatedly.
    func register(_ link: LicenseLink, device: String) async throws(LCPError) -> StatusDocument {
        try StatusDocument(try await send(.post, expand(link, device), accept: StatusDocument.mediaType))
    }

    /// Requests an extension of the loan.
    ///
    /// - Parameters:
    ///   - link: the link of the relation `renew`, with the media type of a status document.
    ///   - device: the device's identifier.
    ///   - end: the requested end; nil leaves it to the server.
    /// - Returns: the new status.
    /// - Throws: `lcp.refused` with the server's words, `lcp.unavailable`.
    func renew(_ link: LicenseLink, device: String, until end: Instant?) async throws(LCPError) -> StatusDocument {
        try StatusDocument(try await send(.put, expand(link, device, end), accept: StatusDocument.mediaType))
    }

    /// Gives the publication back before its time.
    func giveBack(_ link: LicenseLink, device: String) async throws(LCPError) -> StatusDocument {
        try StatusDocument(try await send(.put, expand(link, device), accept: StatusDocument.mediaType))
    }

    private func expand(_ link: LicenseLink, _ device: String, _ end: Instant? = nil) -> String {
        var values = ["id": String(device.prefix(64)), "name": Self.shortened(deviceName)]
        values["end"] = end?.description
        return URITemplate.expand(link.href, values)
    }

    private static func shortened(_ name: String) -> String {
        var name = name
        while name.utf8.count > nameLimit { name.removeLast() }
        return name
    }

    private func send(_ method: HTTPMethod, _ url: String, accept: String) async throws(LCPError) -> [UInt8] {
        var request = ClientRequest(
            method,
            url,
            headers: ["Accept": "\(accept), application/problem+json;q=0.9, */*;q=0.1"],
            timeouts: ClientTimeouts(connect: timeout, total: timeout, stall: timeout),
            maxResponseBytes: Int64(LicenseDocument.sizeLimit)
        )
        if !languages.isEmpty { request.headers["Accept-Language"] = languages.joined(separator: ", ") }
        request.maxRedirects = 5
        let response: ClientResponse
        do throws(HTTPClientError) { response = try await client.send(request) } catch {
            throw LCPError(.unavailable, "the license server cannot be reached: \(error)")
        }
        if 200..<300 ~= response.status.rawValue { return response.body }
        let problem = LicenseProblem(response.body, status: response.status.rawValue)
        let words = problem.map { [$0.title, $0.detail ?? ""].filter { !$0.isEmpty }.joined(separator: " ") }
        throw LCPError(
            response.status.rawValue < 500 ? .refused : .unavailable,
            "the license server answered \(response.status.rawValue)" + (words.map { ": \($0)" } ?? ""),
            problem: problem
        )
    }
}
