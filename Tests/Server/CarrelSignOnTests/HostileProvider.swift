// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelCrypto
import CarrelHTTP
import CarrelJSON
import CarrelServer
import CarrelServerTesting
import CarrelTesting
import CarrelThreads
import CarrelUpstream

/// An OpenID provider that says whatever a test wants, at a port of 127.0.0.1, with keys of its own.
final class HostileProvider: Sendable {
    let certificates: TestCertificates
    private let state: Locked<State>
    private let server: LoopbackServer

    struct State: Sendable {
        /// The response of the token endpoint.
        var idToken = ""
        /// The key set.
        var keys = #"{"keys":[]}"#
        /// Members of the provider's description that a test changes.
        var description: [String: JSON] = [:]
        /// The status of every answer.
        var status = 200
        /// Whether answers come at all.
        var isDown = false
        var requests: [String] = []
        var lastTokenRequest: LoopbackRequest?
    }

    init() async throws {
        certificates = try TestCertificates()
        let state = Locked(State())
        self.state = state
        server = LoopbackServer { connection in
            while let request = connection.readRequest() {
                let now = state.withLock { state in
                    state.requests.append(request.target)
                    if request.target == "/token" { state.lastTokenRequest = request }
                    return state
                }
                if now.isDown { return }
                let issuer = "http://\(request["Host"] ?? "")"
                let body: JSON? =
                    switch request.target {
                    case "/.well-known/openid-configuration": Self.description(issuer, now.description)
                    case "/token": ["id_token": .string(now.idToken), "access_token": "at", "token_type": "Bearer"]
                    default: nil
                    }
                let bytes = body?.write() ?? Array(now.keys.utf8)
                connection.respond(now.status, ["Content-Type: application/json", "Location: /elsewhere"], body: bytes)
            }
        }
        try await makeKey("first")
        try await publish(["first"])
    }

    var issuer: String { "http://127.0.0.1:\(server.port)" }
    var requests: [String] { state.withLock { $0.requests } }
    var lastTokenRequest: LoopbackRequest? { state.withLock { $0.lastTokenRequest } }

    func change(_ body: (inout State) -> Void) { state.withLock { body(&$0) } }

    func makeKey(_ name: String) async throws { try await certificates.makeKey(name) }

    /// Offers the public halves of these keys, named like them.
    func publish(_ names: [String]) async throws {
        var keys: [String] = []
        for name in names {
            let (x, y) = try await certificates.p256(name)
            keys.append(#"{"kty":"EC","crv":"P-256","x":"\#(x)","y":"\#(y)","kid":"\#(name)","use":"sig","alg":"ES256"}"#)
        }
        change { $0.keys = #"{"keys":[\#(keys.joined(separator: ","))]}"# }
    }

    private static func description(_ issuer: String, _ changes: [String: JSON]) -> JSON {
        var object: JSONObject = [
            "issuer": .string(issuer), "authorization_endpoint": .string("\(issuer)/authorize"),
            "token_endpoint": .string("\(issuer)/token"), "jwks_uri": .string("\(issuer)/keys"),
            "response_types_supported": ["code"], "id_token_signing_alg_values_supported": ["ES256"],
        ]
        for (name, value) in changes { object[name] = value }
        return .object(object)
    }
}

/// A browser on its way to a provider and back, as far as a test needs one.
struct SignOnVisit {
    let test: TestService
    let cookie: String
    let address: Query
    private let peer: Peer

    /// Starts to sign in.
    init(
        _ test: TestService,
        to path: String? = nil,
        peer: Peer = .network(address: "192.0.2.1", port: 1)
    ) async throws {
        self.test = test
        self.peer = peer
        let target = "/sign-in/oidc" + (path.map { "?to=\(PercentEncoding.encode($0))" } ?? "")
        let answer = try await test.send(.get, target, peer: peer)
        guard answer.status == 303, let location = answer.headers["Location"], let cookie = answer.headers["Set-Cookie"] else {
            throw SignOnVisitError.notSent(answer.status)
        }
        self.cookie = String(cookie.prefix { $0 != ";" })
        address = try Query(parsing: String(location.drop { $0 != "?" }.dropFirst()))
    }

    enum SignOnVisitError: Error { case notSent(Int) }

    /// Comes back with what the provider would add to the address.
    func back(
        code: String = "code",
        state: String? = nil,
        more: String = "",
        cookie: String? = nil
    ) async throws -> (status: Int, headers: HTTPFields, body: [UInt8]) {
        let query = "code=\(code)&state=\(state ?? address["state"] ?? "")\(more)"
        let headers: HTTPFields = ["Cookie": cookie ?? self.cookie]
        return try await test.send(.get, "/sign-in/oidc/callback?\(query)", headers: headers, peer: peer)
    }
}
