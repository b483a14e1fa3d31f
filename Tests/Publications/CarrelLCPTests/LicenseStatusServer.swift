// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelHTTPServer
import CarrelTesting
import CarrelThreads
import ProtectedPublications

/// A license status server that keeps state, for one license.
final class LicenseStatusServer: Sendable {
    struct State: Sendable {
        var id = "license-1"
        var status = "ready"
        var licenseUpdated = "2026-11-01T10:00:00Z"
        var statusUpdated = "2026-11-01T10:00:00Z"
        /// The response of `GET /license`; nil for 404.
        var license: [UInt8]?
        /// The license after renewal, and its time of change.
        var renewed: (license: [UInt8], updated: String)?
        /// The time of the status change after a return.
        var returned: String?
        /// Query strings of received requests, by route.
        var asked: [String: [String]] = [:]
        var headers: [HTTPFields] = []
        /// Devices that registered, once each.
        var devices: [String] = []
        /// The failure that a route returns instead.
        var failures: [String: (status: HTTPStatus, body: String)] = [:]
        /// Further links of the status document.
        var links: [String] = []
        /// The response of `GET /list.crl`; nil for 404.
        var list: [UInt8]?
        /// Instead of the status document.
        var statusBody: String?
    }

    let state = Locked(State())
    /// Registrations wait here while it is closed.
    let gate = Gate()
    private let server: Locked<HTTPServer?> = Locked(nil)
    private let port = Locked(0)

    var base: String { "http://127.0.0.1:\(port.withLock { $0 })" }

    /// As a license names it, in canonical JSON.
    var statusLink: String {
        #"{"href":"\#(base)/status","rel":"status","type":"application/vnd.readium.license.status.v1.0+json"}"#
    }

    func asked(_ route: String) -> [String] { state.withLock { $0.asked[route] ?? [] } }

    func start() throws {
        var router = Router()
        for (route, method) in [
            ("status", HTTPMethod.get), ("license", .get), ("register", .post), ("renew", .put), ("return", .put),
        ] {
            router.on(method, "/\(route)") { [self] request, _ in
                if route == "register" { await gate.pass() }
                return answer(route, request)
            }
        }
        router.on(.get, "/list.crl") { [self] _, _ in
            guard let list = state.withLock({ $0.list }) else { return HTTPResponse(.notFound) }
            return .bytes(list, type: "application/pkix-crl")
        }
        let server = HTTPServer(configuration: ServerConfiguration(), router: router)
        let port = try server.start().first?.port ?? 0
        self.port.withLock { $0 = Int(port) }
        self.server.withLock { $0 = server }
    }

    func stop() async {
        // its routes hold this in their turn
        let server = server.withLock { $0.take() }
        await server?.shutdown(grace: .zero)
    }

    private func answer(_ route: String, _ request: HTTPRequest) -> HTTPResponse {
        state.withLock { state in
            state.asked[route, default: []].append(request.query.raw)
            state.headers.append(request.headers)
            if let failure = state.failures[route] {
                return .bytes(Array(failure.body.utf8), type: "application/json", status: failure.status)
            }
            switch route {
            case "license":
                guard let license = state.license else { return HTTPResponse(.notFound) }
                return .bytes(license, type: "application/vnd.readium.lcp.license.v1.0+json")
            case "register":
                if let id = request.query["id"], !state.devices.contains(id) { state.devices.append(id) }
                if state.status == "ready" { state.status = "active" }
            case "renew":
                if let renewed = state.renewed {
                    state.license = renewed.license
                    state.licenseUpdated = renewed.updated
                    state.statusUpdated = renewed.updated
                }
            case "return":
                state.status = state.status == "ready" ? "cancelled" : "returned"
                if let returned = state.returned { state.statusUpdated = returned }
            default: break
            }
            let body = state.statusBody ?? document(state)
            return .bytes(Array(body.utf8), type: "application/vnd.readium.license.status.v1.0+json")
        }
    }

    private func document(_ state: State) -> String {
        let type = "application/vnd.readium.license.status.v1.0+json"
        let links =
            [
                #"{"rel":"license","href":"\#(base)/license","type":"application/vnd.readium.lcp.license.v1.0+json"}"#,
                #"{"rel":"register","href":"\#(base)/register{?id,name}","type":"\#(type)","templated":true}"#,
                #"{"rel":"return","href":"\#(base)/return{?id,name}","type":"\#(type)","templated":true}"#,
                #"{"rel":["self","https://example.com/x"],"href":"\#(base)/status","type":"text/x-nobody-knows"}"#,
            ]
            + (state.links.isEmpty
                ? [#"{"rel":"renew","href":"\#(base)/renew{?end,id,name}","type":"\#(type)","templated":true}"#] : state.links)
        let events = state.devices.map { _ in #"{"type":"register","timestamp":"2026-11-02T10:00:00Z","name":"","id":""}"# }
        return #"{"id":"\#(state.id)","status":"\#(state.status)","message":"","updated":{"license":"\#(state.licenseUpdated)","#
            + #""status":"\#(state.statusUpdated)"},"links":[\#(links.joined(separator: ","))],"#
            + #""events":[\#(events.joined(separator: ","))]}"#
    }
}

/// A gate where tasks wait until it is opened.
final class Gate: Sendable {
    private struct State {
        var isOpen = true
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Locked(State())

    func close() { state.withLock { $0.isOpen = false } }

    func open() {
        let waiting = state.withLock { state in
            let waiting = state.waiting
            state = State()
            return waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    func pass() async {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.waiting.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }
}
