// SPDX-License-Identifier: Apache-2.0

import CarrelTesting
import CarrelThreads
import Glibc

/// An origin that serves what a test puts there, in the way that the test wants.
final class MadeOrigin: Sendable {
    /// How a resource is served.
    enum Manner: Sendable {
        case plain
        case status(Int)
        /// These statuses first, then as it should be.
        case failing(UInt8, status: Int)
        /// So many times in another manner, then as it should be.
        indirect case first(UInt8, Manner)
        /// The head, then nothing.
        case silent
        /// Not even a head.
        case mute
        /// The correct response, after this many milliseconds.
        case late(UInt32)
        /// The connection is reset after this many bytes of the announced length.
        case reset(after: Int)
        /// The connection ends after this many bytes of the announced length.
        case cut(after: Int)
        /// So many bytes each 10 ms.
        case drip(Int)
        /// Ten times the resource.
        case burst
    }

    private struct State {
        var files: [String: [UInt8]] = [:]
        var manners: [String: Manner] = [:]
        var dates: [String: String] = [:]
        var tags: [String: String] = [:]
        var requests: [String] = []
        var sent: [String: Int] = [:]
        var gone: [String: ContinuousClock.Instant] = [:]
        var isAway = false
    }

    private let state: Locked<State>
    private let server: LoopbackServer

    /// - Parameter folder: has the resources that no test put there.
    init(folder: String? = nil) {
        let state = Locked(State())
        self.state = state
        server = LoopbackServer { connection in
            while let request = connection.readRequest() {
                guard Self.respond(request, connection, state, folder) else { return }
            }
        }
    }

    func url(_ path: String) -> String { "http://127.0.0.1:\(server.port)/\(path)" }

    func put(_ path: String, _ bytes: [UInt8]) { state.withLock { $0.files[path] = bytes } }
    func put(_ path: String, _ text: String) { put(path, Array(text.utf8)) }
    func remove(_ path: String) { state.withLock { $0.files[path] = nil } }
    /// Sets the `Date` field of the response.
    func setDate(_ path: String, _ date: String) { state.withLock { $0.dates[path] = date } }
    /// Sets the `ETag` field of the response, with its quotes.
    func setTag(_ path: String, _ tag: String) { state.withLock { $0.tags[path] = tag } }
    func serve(_ path: String, _ manner: Manner) { state.withLock { $0.manners[path] = manner } }

    /// Whether every connection is closed without a response.
    var isAway: Bool {
        get { state.withLock { $0.isAway } }
        set { state.withLock { $0.isAway = newValue } }
    }

    /// Paths in the order in which they were asked for.
    var requests: [String] { state.withLock { $0.requests } }
    /// Bytes of a resource that the network has taken.
    func sent(_ path: String) -> Int { state.withLock { $0.sent[path] ?? 0 } }
    /// When the client hung up in the middle of a resource.
    func gone(_ path: String) -> ContinuousClock.Instant? { state.withLock { $0.gone[path] } }

    /// Whether the connection stays.
    private static func respond(
        _ request: LoopbackRequest,
        _ connection: LoopbackConnection,
        _ state: Locked<State>,
        _ folder: String?
    ) -> Bool {
        let path = String(request.target.dropFirst().prefix { $0 != "?" })
        let (file, manner, isAway) = state.withLock { state -> ([UInt8]?, Manner, Bool) in
            state.requests.append(path)
            var manner = state.manners[path] ?? .plain
            if case .first(let count, let other) = manner {
                manner = other
                state.manners[path] = count > 1 ? .first(count - 1, other) : .plain
            }
            if case .failing(let count, let status) = manner {
                state.manners[path] = count > 1 ? .failing(count - 1, status: status) : .plain
            }
            return (state.files[path], manner, state.isAway)
        }
        if isAway { return false }
        guard var body = file ?? folder.flatMap({ Fixtures.bytes(at: "\($0)/\(path)") }) else { return connection.respond(404) }
        var status = 200
        var fields = state.withLock { $0.dates[path] }.map { ["Date: \($0)"] } ?? []
        fields += state.withLock { $0.tags[path] }.map { ["ETag: \($0)"] } ?? []
        if let range = request["Range"]?.split(separator: "=").last?.split(separator: "-").compactMap({ Int($0) }),
            range.count == 2,
            range[0] < body.count
        {
            status = 206
            fields += ["Content-Range: bytes \(range[0])-\(min(range[1], body.count - 1))/\(body.count)"]
            body = Array(body[range[0]...min(range[1], body.count - 1)])
        }
        let head = (["HTTP/1.1 \(status) Test"] + fields + ["Content-Length: \(body.count)", "", ""]).joined(separator: "\r\n")
        switch manner {
        case .status(let status), .failing(_, let status): return connection.respond(status)
        case .mute:
            while connection.read() != nil {}
            return false
        case .late(let milliseconds):
            usleep(milliseconds * 1000)
            guard connection.write(head) else { return false }
            return send(body, path, connection, state, piece: 64 << 10)
        case .silent:
            connection.write(head)
            while connection.read() != nil {}
            state.withLock { $0.gone[path] = .now }
            return false
        case .reset(let count), .cut(let count):
            connection.write(head)
            send(Array(body.prefix(count)), path, connection, state, piece: 64 << 10)
            if case .reset = manner { connection.resetOnClose() }
            return false
        case .drip(let piece):
            connection.write(head)
            return send(body, path, connection, state, piece: piece, pause: 10_000)
        case .burst:
            let whole = [UInt8]((0..<10).map { _ in body }.joined())
            connection.write("HTTP/1.1 200 Test\r\nContent-Length: \(whole.count)\r\n\r\n")
            return send(whole, path, connection, state, piece: 1 << 20)
        case .plain, .first:
            connection.write(head)
            return send(body, path, connection, state, piece: 64 << 10)
        }
    }

    @discardableResult
    private static func send(
        _ body: [UInt8],
        _ path: String,
        _ connection: LoopbackConnection,
        _ state: Locked<State>,
        piece: Int,
        pause: UInt32 = 0
    ) -> Bool {
        var at = 0
        while at < body.count {
            let end = min(body.count, at + piece)
            guard connection.write(Array(body[at..<end])) else {
                state.withLock { $0.gone[path] = .now }
                return false
            }
            state.withLock { $0.sent[path, default: 0] += end - at }
            at = end
            if pause > 0 { usleep(pause) }
        }
        return true
    }
}
