// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelMedia
import CarrelMediaSource
import CarrelProxy
import CarrelTesting
import CarrelThreads
import ProtectedMedia
import Testing

/// A file server that sends the beginnings of files, and no further byte until a test allows it.
private final class StuckServer: Sendable {
    private struct State {
        var waiting = 0
        var isStuck = true
    }

    private let state: Locked<State>
    private let server: OriginServer

    // `open`: bytes of each file that always come
    init(_ folder: String, open: Int) throws {
        let state = Locked(State())
        self.state = state
        server = try OriginServer(folder) { request in
            let range = request.headers["Range"]?.dropFirst(6).split(separator: "-").compactMap { Int($0) } ?? []
            guard request.path.segments.first == "stuck" else { return nil }
            let path = "\(folder)/\(request.path.segments.dropFirst().joined(separator: "/"))"
            if let first = range.first, first >= open, state.withLock({ $0.isStuck }) {
                state.withLock { $0.waiting += 1 }
                defer { state.withLock { $0.waiting -= 1 } }
                while state.withLock({ $0.isStuck }), !Task.isCancelled { try? await Task.sleep(for: .milliseconds(20)) }
            }
            guard let bytes = Fixtures.bytes(at: path) else { return nil }
            return .serving(
                Representation(length: Int64(bytes.count), contentType: "video/mp4") { range in
                    .bytes(Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)]))
                },
                for: request
            )
        }
    }

    /// Requests that get no answer.
    var waiting: Int { state.withLock { $0.waiting } }
    func release() { state.withLock { $0.isStuck = false } }
    func url(_ path: String) -> String { "\(server.origin)/\(path)" }
    func stop() async { await server.stop() }
}

struct `A file on a server that does not respond` {
    private let keys: GivenKeys
    private let server: StuckServer

    init() throws {
        keys = try #require(ProtectedFixture.all.first { $0.name == "cenc/av.cenc.mp4" }).keys
        server = try StuckServer(try Fixtures.path("media/cenc"), open: 64 << 10)
    }

    private func plays(_ session: PlaylistProxy.Session) async throws {
        let segments = try await ProxyRun.segments(of: session)
        #expect(!segments.isEmpty)
        for segment in segments { #expect(try await ProxyRun.get(segment).status == 200) }
    }

    @Test(arguments: [PlaylistProxy.Policy.usual, .open])
    func `holds the opening of no other session`(policy: PlaylistProxy.Policy) async throws {
        let run = try ProxyRun { $0.policy = policy }
        let sessions = try (0..<12).map { _ in try run.proxy.makeURL(server.url("stuck/av.cenc.mp4"), .singleFile, keys: keys) }
        let waiting = sessions.map { session in Task { try await ProxyRun.get(session.url) } }
        try await eventually { server.waiting == 12 }
        let began = ContinuousClock.now
        let other = try run.proxy.makeURL(server.url("av.cenc.mp4"), .singleFile, keys: keys)
        try await plays(other)
        let local = try run.proxy.makeURL(try Fixtures.path("media/cenc/av.cenc.mp4"), .singleFile, keys: keys)
        try await plays(local)
        #expect(began.duration(to: .now) < .seconds(40))
        // a session that ends takes its requests with it
        let ended = ContinuousClock.now
        for session in sessions { session.end() }
        for task in waiting { _ = await task.result }
        try await eventually { server.waiting == 0 }
        #expect(ended.duration(to: .now) < .seconds(30))
        #expect(run.codes == [])
        await run.proxy.stop()
        await server.stop()
    }

    @Test func `is busy while the system has no thread, and other sources play`() async throws {
        let isOut = Locked(true)
        let run = try ProxyRun { options in
            options.limits.threads = ThreadStarter { name, body throws(ThreadRefused) in
                guard !isOut.withLock({ $0 }) else { throw ThreadRefused(status: 11) }
                try ThreadStarter.system.start(name: name, body)
            }
        }
        let session = try run.proxy.makeURL(try Fixtures.path("media/cenc/av.cenc.mp4"), .singleFile, keys: keys)
        let refused = try await ProxyRun.get(session.url)
        #expect(refused.status == 503)
        #expect(run.codes == [.busy])
        let manifest = try Fixtures.path("media/dash/number-clear/manifest.mpd")
        try await plays(try run.proxy.makeURL(manifest, .dash))
        isOut.withLock { $0 = false }
        let segments = try await ProxyRun.segments(of: session)
        isOut.withLock { $0 = true }
        #expect(try await ProxyRun.get(segments[0]).status == 503)
        isOut.withLock { $0 = false }
        try await plays(session)
        await run.proxy.stop()
        await server.stop()
    }
}
