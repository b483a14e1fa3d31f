// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelHTTPClient
import CarrelLoopback
import CarrelTesting
import CarrelThreads

/// A session server that listens, and the sessions of a test.
final class TestSessions: Sendable {
    let server: SessionServer
    let origin: String
    let port: UInt16
    let client = HTTPClient()

    init(_ configuration: SessionServer.Configuration = .init()) throws {
        server = SessionServer(configuration)
        origin = try server.start()
        port = UInt16(origin.split(separator: ":")[2]) ?? 0
    }

    /// Runs a test on a server of its own.
    static func run(
        _ configuration: SessionServer.Configuration = .init(),
        _ body: (TestSessions) async throws -> Void
    ) async throws {
        let sessions = try TestSessions(configuration)
        do {
            try await body(sessions)
        } catch {
            await sessions.server.stop()
            throw error
        }
        await sessions.server.stop()
    }

    /// Adds a session that answers with the kind and the path below its token, and counts its requests.
    func add(
        _ kind: String = "media",
        at place: LoopbackSession.TokenPlace = .path,
        clients: LoopbackSession.Clients = .user,
        allowsOtherOrigins: Bool = false
    ) -> TestSession {
        let token = SessionToken()
        let area = LoopbackSession.Area([kind], token: token, tokenPlace: place, allowsOtherOrigins: allowsOtherOrigins)
        let count = Locked(0)
        let session = LoopbackSession([area], clients: clients) { request in
            count.withLock { $0 += 1 }
            return .bytes(Array("\(request.kind) \(request.path.joined(separator: ","))".utf8), type: "text/plain")
        }
        server.add(session)
        return TestSession(session: session, token: token, base: "\(origin)/\(kind)/\(token.text)/", count: count)
    }

    /// Adds a session that answers with one closure, and returns its address.
    func add(_ action: @escaping LoopbackSession.Action) -> TestSession {
        let token = SessionToken()
        let session = LoopbackSession([LoopbackSession.Area(["media"], token: token)], action)
        server.add(session)
        return TestSession(session: session, token: token, base: "\(origin)/media/\(token.text)/", count: Locked(0))
    }

    func get(_ url: String, _ headers: HTTPFields = [:], method: HTTPMethod = .get) async throws -> ClientResponse {
        try await client.send(ClientRequest(method, url, headers: headers))
    }
}

/// A session and where it is.
struct TestSession: Sendable {
    let session: LoopbackSession
    let token: SessionToken
    /// Ends with a slash.
    let base: String
    private let requests: Locked<Int>

    init(session: LoopbackSession, token: SessionToken, base: String, count: Locked<Int>) {
        (self.session, self.token, self.base, requests) = (session, token, base, count)
    }

    /// Requests that reached it.
    var count: Int { requests.withLock { $0 } }
}
