// SPDX-License-Identifier: Apache-2.0

import CarrelBytes
import CarrelHTTP
import CarrelHTTPClient
import CarrelLoopback
import CarrelTesting
import CarrelThreads
import Testing

struct `A removed session` {
    /// How a response can be under way.
    enum Kind: CaseIterable, Sendable {
        /// A handler that waits.
        case waiting
        /// A handler that waits for the rest of the request.
        case upload
        /// A stream whose producer waits.
        case quiet
        /// A stream of a client that takes it as it comes.
        case flowing
        /// A stream of a client that takes nothing.
        case stalled
        /// A body in memory of a client that takes nothing.
        case stalledBytes
    }

    private struct Ended: Sendable {
        var hasBegun = false
        var isCancelled = false
    }

    private func action(_ kind: Kind, _ ended: Locked<Ended>) -> LoopbackSession.Action {
        { request in
            @Sendable func wait() async throws {
                do {
                    try await Task.sleep(for: .seconds(120))
                } catch {
                    ended.withLock { $0.isCancelled = true }
                    throw error
                }
            }
            ended.withLock { $0.hasBegun = true }
            switch kind {
            case .waiting:
                try await wait()
                return .empty()
            case .upload:
                do {
                    _ = try await request.http.body.collect(upTo: 1000)
                } catch {
                    ended.withLock { $0.isCancelled = true }
                    throw error
                }
                return .empty()
            case .quiet:
                return HTTPResponse(
                    .ok,
                    body: .stream(length: nil) { writer in
                        try await writer.write([1])
                        try await wait()
                    }
                )
            case .flowing, .stalled:
                return HTTPResponse(
                    .ok,
                    body: .stream(length: nil) { writer in
                        do {
                            while true { try await writer.write([UInt8](repeating: 7, count: 65_536)) }
                        } catch {
                            ended.withLock { $0.isCancelled = true }
                            throw error
                        }
                    }
                )
            case .stalledBytes:
                // nothing to cancel: only the connection is left
                ended.withLock { $0.isCancelled = true }
                return .bytes([UInt8](repeating: 7, count: 64 << 20), type: "video/mp2t")
            }
        }
    }

    @Test(arguments: Kind.allCases)
    func `ends its responses within a second, and no other session's`(kind: Kind) async throws {
        try await TestSessions.run { sessions in
            let (ended, otherEnded) = (Locked(Ended()), Locked(Ended()))
            let (session, other) = (sessions.add(action(kind, ended)), sessions.add(action(.quiet, otherEnded)))
            func open(_ session: TestSession, _ method: String = "GET", _ fields: String = "") async throws -> RawClient {
                let client = try RawClient(port: sessions.port, receiveBuffer: kind == .flowing ? nil : 16 << 10)
                try await client.send(
                    "\(method) /media/\(session.token.text)/a HTTP/1.1\r\nHost: 127.0.0.1:\(sessions.port)\r\n\(fields)\r\n"
                )
                return client
            }
            let beside = try await open(other)
            let client = try await open(session, kind == .upload ? "POST" : "GET", kind == .upload ? "Content-Length: 9\r\n" : "")
            try await eventually { ended.withLock { $0.hasBegun } && otherEnded.withLock { $0.hasBegun } }
            let reading = Task { kind == .stalled || kind == .stalledBytes ? [] : try await client.receiveAll(timeout: 60_000) }
            // until the buffers are full
            try await Task.sleep(for: .milliseconds(300))
            #expect(sessions.server.runningCount(of: session.session) == 1)
            let start = ContinuousClock.now
            sessions.server.remove(session.session)
            try await eventually {
                ended.withLock { $0.isCancelled } && sessions.server.runningCount(of: session.session) == 0
            }
            let received = (try? await reading.value) ?? []
            #expect(start.duration(to: .now) < .seconds(1))
            // the client can tell that it has not got all
            #expect(!received.suffix(5).elementsEqual("0\r\n\r\n".utf8))
            if kind == .flowing { #expect(received.count > 65_536) }
            #expect(!otherEnded.withLock { $0.isCancelled })
            #expect(sessions.server.runningCount(of: other.session) == 1)
            #expect(try await sessions.get(session.base).status == .forbidden)
            beside.hangUp()
            try await eventually { sessions.server.runningCount(of: other.session) == 0 }
        }
    }

    @Test func `leaves connections alone that have no response of it under way`() async throws {
        try await TestSessions.run { sessions in
            let (session, other) = (sessions.add(), sessions.add())
            let client = try RawClient(port: sessions.port)
            func status(_ session: TestSession) async throws -> Int {
                try await client.send("GET /media/\(session.token.text)/ HTTP/1.1\r\nHost: localhost:\(sessions.port)\r\n\r\n")
                return try await client.response().status
            }
            #expect(try await status(session) == 200)
            try await eventually { sessions.server.runningCount(of: session.session) == 0 }
            sessions.server.remove(session.session)
            #expect(try await status(session) == 403)
            #expect(try await status(other) == 200)
        }
    }

    @Test func `admits nothing while clients and sessions come and go`() async throws {
        try await TestSessions.run { sessions in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        for _ in 0..<20 {
                            let ended = Locked(Ended())
                            let session = sessions.add(action(.quiet, ended))
                            let reads = (0..<3).map { _ in Task { try await sessions.client.send(ClientRequest(session.base)) } }
                            if Bool.random() { try await Task.sleep(for: .milliseconds(Int.random(in: 0..<20))) }
                            sessions.server.remove(session.session)
                            for read in reads {
                                // refused, or cut
                                let status = try? await read.value.status
                                #expect(status == nil || status == .forbidden)
                            }
                            try await eventually { sessions.server.runningCount(of: session.session) == 0 }
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }
}
