import CarrelBytes
import CarrelHTTP
import CarrelHTTPClient
import CarrelJSON

/// The calls of a player to its server.
struct PlayerServer: Sendable {
    /// Without a slash at the end.
    let base: String
    private let client: HTTPClient

    /// Answers are a few kilobytes, but for the list of what is revoked.
    private static let limit: Int64 = 16 << 20

    /// - Throws: `player.server` unless the address is https, or http on this machine.
    init(_ address: String, client: HTTPClient) throws(PlayerError) {
        let base = String(address.reversed().drop { $0 == "/" }.reversed())
        guard let host = Self.host(of: base) else {
            throw PlayerError(.server, "the server's address is not an http or https URL")
        }
        guard base.lowercased().hasPrefix("https://") || Self.isLoopback(host) else {
            throw PlayerError(.server, "the server's address must begin with https://; http is taken from this machine only")
        }
        self.base = base
        self.client = client
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
        let response = try await send(request)
        guard let json = try? JSON.parse(response.body.rawSpan, limits: JSONLimits(depth: 12, byteCount: Int(Self.limit))) else {
            throw PlayerError(.host, "the server's answer is not JSON: is it a Carrel server?")
        }
        return json
    }

    func get(_ path: String) async throws(PlayerError) -> [UInt8] {
        try await send(ClientRequest(base + path, maxResponseBytes: Self.limit)).body
    }

    private func send(_ request: ClientRequest) async throws(PlayerError) -> ClientResponse {
        let response: ClientResponse
        do throws(HTTPClientError) {
            response = try await client.send(request)
        } catch {
            throw Self.failure(error)
        }
        guard !(200..<300).contains(response.status.rawValue) else { return response }
        let problem = try? JSON.parse(response.body.rawSpan, limits: JSONLimits(depth: 8, byteCount: 1 << 20))
        let detail = problem?["detail"]?.string ?? "the server answered with status \(response.status.rawValue)"
        throw PlayerError(Self.code(problem?["fault"]?.string, response.status), detail, serverCode: problem?["code"]?.string)
    }

    private static func code(_ fault: String?, _ status: HTTPStatus) -> PlayerError.Code {
        switch fault {
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
        case .tls: PlayerError(Instant.now() < earliest ? .clock : .tls, error.message)
        case .resolve, .refused: PlayerError(.host, error.message)
        case .timeout, .interrupted, .cancelled: PlayerError(.network, error.message)
        case .url: PlayerError(.server, error.message)
        default: PlayerError(.host, error.message)
        }
    }

    /// No certificate of any server is valid on a device whose clock shows an earlier time: 2026-01-01.
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
