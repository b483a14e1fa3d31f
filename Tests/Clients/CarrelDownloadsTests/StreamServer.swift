// SPDX-License-Identifier: Apache-2.0

import CarrelTesting
import CarrelThreads

/// A server of one HLS stream, encrypted with AES-128 under a key of its own, which counts requests and fails as a test wants.
final class StreamServer: Sendable {
    /// A request that a fault may respond to.
    struct Call: Sendable {
        let path: String
        /// How often the path was requested before.
        let earlier: Int
        let request: LoopbackRequest
        let connection: LoopbackConnection
        fileprivate let isLast = Locked(false)

        /// Closes the connection after this call.
        func close() { isLast.withLock { $0 = true } }
    }

    private struct State: Sendable {
        var log: [String] = []
        var ranges: [String] = []
        var counts: [String: Int] = [:]
        /// Returns true if it responded.
        var fault: (@Sendable (Call) -> Bool)?
        var ticket = "a"
        var count: Int
        var isLive = false
        /// Bits a second, by which the size of an item is estimated.
        var bandwidth = 300_000
    }

    let size: Int
    private let state: Locked<State>
    private let server: Locked<LoopbackServer?> = Locked(nil)
    let port: UInt16

    /// - Parameters:
    ///   - count: segments.
    ///   - size: bytes of each.
    init(count: Int = 8, size: Int = 20_000) {
        self.size = size
        let state = Locked(State(count: count))
        self.state = state
        let server = LoopbackServer { connection in
            while let request = connection.readRequest() {
                let path = String(request.target.dropFirst().prefix { $0 != "?" })
                let (earlier, fault) = state.withLock { state in
                    defer { state.counts[path, default: 0] += 1 }
                    state.log.append(path)
                    if let range = request["Range"] { state.ranges.append("\(path) \(range)") }
                    return (state.counts[path, default: 0], state.fault)
                }
                let call = Call(path: path, earlier: earlier, request: request, connection: connection)
                if fault?(call) == true {
                    if call.isLast.withLock({ $0 }) { return }
                    continue
                }
                let now = state.withLock { $0 }
                Self.respond(call, now, size)
            }
        }
        port = server.port
        self.server.withLock { $0 = server }
    }

    func stop() { server.withLock { $0 = nil } }

    private static func respond(_ call: Call, _ state: State, _ size: Int) {
        switch call.path {
        case "master.m3u8":
            let lines = ["#EXTM3U", "#EXT-X-STREAM-INF:BANDWIDTH=\(state.bandwidth)", "video.m3u8", ""]
            call.connection.respond(body: Array(lines.joined(separator: "\n").utf8))
        case "video.m3u8": call.connection.respond(body: Array(playlist(state).utf8))
        case "key": call.connection.respond(body: [UInt8](repeating: 7, count: 16))
        default:
            guard let number = Int(call.path.dropFirst(8).dropLast(3)), call.path.hasPrefix("segment"), number < state.count
            else {
                call.connection.respond(404)
                return
            }
            let ticket = call.request.target.split(separator: "?").last.map(String.init) ?? ""
            guard ticket == state.ticket else {
                call.connection.respond(403)
                return
            }
            send(segment(number, size), "\"s\(number)\"", call)
        }
    }

    /// Heeds `Range` and `If-Range`.
    static func send(_ bytes: [UInt8], _ tag: String, _ call: Call) {
        let first = call.request["Range"].flatMap { Int($0.dropFirst(6).prefix { $0 != "-" }) }
        if let first, first < bytes.count, call.request["If-Range"] ?? tag == tag {
            let field = "Content-Range: bytes \(first)-\(bytes.count - 1)/\(bytes.count)"
            call.connection.respond(206, ["ETag: \(tag)", field], body: Array(bytes[first...]))
        } else {
            call.connection.respond(200, ["ETag: \(tag)"], body: bytes)
        }
    }

    private static func playlist(_ state: State) -> String {
        var lines = ["#EXTM3U", "#EXT-X-VERSION:3", "#EXT-X-TARGETDURATION:4", "#EXT-X-KEY:METHOD=AES-128,URI=\"key\""]
        for number in 0..<state.count { lines += ["#EXTINF:4,", "segment-\(number).ts?\(state.ticket)"] }
        if !state.isLive { lines.append("#EXT-X-ENDLIST") }
        return (lines + [""]).joined(separator: "\n")
    }

    /// Bytes that differ by segment; encrypted media are whole blocks.
    static func segment(_ number: Int, _ size: Int) -> [UInt8] {
        [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: size / 16 * 16)
    }

    var url: String { "http://127.0.0.1:\(port)/master.m3u8" }

    /// The paths in the order of their requests.
    var log: [String] { state.withLock { $0.log } }

    /// Requests for segments.
    var segments: [String] { log.filter { $0.hasPrefix("segment") } }

    /// Requests with a range.
    var ranges: [String] { state.withLock { $0.ranges } }

    func fail(_ fault: (@Sendable (Call) -> Bool)?) { state.withLock { $0.fault = fault } }

    /// Old addresses of segments are refused from now on.
    func changeTicket() { state.withLock { $0.ticket += "x" } }

    func setCount(_ count: Int) { state.withLock { $0.count = count } }

    func setBandwidth(_ bandwidth: Int) { state.withLock { $0.bandwidth = bandwidth } }

    func goLive() { state.withLock { $0.isLive = true } }
}
