// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelContentKeys
import CarrelCrypto
import CarrelHTTP
import CarrelHTTPServer
import CarrelJSON
import CarrelMedia
import CarrelPlayer
import CarrelPlayerTesting
import CarrelReader
import CarrelRights
import CarrelServer
import CarrelTesting
import CarrelThreads
import CarrelTokens
import Glibc
import Testing

/// A film with a key each for sound and two sizes of pictures, and the portal that signs license messages for it.
struct FilmWorld {
    let world: PlayerWorld
    private let communication: LicenseMessage.CommunicationKey

    static let names = ["audio", "sd", "hd"]
    static let ids = names.map { KeyID(label: "film \($0)") }
    static let keys = (0..<3).map { number in Secret((0..<16).map { UInt8(16 * number + $0) }) }
    static let identifiers = ids.map { ContentKeyIdentifier(.id($0.bytes)) }

    init() async throws {
        world = try await PlayerWorld()
        let id = try #require(KeyID(uuid: "11111111-2222-3333-4444-555555555555"))
        communication = try LicenseMessage.CommunicationKey(id: id, secret: Secret(Array(0..<32)))
        let body: JSON = ["key": .string(Hex.encode(Array(0..<32)))]
        let request = HTTPRequest(
            .put,
            "/admin/v1/communication-keys/\(id.uuid)",
            headers: ["Content-Type": "application/json"],
            body: body.write(),
            peer: .local(userID: 0)
        )
        try #require(await world.service.router.respond(to: request).status == .noContent)
    }

    /// A license message of the portal.
    func message(
        _ numbers: [Int] = [0, 1, 2],
        isStorable: Bool = true,
        _ change: (inout LicenseMessage.Entitlement) -> Void = { _ in }
    ) throws -> String {
        let keys = numbers.map { LicenseMessage.ContentKey(id: Self.ids[$0], key: Self.keys[$0]) }
        var entitlement = LicenseMessage.Entitlement(keys: .inline(keys))
        entitlement.allowsPersistence = isStorable
        change(&entitlement)
        return try LicenseMessage(communicationKeyID: communication.id, id: nil, entitlement: entitlement)
            .write(under: communication)
    }

    func session(
        _ engine: PlayerEngine?,
        token: String? = nil,
        _ log: TraceLog = TraceLog(),
        _ change: (inout ContentKeySession.Options) -> Void = { _ in }
    ) -> ContentKeySession {
        var options = ContentKeySession.Options()
        options.licenseToken = token
        change(&options)
        return ContentKeySession(engine, options) { log.add($0) }
    }

    /// Stops the server.
    func stopServer() async { await world.server.shutdown(grace: .zero) }
}

/// Collects traces.
final class TraceLog: Sendable {
    private let traces = Locked<[Trace]>([])

    func add(_ trace: Trace) { traces.withLock { $0.append(trace) } }

    /// The messages of key delivery, in order.
    var messages: [String] { traces.withLock { $0.filter { "\($0.channel)" == "key-delivery" }.map(\.message) } }

    var text: String { traces.withLock { $0.map(\.description).joined(separator: "\n") } }
}

/// Collects the events of a session.
final class EventLog: Sendable {
    private let seen = Locked<[String]>([])
    private let task: Locked<Task<Void, Never>?> = Locked(nil)

    init(_ session: ContentKeySession) {
        let (events, seen) = (session.events, seen)
        task.withLock {
            $0 = Task {
                for await event in events { seen.withLock { $0.append(Self.words(event)) } }
            }
        }
    }

    private static func words(_ event: ContentKeyEvent) -> String {
        switch event {
        case .provided(let request): "provided \(request.kind.rawValue) \(request.identifier.number)"
        case .stored(let request): "stored \(request.identifier.number)"
        case .available(let request): "available \(request.identifier.number)"
        case .renewed(let request): "renewed \(request.identifier.number)"
        case .retried(let request, let reason): "retried \(request.identifier.number) \(reason.rawValue)"
        case .failed(let request, let error): "failed \(request.identifier.number) \(error.code)"
        case .allKeysAvailable(let asset): "all \(asset)"
        case .updated: "updated"
        case .invalidated(let asset): "invalidated \(asset)"
        }
    }

    /// The events, once the last of them was seen.
    func events(until last: String) async throws -> [String] {
        for _ in 0..<200 {
            let all = seen.withLock { $0 }
            if all.contains(last) { return all }
            try await Task.sleep(for: .milliseconds(20))
        }
        Issue.record("there is no event '\(last)' among \(seen.withLock { $0 })")
        return []
    }
}

extension ContentKeyIdentifier {
    /// The number of the film's key; else the last file of its address.
    var number: String {
        if let keyID, let number = FilmWorld.ids.firstIndex(where: { $0.hex == keyID }) { return "\(number)" }
        return description
    }
}

/// A server of keys at addresses of this machine.
final class KeyServer: Sendable {
    struct Response: Sendable {
        var status = 200
        var fields: [String] = []
        var body: [UInt8] = []
    }

    private let server: LoopbackServer
    private let received: Locked<[LoopbackRequest]>

    init(_ respond: @escaping @Sendable (LoopbackRequest) -> Response) {
        let received = Locked<[LoopbackRequest]>([])
        self.received = received
        server = LoopbackServer { connection in
            while let request = connection.readRequest() {
                received.withLock { $0.append(request) }
                let response = respond(request)
                connection.respond(response.status, response.fields, body: response.body)
            }
        }
    }

    func url(_ path: String) -> String { "http://127.0.0.1:\(server.port)\(path)" }

    var requests: [LoopbackRequest] { received.withLock { $0 } }
}

func granted(_ answer: ContentKeyAnswer) -> ContentKeyGrant? {
    if case .granted(let grant) = answer { grant } else { nil }
}

func refusal(_ answer: ContentKeyAnswer) -> String? {
    if case .refused(let reason) = answer { reason } else { nil }
}

/// Waits for up to ten seconds.
func waitUntil(_ holds: () async throws -> Bool, sourceLocation: SourceLocation = #_sourceLocation) async throws {
    for _ in 0..<200 {
        if try await holds() { return }
        try await Task.sleep(for: .milliseconds(50))
    }
    Issue.record("it does not come true", sourceLocation: sourceLocation)
}

/// An expectation that a pattern does not state.
struct TestFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// The folder of the programs under test, which are built next to the tests.
let programFolder: String = {
    let path = unsafe realpath("/proc/self/exe", nil)
    defer { unsafe free(path) }
    let here = unsafe path.map { unsafe String(cString: $0) } ?? ""
    return here.split(separator: "/").dropLast().reduce(into: "") { $0 += "/\($1)" }
}()
