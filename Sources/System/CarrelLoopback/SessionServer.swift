// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
package import CarrelHTTPServer
import CarrelThreads
import Glibc

/// Many sessions on one HTTP server of 127.0.0.1, for processes of the user that this process runs as.
///
/// Every request is checked before a session receives it: its host, the user of the sending process (from the kernel), the token,
/// the page's origin, and if the session requires it, the process. Sessions come and go while the server runs.
package final class SessionServer: Sendable {
    /// The settings of a server.
    package struct Configuration: Sendable {
        /// The port of 127.0.0.1; 0 for any free port.
        package var port: UInt16 = 0
        /// Connections at a time; more are closed as they come.
        package var connectionLimit = 64
        /// The responses to clients that are not admitted.
        package var refusals = Refusals()
        /// Receives an `errno` value if the kernel cannot report the user of a request's process; must not block.
        package var lookupFailed: @Sendable (Int32) -> Void = { _ in }
        /// The closures that answer every process of the user without a token, by the first segment of the path.
        package var open: [String: LoopbackSession.Action] = [:]

        /// Any free port, 64 connections, nothing without a token.
        package init() {}
    }

    private struct Entry {
        let session: LoopbackSession
        let area: LoopbackSession.Area
    }

    private struct State {
        var endpoint: Endpoint?
        var sessions: Set<ObjectIdentifier> = []
        /// The entries by the token's digest.
        var entries: [[UInt8]: Entry] = [:]
        /// Requests between their admission and the end of their response, by id.
        var running: [String: (session: LoopbackSession, peer: Peer)] = [:]
    }

    private struct Endpoint: Sendable {
        let address: IPAddress
        let port: UInt16
        /// Values of `Host`, in lower case.
        let hosts: Set<String>

        init(address: IPAddress, port: UInt16) {
            (self.address, self.port) = (address, port)
            let names = [address.urlHost, "localhost"]
            hosts = Set(names.map { "\($0):\(port)" } + (port == 80 ? names : []))
        }
    }

    private let configuration: Configuration
    private let user = geteuid()
    private let ownProcesses: OwnProcesses
    private let diagnosis: SocketDiagnosis
    private let state = Locked(State())
    private let server = Locked<HTTPServer?>(nil)

    /// A server that does not listen yet. Sessions may be added to it.
    ///
    /// - Parameter configuration: port, limit of connections, refusals.
    package convenience init(_ configuration: Configuration = Configuration()) {
        self.init(configuration, SocketDiagnosis())
    }

    init(_ configuration: Configuration, _ diagnosis: SocketDiagnosis) {
        self.configuration = configuration
        self.diagnosis = diagnosis
        ownProcesses = OwnProcesses(limit: 2 * configuration.connectionLimit)
    }

    // MARK: sessions

    /// Serves a session from here on.
    package func add(_ session: LoopbackSession) {
        state.withLock { state in
            state.sessions.insert(ObjectIdentifier(session))
            for area in session.areas {
                state.entries[SessionToken.digest(area.token.text)] = Entry(session: session, area: area)
            }
        }
    }

    /// Serves a session no more: its addresses are refused, the tasks of its running requests are cancelled, and their connections are
    /// closed without the rest of the response.
    package func remove(_ session: LoopbackSession) {
        let peers = state.withLock { state in
            state.sessions.remove(ObjectIdentifier(session))
            for area in session.areas { state.entries[SessionToken.digest(area.token.text)] = nil }
            return Set(state.running.values.lazy.filter { $0.session === session }.map(\.peer))
        }
        guard !peers.isEmpty else { return }
        server.withLock { $0 }?.cut(peers)
    }

    /// The number of a session's requests whose response has not ended.
    package func runningCount(of session: LoopbackSession) -> Int {
        state.withLock { $0.running.values.count { $0.session === session } }
    }

    // MARK: listening

    /// Listens. Once. From here on the server lives until ``stop()``.
    ///
    /// - Returns: the origin of its addresses, such as `http://127.0.0.1:8080`, without a slash at the end.
    /// - Throws: ``HTTPServerError`` when the port is taken.
    package func start() throws(HTTPServerError) -> String {
        var settings = ServerConfiguration()
        settings.listeners = [.tcp(address: "127.0.0.1", port: configuration.port)]
        settings.maximumConnections = configuration.connectionLimit
        let httpServer = HTTPServer(configuration: settings, router: router()) { [self] in end($0.id) }
        let addresses = try httpServer.start()
        for case .tcp(let address, let port, _) in addresses {
            state.withLock { $0.endpoint = Endpoint(address: address, port: port) }
        }
        server.withLock { $0 = httpServer }
        return addresses[0].description
    }

    /// Stops listening and closes running requests after a short grace period.
    package func stop() async {
        await server.withLock { $0.take() }?.shutdown(grace: .seconds(1))
    }

    // MARK: requests

    /// One route for all paths: each session interprets its paths, and every path has the same refusal.
    private func router() -> Router {
        var router = Router()
        for method in HTTPMethod.known {
            router.on(method, "{path...}", secret: ["path"], acceptsForms: true, acceptsOtherOrigins: true) { [self] request, _ in
                try await respond(to: request)
            }
        }
        // for methods that no session can know
        router.refusal = { [self] request in
            do throws(HTTPError) {
                _ = try admit(request)
                return nil
            } catch {
                return error.response(requestID: request.id)
            }
        }
        return router
    }

    private func respond(to request: HTTPRequest) async throws -> HTTPResponse {
        let admitted = try admit(request)
        guard let session = admitted.session else { return try await admitted.action(admitted.request) }
        var inner = admitted.request
        inner.runningCount = try begin(request, session)
        inner.cut = { [self] in cut(request.id) }
        if case .ownProcesses = session.clients, !(await ownProcesses.include(admitted.peer)) {
            throw configuration.refusals.otherProcess
        }
        return try await session.action(inner)
    }

    private struct Admitted {
        let request: SessionRequest
        let peer: LoopbackPeer
        /// Nil for what needs no token.
        let session: LoopbackSession?
        let action: LoopbackSession.Action
    }

    /// Checks everything about a request but its process.
    private func admit(_ request: HTTPRequest) throws(HTTPError) -> Admitted {
        let refusals = configuration.refusals
        guard let endpoint = state.withLock({ $0.endpoint }), endpoint.hosts.contains(request.authority.lowercased()) else {
            throw refusals.otherHost
        }
        let peer: LoopbackPeer?
        do throws(SocketDiagnosis.Unavailable) {
            peer = try diagnosis.peer(request.peer, connectedTo: endpoint.address, port: endpoint.port)
        } catch {
            configuration.lookupFailed(error.number)
            throw refusals.unknownUser
        }
        guard let peer, peer.user == user else { throw refusals.otherUser }
        let kind = request.path.segments[0]
        if let action = configuration.open[kind] {
            let inner = SessionRequest(http: request, kind: kind, path: Array(request.path.segments.dropFirst()))
            return Admitted(request: inner, peer: peer, session: nil, action: action)
        }
        guard let (entry, count) = entry(for: request, kind) else { throw refusals.noToken }
        guard entry.area.allowsOtherOrigins || !request.isFromOtherOrigin else { throw refusals.otherOrigin }
        let inner = SessionRequest(http: request, kind: kind, path: Array(request.path.segments.dropFirst(count)))
        return Admitted(request: inner, peer: peer, session: entry.session, action: entry.session.action)
    }

    /// The area whose token a request has, and how many segments of the path name it.
    private func entry(for request: HTTPRequest, _ kind: String) -> (Entry, Int)? {
        if let token = request.bearerToken, let entry = entry(of: token, kind, .header) { return (entry, 1) }
        let segments = request.path.segments
        guard segments.count > 1, let entry = entry(of: segments[1], kind, .path) else { return nil }
        return (entry, 2)
    }

    private func entry(of token: String, _ kind: String, _ tokenPlace: LoopbackSession.TokenPlace) -> Entry? {
        guard let entry = state.withLock({ $0.entries[SessionToken.digest(token)] }), entry.area.token.matches(token),
            entry.area.tokenPlace == tokenPlace, entry.area.kinds.contains(kind)
        else { return nil }
        return entry
    }

    /// Registers a request, which removing the session ends.
    ///
    /// - Returns: the number of the session's requests.
    private func begin(_ request: HTTPRequest, _ session: LoopbackSession) throws -> Int {
        try state.withLock { state in
            // The response to a cancelled request has ended already, and the one to a removed session would not be ended.
            try Task.checkCancellation()
            guard state.sessions.contains(ObjectIdentifier(session)) else { throw configuration.refusals.noToken }
            state.running[request.id] = (session, request.peer)
            return state.running.values.count { $0.session === session }
        }
    }

    /// Cuts the connection of a request whose response has not ended.
    private func cut(_ id: String) {
        guard let peer = state.withLock({ $0.running[id]?.peer }) else { return }
        server.withLock { $0 }?.cut([peer])
    }

    private func end(_ id: String) {
        state.withLock { _ = $0.running.removeValue(forKey: id) }
    }
}

extension HTTPRequest {
    /// The token of RFC 6750 §2.1; nil without a token.
    fileprivate var bearerToken: String? {
        guard let field = headers["Authorization"], field.prefix(7).lowercased() == "bearer " else { return nil }
        return String(field.dropFirst(7))
    }

    /// Whether a browser says that a page of another origin sends the request (Fetch Metadata §2.4, RFC 6454 §7). Programs that are no
    /// browsers send neither field.
    fileprivate var isFromOtherOrigin: Bool {
        if let site = headers["Sec-Fetch-Site"], site != "same-origin", site != "none" { return true }
        return headers["Origin"].map { !isOwnOrigin($0) } ?? false
    }
}
