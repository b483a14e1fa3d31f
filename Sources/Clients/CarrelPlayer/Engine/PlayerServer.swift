// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelHTTPClient
import CarrelJSON
import CarrelRights

/// The calls of a player to its server.
struct PlayerServer: Sendable {
    /// Without a slash at the end.
    let base: String
    private let client: HTTPClient
    private let timeouts: ClientTimeouts
    private let listener: (@Sendable (PlayerTransaction) -> Void)?

    /// The time limits of a call: a reader waits for its response.
    static let usualTimeouts = ClientTimeouts(stall: .seconds(10))

    /// Responses are a few kilobytes, except the revocation list.
    private static let limit: Int64 = 16 << 20

    /// - Throws: `player.server` unless the address is https, or http on this machine.
    init(
        _ address: String,
        client: HTTPClient,
        timeouts: ClientTimeouts = usualTimeouts,
        listener: (@Sendable (PlayerTransaction) -> Void)?
    ) throws(PlayerError) {
        let base = String(address.reversed().drop { $0 == "/" }.reversed())
        guard let host = Self.host(of: base) else {
            throw PlayerError(.server, "the server's address is not an http or https URL")
        }
        guard base.lowercased().hasPrefix("https://") || Self.isLoopback(host) else {
            throw PlayerError(.server, "the server's address must begin with https://; http is taken from this machine only")
        }
        self.base = base
        self.client = client
        self.timeouts = timeouts
        self.listener = listener
    }

    func post(_ path: String, type: String?, _ text: String, token: String? = nil) async throws(PlayerError) -> JSON {
        var headers: HTTPFields = ["Accept": "application/json"]
        headers["Content-Type"] = type
        headers["Authorization"] = token.map { "Bearer \($0)" }
        let request = ClientRequest(
            .post,
            base + path,
            headers: headers,
            body: .bytes(Array(text.utf8)),
            maxResponseBytes: Self.limit
        )
        return try Self.json(try await send(request))
    }

    /// A text that the server signed.
    func text(_ path: String) async throws(PlayerError) -> String {
        try Self.text(try await send(ClientRequest(base + path, maxResponseBytes: Self.limit)))
    }

    /// A text that the server signed, unless it is the one that the player has (RFC 9110 §13.1.2).
    ///
    /// - Parameters:
    ///   - path: the path at the server.
    ///   - tag: the entity tag of the known text; nil if there is none.
    /// - Returns: the text with its entity tag; nil if the known text is the current one.
    /// - Throws: ``PlayerError``.
    func text(_ path: String, unless tag: String?) async throws(PlayerError) -> (text: String, tag: String?)? {
        var headers: HTTPFields = [:]
        headers["If-None-Match"] = tag
        let response = try await send(ClientRequest(base + path, headers: headers, maxResponseBytes: Self.limit))
        if response.status == .notModified { return nil }
        return (try Self.text(response), response.headers["ETag"])
    }

    func json(_ path: String) async throws(PlayerError) -> JSON {
        try Self.json(try await send(ClientRequest(base + path, maxResponseBytes: Self.limit)))
    }

    /// Sends a signed message to an address of the service, which a token may name; returns the signed response.
    func post(_ url: String, jose text: String) async throws(PlayerError) -> String {
        try Self.text(try await response(to: text, at: url, message: nil))
    }

    /// Sends a signed message to an address of the service, with a license message in `X-AxDRM-Message`; returns the whole response.
    func response(to text: String, at url: String, message: String?) async throws(PlayerError) -> ClientResponse {
        var headers: HTTPFields = ["Content-Type": "application/jose", "Accept": "application/jose"]
        headers["X-AxDRM-Message"] = message
        let body = ClientRequestBody.bytes(Array(text.utf8))
        return try await sendAway(ClientRequest(.post, url, headers: headers, body: body, maxResponseBytes: Self.limit))
    }

    /// Sends a proof of possession to the rights location that a token names; returns the signed response.
    func post(_ url: String, proof: String) async throws(PlayerError) -> String {
        let headers: HTTPFields = ["DPoP": proof, "Accept": "application/jose"]
        return try Self.text(try await sendAway(ClientRequest(.post, url, headers: headers, maxResponseBytes: Self.limit)))
    }

    /// The same server by another client.
    func with(_ client: HTTPClient) -> PlayerServer { PlayerServer(self, client) }

    private init(_ other: PlayerServer, _ client: HTTPClient) {
        (base, self.client, timeouts, listener) = (other.base, client, other.timeouts, other.listener)
    }

    /// A document at the address that a token names.
    func bytes(at url: String, atMost limit: Int) async throws(PlayerError) -> [UInt8] {
        try await sendAway(ClientRequest(url, maxResponseBytes: Int64(limit))).body
    }

    /// Whether an address is of this server.
    func isOwn(_ url: String) -> Bool { url == base || url.hasPrefix(base + "/") }

    /// Sends a request to an address from a token, which may be untrusted. The address may refer to this machine only if the
    /// server is on it.
    private func sendAway(_ request: ClientRequest) async throws(PlayerError) -> ClientResponse {
        guard !isOwn(request.url), Self.host(of: base).map(Self.isLoopback) != true else { return try await send(request) }
        let address = ServiceAddress(request.url)
        guard let address, !Self.isLoopback(address.host), IPAddress(address.host)?.isWildcard != true else {
            throw PlayerError(
                .rejected,
                "the token leads to this device itself: redeem tokens of the service that the device belongs to"
            )
        }
        var request = request
        // a name may lead here too
        request.addresses = .only { bytes in IPAddress(bytes: bytes).map { !$0.isLoopback && !$0.isWildcard } ?? false }
        return try await send(request)
    }

    static func text(_ response: ClientResponse) throws(PlayerError) -> String {
        guard let text = String(validating: response.body, as: UTF8.self) else {
            throw PlayerError(.host, "the server's answer is not text: is it a Carrel server?")
        }
        return text
    }

    private static func json(_ response: ClientResponse) throws(PlayerError) -> JSON {
        guard let json = try? JSON.parse(response.body.rawSpan, limits: JSONLimits(depth: 12, byteCount: Int(limit))) else {
            throw PlayerError(.host, "the server's answer is not JSON: is it a Carrel server?")
        }
        return json
    }

    private func send(_ request: ClientRequest) async throws(PlayerError) -> ClientResponse {
        let response: ClientResponse
        let start = ContinuousClock.now
        // a query may hold a token
        let place = String(request.url.prefix { $0 != "?" && $0 != "#" })
        var request = request
        request.timeouts = timeouts
        do throws(HTTPClientError) {
            response = try await client.send(request)
        } catch {
            listener?(.call("\(request.method)", place, status: nil, duration: ContinuousClock.now - start))
            throw Self.failure(error)
        }
        let status = response.status.rawValue
        listener?(.call("\(request.method)", place, status: status, duration: ContinuousClock.now - start))
        if response.status == .notModified, request.headers["If-None-Match"] != nil { return response }
        guard !(200..<300).contains(response.status.rawValue) else { return response }
        let problem = try? JSON.parse(response.body.rawSpan, limits: JSONLimits(depth: 8, byteCount: 1 << 20))
        let detail = problem?["detail"]?.string ?? "the server answered with status \(response.status.rawValue)"
        let code = problem?["code"]?.string
        let reason = code == "license.concurrency" ? ActionResult.Reason.concurrency : nil
        throw PlayerError(Self.code(code, problem?["fault"]?.string, response.status), detail, serverCode: code, reason: reason)
    }

    private static func code(_ code: String?, _ fault: String?, _ status: HTTPStatus) -> PlayerError.Code {
        switch code {
        case "license.not-personalized": return .notPersonalized
        case "license.concurrency": return .concurrency
        case "license.ended", "license.unknown": return .ended
        case "license.key": return .key
        case "license.token", "license.token-used", "license.title", "license.restricted", "license.address",
            "license.token-expired", "license.token-device", "license.not-storable",
            "license.not-stream", "license.content":
            return .token
        default: break
        }
        return switch fault {
        case "device-limit": .deviceLimit
        case "revoked": .revoked
        case "fingerprint": .fingerprint
        case "host": .host
        case .some: .rejected
        case nil: status.rawValue >= 500 || status == .tooManyRequests ? .host : .rejected
        }
    }

    private static func failure(_ error: HTTPClientError) -> PlayerError {
        switch error.code {
        case .tls: PlayerError(Instant.now() < earliest ? .clock : tls(error.certificateProblem), error.message)
        case .resolve, .refused: PlayerError(.host, error.message)
        case .timeout: PlayerError(.network, "the server does not answer: \(error.message)")
        case .interrupted, .cancelled: PlayerError(.network, error.message)
        case .url: PlayerError(.server, error.message)
        default: PlayerError(.host, error.message)
        }
    }

    private static func tls(_ problem: HTTPClientError.CertificateProblem?) -> PlayerError.Code {
        switch problem {
        case .untrusted: .untrustedServer
        case .otherHost: .otherServer
        case nil: .tls
        }
    }

    /// Earliest plausible time: no server certificate is valid on a device whose clock is before 2026-01-01.
    private static let earliest = Instant(milliseconds: 1_767_225_600_000)

    private static func host(of url: String) -> String? {
        guard let colon = url.firstRange(of: "://"), ["http", "https"].contains(url[..<colon.lowerBound].lowercased()) else {
            return nil
        }
        let authority = url[colon.upperBound...].prefix { !"/?#".contains($0) }
        guard !authority.contains("@"), !url.contains("?"), !url.contains("#") else { return nil }
        let host = authority.hasPrefix("[") ? authority.prefix { $0 != "]" }.dropFirst() : authority.prefix { $0 != ":" }
        return host.isEmpty ? nil : String(host)
    }

    private static func isLoopback(_ host: String) -> Bool {
        host.lowercased() == "localhost" || IPAddress(host)?.isLoopback == true
    }
}
