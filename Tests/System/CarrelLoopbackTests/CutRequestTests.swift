// SPDX-License-Identifier: Apache-2.0

import CarrelHTTP
import CarrelLoopback
import CarrelTesting
import CarrelThreads
import Testing

struct `A request that is cut` {
    private struct Seen: Sendable {
        var counts: [Int] = []
        var cuts: [@Sendable () -> Void] = []
        var ended: [Int] = []
    }

    @Test(arguments: [false, true]) func `ends with its connection, and no other does`(isStalled: Bool) async throws {
        try await TestSessions.run { sessions in
            let seen = Locked(Seen())
            let session = sessions.add { request in
                let number = seen.withLock { seen in
                    seen.counts.append(request.runningCount)
                    seen.cuts.append(request.cut)
                    return seen.cuts.count - 1
                }
                return HTTPResponse(
                    .ok,
                    body: .stream(length: nil) { writer in
                        defer { seen.withLock { $0.ended.append(number) } }
                        try await writer.write([1])
                        // the client takes nothing, or there is nothing to take
                        while isStalled { try await writer.write([UInt8](repeating: 7, count: 65_536)) }
                        try await Task.sleep(for: .seconds(120))
                    }
                )
            }
            var clients: [RawClient] = []
            for number in 0..<2 {
                let client = try RawClient(port: sessions.port, receiveBuffer: 16 << 10)
                try await client.send("GET /media/\(session.token.text)/a HTTP/1.1\r\nHost: 127.0.0.1:\(sessions.port)\r\n\r\n")
                clients.append(client)
                try await eventually { seen.withLock { $0.cuts.count } == number + 1 }
            }
            #expect(seen.withLock { $0.counts } == [1, 2])
            try await Task.sleep(for: .milliseconds(300))
            let cut = seen.withLock { $0.cuts[0] }
            cut()
            try await eventually { seen.withLock { $0.ended } == [0] }
            try await eventually { sessions.server.runningCount(of: session.session) == 1 }
            // once more does nothing
            cut()
            try await Task.sleep(for: .milliseconds(100))
            #expect(seen.withLock { $0.ended } == [0])
            for client in clients { client.hangUp() }
            try await eventually { seen.withLock { $0.ended } == [0, 1] }
        }
    }
}
